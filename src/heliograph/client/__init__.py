"""A client for AMQP 1.0 with the shape of JMS: `from heliograph.client import connect`.

This is the blocking face; `heliograph.client.aio` is the same for asyncio. Both are thin: `core` does the work.
"""

from heliograph.client.blocking import Browser, Connection, Consumer, Producer, Receipt, RunReceipt, Session, connect
from heliograph.client.core.settings import Acknowledge
from heliograph.client.destination import Destination, Queue, TemporaryQueue, TemporaryTopic, Topic
from heliograph.client.errors import (
    ConnectionLost,
    IllegalState,
    InUse,
    InvalidDestination,
    MessageFormat,
    MessagingProblem,
    NoAnswer,
    TransactionInDoubt,
    TransactionRolledBack,
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
    "InvalidDestination",
    "Message",
    "MessageFormat",
    "MessagingProblem",
    "NoAnswer",
    "Producer",
    "Queue",
    "Receipt",
    "RunReceipt",
    "Session",
    "TemporaryQueue",
    "TemporaryTopic",
    "Topic",
    "TransactionInDoubt",
    "TransactionRolledBack",
    "connect",
]
