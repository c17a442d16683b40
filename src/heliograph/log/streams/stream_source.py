"""A stream as readers see it, local or remote: its extents, messages from an offset on, and the lag of a reader."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import NamedTuple, Self

from heliograph.log.buffer_pool import BufferPool
from heliograph.log.errors import OffsetGone
from heliograph.log.streams.stream_block import BLOCK_SIZE, StreamBlock
from heliograph.log.streams.stream_span import StreamMessage, StreamSpan, span_at

LIMIT_BYTES = 1 << 20
"""About the bytes that `read` returns by default."""


class StreamState(NamedTuple):
    """Identity and extents of a stream at one moment."""

    identity: str
    """Distinguishes it from an earlier stream of its name; empty if the server is too old to have one."""
    extents: list[tuple[int, int]]
    """The earliest and the latest offset of each partition."""


class StreamSource(ABC):
    """A stream as readers see it, wherever it is. Partitions are numbered from 0."""

    name: str
    identity: str
    """That of the stream when the reader was made; empty if it has none."""

    @property
    @abstractmethod
    def partitions(self) -> int:
        """How many partitions there are."""

    @abstractmethod
    def earliest(self, partition: int) -> int:
        """The oldest offset that is still there."""

    @abstractmethod
    def latest(self, partition: int) -> int:
        """The offset that the next message gets. All messages before it are safe."""

    @abstractmethod
    def state(self) -> StreamState:
        """Identity and extents, as they are now."""

    def extents(self) -> list[tuple[int, int]]:
        """The earliest and the latest offset of each partition, as they are now."""
        return self.state().extents

    @abstractmethod
    def offset_at(self, partition: int, time_ms: int) -> int:
        """The offset of the first message that came at this time, in milliseconds since 1970, or later."""

    @abstractmethod
    def close(self) -> None:
        """Close files and connections."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def blocks(
        self,
        partition: int,
        offset: int,
        end: int | None = None,
        size: int = BLOCK_SIZE,
        pool: BufferPool | None = None,
    ) -> Iterator[StreamBlock]:
        """Messages from an offset on, in order and without a gap, up to `end` or what is the latest when it is reached.

        They come as the log has them, some `size` bytes of it at a time: this is the quickest way to read many. The
        first record may have messages before the offset too, the last some behind the end. Errors are those of `read`.
        Blocks are put into the `pool` if one is given, and are valid until that is cleared.
        """

    def read(
        self, partition: int, offset: int, *, limit_messages: int | None = None, limit_bytes: int = LIMIT_BYTES
    ) -> list[StreamSpan]:
        """Messages from an offset on, in order and without a gap; nothing if `offset` is the latest one.

        They come as spans, which give their messages one by one when iterated over. There are no more than
        `limit_messages` of them, and not many more bytes than `limit_bytes`. OffsetGone if retention has deleted that
        offset, OffsetAhead if it is behind the latest.
        """
        spans: list[StreamSpan] = []
        left = limit_bytes
        end = None if limit_messages is None else offset + limit_messages
        for block in self.blocks(partition, offset, end, min(limit_bytes, BLOCK_SIZE)):
            for place in block:
                span = span_at(block, place)
                spans.append(span.part(offset, span.next if end is None else end))
                left -= place.end - place.start
                if left <= 0:
                    return spans
        return spans

    def messages(self, partition: int, offset: int, limit_messages: int | None = None) -> Iterator[StreamMessage]:
        """Message by message, from an offset up to what is the latest one when that is reached."""
        end = None if limit_messages is None else offset + limit_messages
        while end is None or offset < end:
            spans = self.read(partition, offset, limit_messages=None if end is None else end - offset)
            if not spans:
                return
            for span in spans:
                yield from span
            offset = spans[-1].next


class Lag(NamedTuple):
    """Messages that are not processed, and how long the oldest of them has waited."""

    messages: int
    seconds: float


def stream_lag(source: StreamSource, done: Mapping[int, int], now_ms: float) -> Lag:
    """The lag of a reader that has processed each partition up to, but without, the offset in `done`.

    Of a partition that is not in `done`, nothing is processed. What retention has deleted does not count.
    """
    messages, oldest = 0, now_ms
    for partition, (earliest, latest) in enumerate(source.extents()):
        at = max(done.get(partition, earliest), earliest)
        if at >= latest:
            continue
        messages += latest - at
        try:
            spans = source.read(partition, at, limit_messages=1, limit_bytes=1)
        except OffsetGone:
            continue  # deleted after `extents`: the next call counts it
        if spans:
            oldest = min(oldest, spans[0].time)
    return Lag(messages, max(0.0, (now_ms - oldest) / 1000))
