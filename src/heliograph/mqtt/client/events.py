"""The events that a client session reports to its owner, in the order in which they happened.

SUBACK, UNSUBACK and AUTH of the server are events as they are.
"""

from typing import NamedTuple

from heliograph.mqtt.packets import Auth, ConnAck, SubAck, UnsubAck
from heliograph.mqtt.properties import Properties
from heliograph.mqtt.reasons import Reason
from heliograph.mqtt.runs import PUBACKS, PUBCOMPS, PUBRECS, Ids

NO_IDS = range(0)


class Connected(NamedTuple):
    """The server has accepted the connection."""

    connack: ConnAck
    session_present: bool
    """In MQTT 3.1, whose CONNACK does not say it, what CONNECT asked for."""


class Refused(NamedTuple):
    """The server has refused the connection, which is over."""

    reason: Reason
    connack: ConnAck

    @property
    def server_reference(self) -> str | None:
        """Where the server sends us (reasons 0x9C and 0x9D)."""
        return self.connack.properties.get("server_reference")


class Disconnected(NamedTuple):
    """The server has ended the connection."""

    reason: Reason
    properties: Properties

    @property
    def server_reference(self) -> str | None:
        """Where the server sends us (reasons 0x9C and 0x9D)."""
        return self.properties.get("server_reference")


class Failed(NamedTuple):
    """We have ended the connection: the server broke the standard, or was silent for too long (KEEP_ALIVE_TIMEOUT)."""

    reason: Reason
    text: str


class Acknowledged(NamedTuple):
    """The server has taken these messages, or has refused them with a reason from 0x80 on."""

    numbers: range
    reason: int
    properties: Properties


class Forgotten(NamedTuple):
    """These messages were in flight in a session that the server does not have any more."""

    numbers: range


class Arrival:
    """Something that the server wants acknowledged."""

    __slots__ = ("connection", "done", "ids")
    table: bytes = b""
    """Which acknowledgement it gets: one of the tables of `mqtt.runs`; empty for none."""

    def __init__(self, connection: int, ids: Ids) -> None:
        self.connection = connection
        self.ids = ids
        self.done = 0
        """How many are acknowledged."""

    def next_ids(self, count: int | None) -> Ids:
        """The identifiers of the next `count` that are not acknowledged (None: of all); from now on they are."""
        start = self.done
        self.done = len(self.ids) if count is None else min(len(self.ids), start + count)
        return self.ids[start : self.done]


class Messages(Arrival):
    """A run of messages on one topic with the same properties."""

    __slots__ = ("dup", "encoded_properties", "payloads", "properties", "qos", "retain", "table", "topic")

    def __init__(
        self, connection: int, ids: Ids, topic: str, flags: int, properties: Properties, encoded_properties: bytes
    ) -> None:
        super().__init__(connection, ids)
        self.topic = topic
        self.payloads: list[bytes] = []
        self.qos = flags >> 1 & 3
        self.retain = bool(flags & 1)
        self.dup = bool(flags & 8)
        self.properties = properties
        """Read only: other messages share the object. There is never a topic alias in it."""
        self.encoded_properties = encoded_properties
        """The properties as MQTT 5 writes them, without their length."""
        self.table = (b"", PUBACKS, PUBRECS)[self.qos]

    def __repr__(self) -> str:
        return f"Messages({self.topic!r}, QoS {self.qos}, {self.payloads!r:.80})"


class Repeated(Arrival):
    """Messages of QoS 2 that the owner was given before; all there is to do is to acknowledge them in their turn."""

    __slots__ = ()
    table = PUBRECS


class Released(Arrival):
    """The server knows that these messages of QoS 2 have arrived, and will use their identifiers for others."""

    __slots__ = ()
    table = PUBCOMPS


Event = (
    Connected
    | Refused
    | Disconnected
    | Failed
    | Messages
    | Repeated
    | Released
    | Acknowledged
    | Forgotten
    | SubAck
    | UnsubAck
    | Auth
)
