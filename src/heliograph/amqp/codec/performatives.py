"""Open to close, what they carry, and the outcomes of deliveries: every composite type of the standard.

The attributes are the standard's fields in snake case, with the standard's defaults. They are values: once made, they
are shared and must not be changed.
"""

from enum import IntEnum
from typing import Any, Final

from heliograph.amqp.codec.composite import (
    ANYTHING,
    BINARY,
    BOOLEAN,
    FIELDS,
    MAP,
    STRING,
    SYMBOL,
    SYMBOLS,
    UINT,
    ULONG,
    USHORT,
    Fields,
    choice,
    choice_of_uint,
    composite,
    composites,
    part,
)
from heliograph.amqp.codec.values import Described

SENDER: Final = False
RECEIVER: Final = True
MAX_UINT: Final = 0xFFFFFFFF


class SenderSettleMode(IntEnum):
    """When the sender settles: never before the receiver, always at once, or as each transfer says."""

    UNSETTLED = 0
    SETTLED = 1
    MIXED = 2


class ReceiverSettleMode(IntEnum):
    """Whether the receiver settles first, or second, after the sender has."""

    FIRST = 0
    SECOND = 1


class Durability(IntEnum):
    """What of a terminus outlives the link."""

    NONE = 0
    CONFIGURATION = 1
    UNSETTLED_STATE = 2


class ExpiryPolicy:
    """When a terminus without links begins to expire."""

    LINK_DETACH: Final = "link-detach"
    SESSION_END: Final = "session-end"
    CONNECTION_CLOSE: Final = "connection-close"
    NEVER: Final = "never"


class DistributionMode:
    """Whether messages are removed from the source (move) or copied (copy)."""

    MOVE: Final = "move"
    COPY: Final = "copy"


@composite(0x1D, "amqp:error:list")
class Error(Fields):
    """What went wrong: a name of `conditions`, a text for people, and more facts."""

    condition: str = part(SYMBOL)
    description: str | None = part(STRING, default=None)
    info: dict[Any, Any] | None = part(FIELDS, default=None)


_ERROR = composites(Error)


@composite(0x23, "amqp:received:list")
class Received(Fields):
    """How far a delivery has come; no outcome yet."""

    section_number: int = part(UINT)
    section_offset: int = part(ULONG)


@composite(0x24, "amqp:accepted:list")
class Accepted(Fields):
    """The message was taken over."""


@composite(0x25, "amqp:rejected:list")
class Rejected(Fields):
    """The message is no good."""

    error: Error | None = part(_ERROR, default=None)


@composite(0x26, "amqp:released:list")
class Released(Fields):
    """The message was not looked at; it may go to another."""


@composite(0x27, "amqp:modified:list")
class Modified(Fields):
    """The message goes back, changed."""

    delivery_failed: bool = part(BOOLEAN, default=False)
    undeliverable_here: bool = part(BOOLEAN, default=False)
    message_annotations: dict[Any, Any] | None = part(FIELDS, default=None)


@composite(0x33, "amqp:declared:list")
class Declared(Fields):
    """The coordinator's answer to `Declare`."""

    txn_id: bytes = part(BINARY)


@composite(0x34, "amqp:transactional-state:list")
class TransactionalState(Fields):
    """A delivery, or its outcome, that belongs to a transaction."""

    txn_id: bytes = part(BINARY)
    outcome: "Outcome | None" = part(ANYTHING, default=None)


Outcome = Accepted | Rejected | Released | Modified
DeliveryState = Received | Accepted | Rejected | Released | Modified | Declared | TransactionalState | Described


@composite(0x31, "amqp:declare:list")
class Declare(Fields):
    """Asks the coordinator for a transaction."""

    global_id: Any = part(ANYTHING, default=None)


@composite(0x32, "amqp:discharge:list")
class Discharge(Fields):
    """Ends a transaction: commit, or roll back when `fail` is true."""

    txn_id: bytes = part(BINARY)
    fail: bool = part(BOOLEAN, default=False)


@composite(0x28, "amqp:source:list")
class Source(Fields):
    """Where the messages of a link come from."""

    address: str | None = part(ANYTHING, default=None)
    durable: Durability = part(choice_of_uint(Durability), default=Durability.NONE)
    expiry_policy: str = part(SYMBOL, default=ExpiryPolicy.SESSION_END)
    timeout: int = part(UINT, default=0)
    dynamic: bool = part(BOOLEAN, default=False)
    dynamic_node_properties: dict[Any, Any] | None = part(FIELDS, default=None)
    distribution_mode: str | None = part(SYMBOL, default=None)
    filter: dict[Any, Any] | None = part(FIELDS, default=None)
    default_outcome: Outcome | None = part(ANYTHING, default=None)
    outcomes: tuple[str, ...] = part(SYMBOLS, default=())
    capabilities: tuple[str, ...] = part(SYMBOLS, default=())


@composite(0x29, "amqp:target:list")
class Target(Fields):
    """Where the messages of a link go to."""

    address: str | None = part(ANYTHING, default=None)
    durable: Durability = part(choice_of_uint(Durability), default=Durability.NONE)
    expiry_policy: str = part(SYMBOL, default=ExpiryPolicy.SESSION_END)
    timeout: int = part(UINT, default=0)
    dynamic: bool = part(BOOLEAN, default=False)
    dynamic_node_properties: dict[Any, Any] | None = part(FIELDS, default=None)
    capabilities: tuple[str, ...] = part(SYMBOLS, default=())


@composite(0x30, "amqp:coordinator:list")
class Coordinator(Fields):
    """The target of a link that controls transactions."""

    capabilities: tuple[str, ...] = part(SYMBOLS, default=())


@composite(0x10, "amqp:open:list")
class Open(Fields):
    """The first frame of a connection, from both sides."""

    container_id: str = part(STRING)
    hostname: str | None = part(STRING, default=None)
    max_frame_size: int = part(UINT, default=MAX_UINT)
    channel_max: int = part(USHORT, default=0xFFFF)
    idle_time_out: int | None = part(UINT, default=None)
    outgoing_locales: tuple[str, ...] = part(SYMBOLS, default=())
    incoming_locales: tuple[str, ...] = part(SYMBOLS, default=())
    offered_capabilities: tuple[str, ...] = part(SYMBOLS, default=())
    desired_capabilities: tuple[str, ...] = part(SYMBOLS, default=())
    properties: dict[Any, Any] | None = part(FIELDS, default=None)


@composite(0x11, "amqp:begin:list")
class Begin(Fields):
    """Starts a session on a channel."""

    remote_channel: int | None = part(USHORT, null=True)
    next_outgoing_id: int = part(UINT)
    incoming_window: int = part(UINT)
    outgoing_window: int = part(UINT)
    handle_max: int = part(UINT, default=MAX_UINT)
    offered_capabilities: tuple[str, ...] = part(SYMBOLS, default=())
    desired_capabilities: tuple[str, ...] = part(SYMBOLS, default=())
    properties: dict[Any, Any] | None = part(FIELDS, default=None)


@composite(0x12, "amqp:attach:list")
class Attach(Fields):
    """Starts a link in a session."""

    name: str = part(STRING)
    handle: int = part(UINT)
    role: bool = part(BOOLEAN)
    snd_settle_mode: SenderSettleMode = part(choice(SenderSettleMode), default=SenderSettleMode.MIXED)
    rcv_settle_mode: ReceiverSettleMode = part(choice(ReceiverSettleMode), default=ReceiverSettleMode.FIRST)
    source: Source | None = part(composites(Source), default=None)
    target: Target | Coordinator | None = part(composites(Target, Coordinator), default=None)
    unsettled: dict[bytes, Any] | None = part(MAP, default=None)
    incomplete_unsettled: bool = part(BOOLEAN, default=False)
    initial_delivery_count: int | None = part(UINT, default=None)
    max_message_size: int = part(ULONG, default=0)
    offered_capabilities: tuple[str, ...] = part(SYMBOLS, default=())
    desired_capabilities: tuple[str, ...] = part(SYMBOLS, default=())
    properties: dict[Any, Any] | None = part(FIELDS, default=None)


@composite(0x13, "amqp:flow:list")
class Flow(Fields):
    """Windows of a session and credit of a link."""

    next_incoming_id: int | None = part(UINT, null=True)
    incoming_window: int = part(UINT)
    next_outgoing_id: int = part(UINT)
    outgoing_window: int = part(UINT)
    handle: int | None = part(UINT, default=None)
    delivery_count: int | None = part(UINT, default=None)
    link_credit: int | None = part(UINT, default=None)
    available: int | None = part(UINT, default=None)
    drain: bool = part(BOOLEAN, default=False)
    echo: bool = part(BOOLEAN, default=False)
    properties: dict[Any, Any] | None = part(FIELDS, default=None)


@composite(0x14, "amqp:transfer:list")
class Transfer(Fields):
    """A message, or a piece of one; the payload follows it in the frame."""

    handle: int = part(UINT)
    delivery_id: int | None = part(UINT, default=None)
    delivery_tag: bytes | None = part(BINARY, default=None)
    message_format: int | None = part(UINT, default=None)
    settled: bool | None = part(BOOLEAN, default=None)
    more: bool = part(BOOLEAN, default=False)
    rcv_settle_mode: ReceiverSettleMode | None = part(choice(ReceiverSettleMode), default=None)
    state: DeliveryState | None = part(ANYTHING, default=None)
    resume: bool = part(BOOLEAN, default=False)
    aborted: bool = part(BOOLEAN, default=False)
    batchable: bool = part(BOOLEAN, default=False)


@composite(0x15, "amqp:disposition:list")
class Disposition(Fields):
    """The state of a range of deliveries."""

    role: bool = part(BOOLEAN)
    first: int = part(UINT)
    last: int | None = part(UINT, default=None)
    settled: bool = part(BOOLEAN, default=False)
    state: DeliveryState | None = part(ANYTHING, default=None)
    batchable: bool = part(BOOLEAN, default=False)


@composite(0x16, "amqp:detach:list")
class Detach(Fields):
    """Ends a link; the terminus, too, when `closed`."""

    handle: int = part(UINT)
    closed: bool = part(BOOLEAN, default=False)
    error: Error | None = part(_ERROR, default=None)


@composite(0x17, "amqp:end:list")
class End(Fields):
    """Ends a session."""

    error: Error | None = part(_ERROR, default=None)


@composite(0x18, "amqp:close:list")
class Close(Fields):
    """Ends a connection."""

    error: Error | None = part(_ERROR, default=None)


class SaslCode(IntEnum):
    """How the SASL exchange ended."""

    OK = 0
    AUTH = 1
    SYS = 2
    SYS_PERM = 3
    SYS_TEMP = 4


@composite(0x40, "amqp:sasl-mechanisms:list")
class SaslMechanisms(Fields):
    """What the server offers."""

    sasl_server_mechanisms: tuple[str, ...] = part(SYMBOLS)


@composite(0x41, "amqp:sasl-init:list")
class SaslInit(Fields):
    """What the client chose."""

    mechanism: str = part(SYMBOL)
    initial_response: bytes | None = part(BINARY, default=None)
    hostname: str | None = part(STRING, default=None)


@composite(0x42, "amqp:sasl-challenge:list")
class SaslChallenge(Fields):
    """A question of the server."""

    challenge: bytes = part(BINARY)


@composite(0x43, "amqp:sasl-response:list")
class SaslResponse(Fields):
    """The client's answer to it."""

    response: bytes = part(BINARY)


@composite(0x44, "amqp:sasl-outcome:list")
class SaslOutcome(Fields):
    """The end of the exchange."""

    code: SaslCode = part(choice(SaslCode))
    additional_data: bytes | None = part(BINARY, default=None)


__all__ = [
    "MAX_UINT",
    "RECEIVER",
    "SENDER",
    "Accepted",
    "Attach",
    "Begin",
    "Close",
    "Coordinator",
    "Declare",
    "Declared",
    "DeliveryState",
    "Detach",
    "Discharge",
    "Disposition",
    "DistributionMode",
    "Durability",
    "End",
    "Error",
    "ExpiryPolicy",
    "Flow",
    "Modified",
    "Open",
    "Outcome",
    "Received",
    "ReceiverSettleMode",
    "Rejected",
    "Released",
    "SaslChallenge",
    "SaslCode",
    "SaslInit",
    "SaslMechanisms",
    "SaslOutcome",
    "SaslResponse",
    "SenderSettleMode",
    "Source",
    "Target",
    "TransactionalState",
    "Transfer",
]
