"""The packets of MQTT as values. One class serves all versions; what a version lacks keeps its default."""

from dataclasses import dataclass, field

from heliograph.mqtt.packet_types import PacketType as PacketType  # noqa: PLC0414  (callers look for it here)
from heliograph.mqtt.properties import Properties
from heliograph.mqtt.reasons import Reason


@dataclass(frozen=True, slots=True)
class Will:
    """The message that the server publishes when the client goes without saying so."""

    topic: str
    payload: bytes = b""
    qos: int = 0
    retain: bool = False
    properties: Properties = field(default_factory=Properties)


@dataclass(slots=True)  # frozen, it would take four times as long to make, a tenth of what is done for a new client
class Connect:
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
    """`reason` is a return code of 0 to 5 when the packet came from an MQTT 3 server."""

    session_present: bool = False
    reason: int = Reason.SUCCESS
    properties: Properties = field(default_factory=Properties)


@dataclass(frozen=True, slots=True)
class Publish:
    """`packet_id` is 0 for QoS 0; `topic` may be empty when a topic alias stands for it."""

    topic: str
    payload: bytes = b""
    qos: int = 0
    retain: bool = False
    dup: bool = False
    packet_id: int = 0
    properties: Properties = field(default_factory=Properties)


@dataclass(frozen=True, slots=True)
class PubAck:
    packet_id: int
    reason: int = Reason.SUCCESS
    properties: Properties = field(default_factory=Properties)


@dataclass(frozen=True, slots=True)
class PubRec:
    packet_id: int
    reason: int = Reason.SUCCESS
    properties: Properties = field(default_factory=Properties)


@dataclass(frozen=True, slots=True)
class PubRel:
    packet_id: int
    reason: int = Reason.SUCCESS
    properties: Properties = field(default_factory=Properties)


@dataclass(frozen=True, slots=True)
class PubComp:
    packet_id: int
    reason: int = Reason.SUCCESS
    properties: Properties = field(default_factory=Properties)


@dataclass(frozen=True, slots=True)
class Subscription:
    filter: str
    qos: int = 0
    no_local: bool = False
    retain_as_published: bool = False
    retain_handling: int = 0


@dataclass(frozen=True, slots=True)
class Subscribe:
    packet_id: int
    subscriptions: tuple[Subscription, ...]
    properties: Properties = field(default_factory=Properties)


@dataclass(frozen=True, slots=True)
class SubAck:
    packet_id: int
    reasons: tuple[int, ...]
    properties: Properties = field(default_factory=Properties)


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    packet_id: int
    filters: tuple[str, ...]
    properties: Properties = field(default_factory=Properties)


@dataclass(frozen=True, slots=True)
class UnsubAck:
    """`reasons` is empty in MQTT 3, which only says that the request was carried out."""

    packet_id: int
    reasons: tuple[int, ...] = ()
    properties: Properties = field(default_factory=Properties)


@dataclass(frozen=True, slots=True)
class PingReq:
    pass


@dataclass(frozen=True, slots=True)
class PingResp:
    pass


@dataclass(frozen=True, slots=True)
class Disconnect:
    reason: int = Reason.NORMAL_DISCONNECTION
    properties: Properties = field(default_factory=Properties)


@dataclass(frozen=True, slots=True)
class Auth:
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
