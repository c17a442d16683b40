"""AMQP 1.0: codec and sans-IO protocol engine, the same for server and client. No sockets, no clock, no broker.

`Connection` is the engine, `events` what it tells, `performatives` the standard's types, `values` its values, and
`messages` what is in a message.
"""

from heliograph.amqp.connection import Connection
from heliograph.amqp.errors import DecodeError, ProtocolError
from heliograph.amqp.events import (
    Attached,
    Authenticate,
    Begun,
    Closed,
    Delivery,
    Detached,
    Ended,
    Event,
    Flowed,
    Opened,
    Settled,
    Transfers,
)
from heliograph.amqp.link import Link
from heliograph.amqp.options import ANONYMOUS, EXTERNAL, PLAIN, Credentials, Options
from heliograph.amqp.performatives import (
    Accepted,
    Coordinator,
    Declare,
    Declared,
    DeliveryState,
    Discharge,
    Error,
    Modified,
    Open,
    Outcome,
    Received,
    Rejected,
    Released,
    Source,
    Target,
    TransactionalState,
)
from heliograph.amqp.receiver import Receiver
from heliograph.amqp.sender import Sender
from heliograph.amqp.session import Session

__all__ = [
    "ANONYMOUS",
    "EXTERNAL",
    "PLAIN",
    "Accepted",
    "Attached",
    "Authenticate",
    "Begun",
    "Closed",
    "Connection",
    "Coordinator",
    "Credentials",
    "Declare",
    "Declared",
    "DecodeError",
    "Delivery",
    "DeliveryState",
    "Detached",
    "Discharge",
    "Ended",
    "Error",
    "Event",
    "Flowed",
    "Link",
    "Modified",
    "Open",
    "Opened",
    "Options",
    "Outcome",
    "ProtocolError",
    "Received",
    "Receiver",
    "Rejected",
    "Released",
    "Sender",
    "Session",
    "Settled",
    "Source",
    "Target",
    "TransactionalState",
    "Transfers",
]
