"""Bytes of a log that tests make up, and what is in them."""

from collections.abc import Sequence
from typing import NamedTuple

from heliograph.log import kinds
from heliograph.log.messages import Messages, Receivers, encode_messages
from heliograph.log.record import frame

CURSOR = 5
"""The partition that is read."""


class Run(NamedTuple):
    """Messages that are in one record."""

    topic: str
    payloads: Sequence[bytes]
    """All of one length."""
    time: int = 1_700_000_000_000
    qos: int = 1
    retain: bool = False
    properties: bytes = b""
    cursors: Sequence[int] = (CURSOR,)
    """Whom they are for."""
    expires: int = 0
    """Milliseconds since 1970."""


def log_of(runs: Sequence[Run], first: int = 0) -> bytes:
    """Records with these messages, which have offsets from `first` on in the partition."""
    pieces: list[bytes] = []
    offset = first
    for run in runs:
        pieces += record_of(run, offset)
        if CURSOR in run.cursors:
            offset += len(run.payloads)
    return b"".join(pieces)


def record_of(run: Run, offset: int) -> tuple[bytes, ...]:
    """One record; other receivers have other offsets."""
    head = b"\x32" + len(run.topic.encode()).to_bytes(2, "big") + run.topic.encode() + b"\0\0"
    data = b"".join([head + payload for payload in run.payloads])
    messages = Messages(
        topic=run.topic.encode(),
        data=data,
        number=len(run.payloads),
        head=len(head),
        qos=run.qos,
        id_at=len(head) - 2,
        version5=False,
        retain=run.retain,
        verbatim=True,
        from_store=False,
        properties=run.properties,
        publisher=0,
        expires=run.expires,
    )
    offsets = [offset if cursor == CURSOR else 1000 + offset for cursor in run.cursors]
    body = encode_messages(messages, Receivers(run.cursors, offsets, [0] * len(offsets)))
    return frame(kinds.MESSAGES, (body, data), 0, len(run.payloads), run.time)[0]
