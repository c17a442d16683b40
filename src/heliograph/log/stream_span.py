"""What readers of a stream get: spans of messages as they were stored, and single messages for those who want them."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import NamedTuple, Self

from heliograph.errors import Problem
from heliograph.log.messages import Messages, decode_messages
from heliograph.log.room import Room
from heliograph.log.stream_block import BLOCK_SIZE, Block, Place

LIMIT_BYTES = 1 << 20


class OffsetGone(Problem):
    """Messages that a reader asks for have been deleted; `earliest` is the oldest offset left."""

    def __init__(self, what: str, offset: int, earliest: int) -> None:
        super().__init__(f"{what}: offset {offset} is gone, the earliest one left is {earliest}")
        self.offset = offset
        self.earliest = earliest


class OffsetAhead(Problem):
    """A reader asks for messages behind the next one; `latest` is the offset that the next message gets."""

    def __init__(self, what: str, offset: int, latest: int) -> None:
        super().__init__(f"{what}: offset {offset} is ahead of the stream, the next message gets {latest}")
        self.offset = offset
        self.latest = latest


class StreamMessage(NamedTuple):
    """One message of a stream."""

    offset: int
    time: int
    """When the server stored it, in milliseconds since 1970."""
    topic: str
    payload: bytes
    qos: int
    retain: bool
    properties: bytes
    """MQTT 5 properties as on the wire, without their length."""


class StreamSpan:
    """Consecutive messages of one partition that were stored together: of one topic, one time and one length."""

    __slots__ = ("_head", "_messages", "count", "data", "offset", "time")

    def __init__(self, offset: int, time: int, messages: Messages) -> None:
        self._messages = messages
        self._head = messages.head
        self.offset = offset
        """Of the first message."""
        self.count = messages.number
        self.time = time
        """When the server stored them, in milliseconds since 1970."""
        self.data = messages.data
        """The MQTT packets that brought them, all of one length; those of a will or the server have only a payload."""

    @property
    def next(self) -> int:
        """The offset behind the last message."""
        return self.offset + self.count

    @property
    def topic(self) -> str:
        """The topic of all of them."""
        return self._messages.topic.decode()

    @property
    def qos(self) -> int:
        """The QoS they were published with."""
        return self._messages.qos

    @property
    def retain(self) -> bool:
        """Whether they were published with the retain flag."""
        return self._messages.retain

    @property
    def properties(self) -> bytes:
        """MQTT 5 properties as on the wire, without their length."""
        return self._messages.properties

    @property
    def payloads(self) -> list[bytes]:
        """The payloads of all of them."""
        return self._messages.payloads

    def part(self, lo: int, hi: int) -> "StreamSpan":
        """Those from offset `lo` up to `hi`."""
        lo, hi = max(lo, self.offset), min(hi, self.next)
        if hi - lo == self.count:
            return self
        stride = len(self.data) // self.count
        data = self.data[(lo - self.offset) * stride : (hi - self.offset) * stride]
        return StreamSpan(lo, self.time, self._messages._replace(data=data, number=hi - lo))

    def __iter__(self) -> Iterator[StreamMessage]:
        """Message by message."""
        topic, qos, retain, properties = self.topic, self.qos, self.retain, self.properties
        for offset, payload in enumerate(self.payloads, self.offset):
            yield StreamMessage(offset, self.time, topic, payload, qos, retain, properties)


def span_at(block: Block, place: Place) -> StreamSpan:
    """The messages of a record."""
    return StreamSpan(
        place.first, place.time, decode_messages(bytes(block.data[place.start : place.end]), place.number)
    )


class StreamState(NamedTuple):
    """What a stream is like at one moment."""

    identity: str
    """By which it is known from another one of its name; empty if the server is too old to tell."""
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
        """The offset that the next message gets: all before it are safe."""

    @abstractmethod
    def state(self) -> StreamState:
        """What it is like now."""

    def extents(self) -> list[tuple[int, int]]:
        """The earliest and the latest offset of each partition, as they are now."""
        return self.state().extents

    @abstractmethod
    def offset_at(self, partition: int, time_ms: int) -> int:
        """The offset of the first message that came at this time, in milliseconds since 1970, or later."""

    @abstractmethod
    def close(self) -> None:
        """Let go of files and connections."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def blocks(
        self, partition: int, offset: int, end: int | None = None, size: int = BLOCK_SIZE, room: Room | None = None
    ) -> Iterator[Block]:
        """Messages from an offset on, in order and without a gap, up to `end` or what is the latest when it is reached.

        They come as the log has them, some `size` bytes of it at a time: this is the quickest way to read many. The
        first record may have messages before the offset too, the last some behind the end. Errors are those of `read`.
        Blocks are put into a `room` if one is given, and hold until that is cleared.
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
