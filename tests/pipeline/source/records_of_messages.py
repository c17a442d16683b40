"""Bytes of a log that tests make up, and what is in them."""

from collections.abc import Sequence
from typing import NamedTuple

from heliograph.log import log_kinds
from heliograph.log.cursor import Cursor
from heliograph.log.group import RecordGroup
from heliograph.log.messages import Receivers, UniformMessages, encode_uniform_messages
from heliograph.log.mixed_messages import encode_mixed_messages
from heliograph.log.record import frame
from log.test_mixed_messages import mixed

CURSOR = 5
"""The partition that is read."""
TIME = 1_700_000_000_000


class Run(NamedTuple):
    """Messages of one topic that are in one record."""

    topic: str
    payloads: Sequence[bytes]
    """All of one length."""
    time: int = TIME
    qos: int = 1
    retain: bool = False
    properties: bytes = b""
    cursors: Sequence[int] = (CURSOR,)
    """Whom they are for."""
    expires: int = 0
    """Milliseconds since 1970."""

    @property
    def number(self) -> int:
        return len(self.payloads)


class Mix(NamedTuple):
    """Messages of several topics that are in one record."""

    messages: Sequence[tuple[str, bytes, bytes]]
    """Topic, payload and properties of each."""
    time: int = TIME
    qos: int = 1
    version5: bool = True
    cursors: Sequence[int] = (CURSOR,)

    @property
    def number(self) -> int:
        return len(self.messages)


class Together(NamedTuple):
    """Some of these in a group, which has one time for all."""

    records: Sequence[Run | Mix]
    time: int = TIME
    cursors: Sequence[int] = (CURSOR,)

    @property
    def number(self) -> int:
        return sum(record.number for record in self.records if CURSOR in record.cursors)


def log_of(runs: Sequence[Run | Mix | Together], first: int = 0) -> bytes:
    """Records with these messages, which have offsets from `first` on in the partition."""
    pieces: list[bytes] = []
    offset = first
    for run in runs:
        pieces += record_of(run, offset)
        if CURSOR in run.cursors:
            offset += run.number
    return b"".join(pieces)


def record_of(run: Run | Mix | Together, offset: int) -> tuple[bytes, ...]:
    """One record; other receivers have other offsets."""
    if isinstance(run, Together):
        group = RecordGroup(run.time, 0)
        for record in run.records:
            group.add_messages([Cursor(CURSOR)], _body_of(record, offset), record.number)
            offset += record.number if CURSOR in record.cursors else 0
        return frame(log_kinds.GROUP, group.pieces, 0, group.count, run.time)[0]
    return frame(log_kinds.MESSAGES, _body_of(run, offset), 0, run.number, run.time)[0]


def _body_of(run: Run | Mix, offset: int) -> tuple[bytes, bytes]:
    offsets = [offset if cursor == CURSOR else 1000 + offset for cursor in run.cursors]
    receivers = Receivers(run.cursors, offsets, [0] * len(offsets))
    if isinstance(run, Mix):
        rows = [(topic.encode(), payload, properties, 9, 2) for topic, payload, properties in run.messages]
        packets = mixed(rows, run.qos, run.version5)
        return encode_mixed_messages(packets, receivers), packets.data
    head = b"\x32" + len(run.topic.encode()).to_bytes(2, "big") + run.topic.encode() + b"\0\0"
    data = b"".join([head + payload for payload in run.payloads])
    messages = UniformMessages(
        topic=run.topic.encode(),
        data=data,
        number=len(run.payloads),
        head=len(head),
        qos=run.qos,
        id_at=len(head) - 2,
        version5=False,
        retain=run.retain,
        verbatim=True,
        is_retained=False,
        properties=run.properties,
        publisher=0,
        expires=run.expires,
    )
    return encode_uniform_messages(messages, receivers), data
