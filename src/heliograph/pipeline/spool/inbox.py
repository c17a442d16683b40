"""Messages from a broker: they gather as rows (columns of Arrow), and are acknowledged when these are stored.

No sockets and no files. A message of QoS 2 is known by its packet identifier from its first arrival to its release.
These identifiers are stored with the rows: so nothing is taken twice, whatever is interrupted and begun again.
"""

from typing import Any, NamedTuple

import pyarrow as pa

from heliograph.mqtt.client import Acknowledged, Arrival, ClientSession, Event, Forgotten, Messages
from heliograph.pipeline.source.message_properties import NO_PROPERTIES, MessageProperties, message_properties

_MICROSECONDS = pa.timestamp("us", tz="UTC")
STORED = pa.schema(
    [
        pa.field("timestamp", _MICROSECONDS, nullable=False),
        pa.field("topic", pa.string(), nullable=False),
        pa.field("payload", pa.binary(), nullable=False),
        pa.field("qos", pa.int32(), nullable=False),
        pa.field("retain", pa.bool_(), nullable=False),
        pa.field("content_type", pa.string()),
        pa.field("correlation", pa.binary()),
        pa.field("reply_to", pa.string()),
        pa.field("properties", pa.map_(pa.string(), pa.string())),
        pa.field("message_id", pa.string()),
    ]
)
"""The columns of a segment. Those that are missing follow from which segment it is."""
_OF_PROPERTIES = ("content_type", "correlation", "reply_to", "properties", "message_id")


class Rows:
    """Messages in the order in which they came."""

    __slots__ = ("_has_properties", "_payloads", "_properties", "_qos", "_retain", "_times", "_topics", "size")

    def __init__(self) -> None:
        self._times: list[int] = []
        self._topics: list[str] = []
        self._payloads: list[bytes] = []
        self._qos: list[int] = []
        self._retain: list[bool] = []
        self._properties: list[MessageProperties] = []
        self._has_properties = False
        self.size = 0
        """About how many bytes they are."""

    def __len__(self) -> int:
        return len(self._topics)

    def add(
        self, time: int, topic: str, payloads: list[bytes], qos: int, retain: bool, properties: MessageProperties
    ) -> None:
        """Messages on one topic that came at a time (microseconds since 1970)."""
        count = len(payloads)
        self._times += [time] * count
        self._topics += [topic] * count
        self._payloads += payloads
        self._qos += [qos] * count
        self._retain += [retain] * count
        self._properties += [properties] * count
        self._has_properties = self._has_properties or properties is not NO_PROPERTIES
        self.size += sum(map(len, payloads)) + count * len(topic)

    def batch(self) -> pa.RecordBatch:
        """All of them as one batch."""
        count = len(self)
        columns: dict[str, Any] = {
            "timestamp": pa.array(self._times, _MICROSECONDS),
            "topic": pa.array(self._topics, pa.string()),
            "payload": pa.array(self._payloads, pa.binary()),
            "qos": pa.array(self._qos, pa.int32()),
            "retain": pa.array(self._retain, pa.bool_()),
        }
        for name in _OF_PROPERTIES:
            kind = STORED.field(name).type
            if self._has_properties:
                columns[name] = pa.array([getattr(one, name) for one in self._properties], kind)
            else:
                columns[name] = pa.nulls(count, kind)
        return pa.RecordBatch.from_arrays([columns[name] for name in STORED.names], schema=STORED)


class Gathered(NamedTuple):
    """Messages and identifiers since the last call of `take`."""

    rows: Rows
    answers: bytes
    """To be sent when the rows and the identifiers are safe."""
    held: frozenset[int]
    """Packet identifiers of messages of QoS 2 that were taken and are not released."""
    changed: bool
    """Whether there is anything new to be kept."""


class Inbox:
    """Collects messages of an MQTT session that does not acknowledge by itself."""

    def __init__(self, session: ClientSession) -> None:
        self._session = session
        self._held = frozenset(session.received)
        """What was to be kept the last time."""
        self._rows = Rows()
        self._arrivals: list[Arrival] = []
        self.others: list[Event] = []
        """What is about the connection itself; whoever takes it removes it."""

    @property
    def waiting(self) -> int:
        """About how many bytes have gathered."""
        return self._rows.size

    @property
    def answers_wait(self) -> bool:
        """Whether received messages wait to be acknowledged."""
        return bool(self._arrivals)

    @property
    def has_gathered(self) -> bool:
        """Whether there are messages to store or packets to answer."""
        return bool(self._arrivals) or bool(len(self._rows))

    def take(self) -> Gathered:
        """All that has gathered."""
        for arrival in self._arrivals:
            self._session.acknowledge(arrival)
        held = frozenset(self._session.received)
        changed = len(self._rows) > 0 or held != self._held
        gathered = Gathered(self._rows, self._session.take_output(), held, changed)
        self._rows, self._arrivals, self._held = Rows(), [], held
        return gathered

    def receive(self, data: bytes, now: float, time: int) -> None:
        """Take received bytes; `now` is the session's clock, the other time is in microseconds since 1970."""
        for event in self._session.receive(data, now):
            if isinstance(event, Arrival):
                if isinstance(event, Messages):
                    self._add(event, time)
                if event.ids:
                    self._arrivals.append(event)
            elif not isinstance(event, Acknowledged | Forgotten):  # nothing is published here
                self.others.append(event)

    def _add(self, run: Messages, time: int) -> None:
        encoded = run.encoded_properties
        properties = message_properties(encoded) if encoded else NO_PROPERTIES
        self._rows.add(time, run.topic, run.payloads, run.qos, run.retain, properties)
