"""The packets of MQTT as values. One class serves all versions; what a version lacks keeps its default."""

from dataclasses import dataclass, field

from heliograph.mqtt.properties import Properties
from heliograph.mqtt.reasons import Reason


@dataclass(frozen=True, slots=True)
class Will:
    """The message that the server publishes when a client is gone without a DISCONNECT."""

    topic: str
    payload: bytes = b""
    qos: int = 0
    retain: bool = False
    properties: Properties = field(default_factory=Properties)


@dataclass(slots=True)  # frozen, it would take four times as long to make, a tenth of what is done for a new client
class Connect:
    """The first packet of a client: who it is, and how its session is to be."""

    client_id: str = ""
    version: int = 4
    clean_start: bool = True
    keep_alive: int = 60
    username: str | None = None
    password: bytes | None = None
    will: Will | None = None
    properties: Properties = field(default_factory=Properties)
    bridge: bool = False
    """The client is another server: it wants nothing back that it sent, and retain flags as they were published."""


@dataclass(frozen=True, slots=True)
class ConnAck:
    """The server's answer to CONNECT. `reason` is a return code of 0 to 5 when the packet came from an MQTT 3
    server."""

    session_present: bool = False
    reason: int = Reason.SUCCESS
    properties: Properties = field(default_factory=Properties)


@dataclass(frozen=True, slots=True)
class Publish:
    """A message. `packet_id` is 0 for QoS 0; `topic` may be empty when a topic alias stands for it."""

    topic: str
    payload: bytes = b""
    qos: int = 0
    retain: bool = False
    dup: bool = False
    packet_id: int = 0
    properties: Properties = field(default_factory=Properties)


@dataclass(frozen=True, slots=True)
class _Acknowledgement:
    packet_id: int
    reason: int = Reason.SUCCESS
    properties: Properties = field(default_factory=Properties)


@dataclass(frozen=True, slots=True)
class PubAck(_Acknowledgement):
    """QoS 1: the receiver has taken the message, or refuses it."""


@dataclass(frozen=True, slots=True)
class PubRec(_Acknowledgement):
    """QoS 2, first answer: the receiver has taken the message, or refuses it."""


@dataclass(frozen=True, slots=True)
class PubRel(_Acknowledgement):
    """QoS 2: the sender knows that, and will not send the message again."""


@dataclass(frozen=True, slots=True)
class PubComp(_Acknowledgement):
    """QoS 2, last answer: the packet identifier is free again."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """A topic filter and its options. The last three are those of MQTT 5."""

    filter: str
    qos: int = 0
    no_local: bool = False
    retain_as_published: bool = False
    retain_handling: int = 0


@dataclass(frozen=True, slots=True)
class Subscribe:
    """A client asks for messages on some topic filters."""

    packet_id: int
    subscriptions: tuple[Subscription, ...]
    properties: Properties = field(default_factory=Properties)


@dataclass(frozen=True, slots=True)
class SubAck:
    """What was granted: one reason for each filter, in their order."""

    packet_id: int
    reasons: tuple[int, ...]
    properties: Properties = field(default_factory=Properties)


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    """A client gives topic filters up."""

    packet_id: int
    filters: tuple[str, ...]
    properties: Properties = field(default_factory=Properties)


@dataclass(frozen=True, slots=True)
class UnsubAck:
    """The answer to UNSUBSCRIBE. `reasons` is empty in MQTT 3, which only says that the request was carried out."""

    packet_id: int
    reasons: tuple[int, ...] = ()
    properties: Properties = field(default_factory=Properties)


@dataclass(frozen=True, slots=True)
class PingReq:
    """A client asks whether the server is there."""


@dataclass(frozen=True, slots=True)
class PingResp:
    """The server is there."""


@dataclass(frozen=True, slots=True)
class Disconnect:
    """The end of a connection. Servers send it in MQTT 5 only."""

    reason: int = Reason.NORMAL_DISCONNECTION
    properties: Properties = field(default_factory=Properties)


@dataclass(frozen=True, slots=True)
class Auth:
    """A step of authentication beyond user name and password, in MQTT 5 only."""

    reason: int = Reason.SUCCESS
    properties: Properties = field(default_factory=Properties)


Packet = (
    Connect
    | ConnAck
    | Publish
    | PubAck
    | PubRec
    | PubRel
    | PubComp
    | Subscribe
    | SubAck
    | Unsubscribe
    | UnsubAck
    | PingReq
    | PingResp
    | Disconnect
    | Auth
)
