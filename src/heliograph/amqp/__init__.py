"""AMQP 1.0: codec and sans-IO protocol engine, the same for server and client. No sockets, no clock, no broker.

Begin with `Connection`: bytes go into `receive`, events come out, and what is to be written gathers in `output`. The
events are `Authenticate`, `Opened`, `Begun`, `Attached`, `Flowed`, `Transfers`, `Settled`, `Detached`, `Ended` and
`Closed`; a `Session` attaches a `Sender` or a `Receiver`, which are `Link`s.

Besides, the face shows the performatives of the standard (`Open`, `Attach`, `Transfer`, ...), what they are made of
(`Source`, `Target`, the outcomes, `Error`), the types that Python has none for (`Symbol`, `UInt`, ...), `encode` and
`decode`, and frames, for those that speak AMQP without the engine. `conditions` has the names of errors. What is in a
message is in `heliograph.amqp.messages`.
"""

from heliograph.amqp import conditions
from heliograph.amqp.codec.composite import resolve
from heliograph.amqp.codec.decoding import decode
from heliograph.amqp.codec.encoding import NULL, encode, encode_list
from heliograph.amqp.codec.frames import AMQP_HEADER, EMPTY_FRAME, SASL_HEADER, amqp_frame, decode_transfer, sasl_frame
from heliograph.amqp.codec.performatives import (
    MAX_UINT,
    RECEIVER,
    SENDER,
    Accepted,
    Attach,
    Begin,
    Close,
    Coordinator,
    Declare,
    Declared,
    DeliveryState,
    Detach,
    Discharge,
    Disposition,
    DistributionMode,
    Durability,
    End,
    Error,
    ExpiryPolicy,
    Flow,
    Modified,
    Open,
    Outcome,
    Received,
    ReceiverSettleMode,
    Rejected,
    Released,
    SaslInit,
    SaslOutcome,
    SenderSettleMode,
    Source,
    Target,
    TransactionalState,
    Transfer,
)
from heliograph.amqp.codec.values import Byte, Described, Symbol, Timestamp, UByte, UInt, ULong, UShort
from heliograph.amqp.engine.connection import Closed, Connection, Event, Opened
from heliograph.amqp.engine.handshake import Authenticate
from heliograph.amqp.engine.link import Attached, Detached, Flowed, Link, Settled
from heliograph.amqp.engine.options import ANONYMOUS, EXTERNAL, PLAIN, Credentials, Options
from heliograph.amqp.engine.receiver import Delivery, Receiver, Transfers
from heliograph.amqp.engine.sender import Sender
from heliograph.amqp.engine.session import Begun, Ended, Session
from heliograph.amqp.errors import (
    AmqpError,
    DecodeError,
    EncodeError,
    InvalidField,
    LimitReached,
    LinkNameInUse,
    NotOpen,
    ProtocolError,
)

__all__ = [
    "AMQP_HEADER",
    "ANONYMOUS",
    "EMPTY_FRAME",
    "EXTERNAL",
    "MAX_UINT",
    "NULL",
    "PLAIN",
    "RECEIVER",
    "SASL_HEADER",
    "SENDER",
    "Accepted",
    "AmqpError",
    "Attach",
    "Attached",
    "Authenticate",
    "Begin",
    "Begun",
    "Byte",
    "Close",
    "Closed",
    "Connection",
    "Coordinator",
    "Credentials",
    "Declare",
    "Declared",
    "DecodeError",
    "Delivery",
    "DeliveryState",
    "Described",
    "Detach",
    "Detached",
    "Discharge",
    "Disposition",
    "DistributionMode",
    "Durability",
    "EncodeError",
    "End",
    "Ended",
    "Error",
    "Event",
    "ExpiryPolicy",
    "Flow",
    "Flowed",
    "InvalidField",
    "LimitReached",
    "Link",
    "LinkNameInUse",
    "Modified",
    "NotOpen",
    "Open",
    "Opened",
    "Options",
    "Outcome",
    "ProtocolError",
    "Received",
    "Receiver",
    "ReceiverSettleMode",
    "Rejected",
    "Released",
    "SaslInit",
    "SaslOutcome",
    "Sender",
    "SenderSettleMode",
    "Session",
    "Settled",
    "Source",
    "Symbol",
    "Target",
    "Timestamp",
    "TransactionalState",
    "Transfer",
    "Transfers",
    "UByte",
    "UInt",
    "ULong",
    "UShort",
    "amqp_frame",
    "conditions",
    "decode",
    "decode_transfer",
    "encode",
    "encode_list",
    "resolve",
    "sasl_frame",
]
