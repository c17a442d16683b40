"""Defects for a server under test: with this folder in its PYTHONPATH, some messages cannot be stored or sent.

Messages that made the server fail are refused at the door by now. So that it can be seen what happens to a failure that
nobody knows of yet, these words in a message or a client's name stand for one.
"""

from typing import Any

from heliograph.broker.amqp.connection import AmqpConnection
from heliograph.broker.queues.entry import Entry
from heliograph.log import message_log as ledger

_encode_queue_messages, _encode_messages = ledger.encode_queue_messages, ledger.encode_uniform_messages
_outgoing, _flush = Entry.outgoing, AmqpConnection.flush


class Defect(Exception):
    """Nobody expects this one."""


def encode_queue_messages(messages: Any, receivers: Any) -> bytes:
    if b"unstorable" in messages.data:
        raise Defect
    return _encode_queue_messages(messages, receivers)


def encode_messages(messages: Any, receivers: Any) -> bytes:
    if b"unstorable" in messages.data:
        raise Defect
    return _encode_messages(messages, receivers)


def outgoing(entry: Entry, now: int) -> bytes:
    if b"unsendable" in (entry.payload or b""):
        raise Defect
    return _outgoing(entry, now)


def flush(connection: AmqpConnection) -> None:
    if connection.container_id == "unflushable" and not connection.ended:
        raise Defect
    _flush(connection)


ledger.encode_queue_messages, ledger.encode_uniform_messages = encode_queue_messages, encode_messages
Entry.outgoing, AmqpConnection.flush = outgoing, flush  # type: ignore[method-assign]
