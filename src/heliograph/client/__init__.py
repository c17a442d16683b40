"""A client for AMQP 1.0 with the shape of JMS: `from heliograph.client import connect`.

Begin with `connect`, which returns a `Connection`; its `session` makes producers, consumers and browsers. This is the
blocking interface; `aio` is the same for asyncio. Both are thin layers on `core`. All exceptions are subclasses of
`MessagingProblem`. `encoded` is for programs that move many messages as bytes, `management` for requests to a server's
management node.
"""

from heliograph.client.blocking import Browser, Connection, Consumer, Producer, Receipt, RunReceipt, Session, connect
from heliograph.client.core.settings import Acknowledge
from heliograph.client.destination import Destination, Queue, TemporaryQueue, TemporaryTopic, Topic
from heliograph.client.errors import (
    ConnectionLost,
    IllegalState,
    InUse,
    InvalidClientId,
    InvalidDestination,
    InvalidSelector,
    ManagementError,
    MessageFormat,
    MessageRefused,
    MessageTooLarge,
    MessagingProblem,
    NoAnswer,
    NotAllowed,
    ResourceLimit,
    SecurityError,
    TransactionInDoubt,
    TransactionRolledBack,
    Unsupported,
)
from heliograph.client.message import Message

__all__ = [
    "Acknowledge",
    "Browser",
    "Connection",
    "ConnectionLost",
    "Consumer",
    "Destination",
    "IllegalState",
    "InUse",
    "InvalidClientId",
    "InvalidDestination",
    "InvalidSelector",
    "ManagementError",
    "Message",
    "MessageFormat",
    "MessageRefused",
    "MessageTooLarge",
    "MessagingProblem",
    "NoAnswer",
    "NotAllowed",
    "Producer",
    "Queue",
    "Receipt",
    "ResourceLimit",
    "RunReceipt",
    "SecurityError",
    "Session",
    "TemporaryQueue",
    "TemporaryTopic",
    "Topic",
    "TransactionInDoubt",
    "TransactionRolledBack",
    "Unsupported",
    "connect",
]
