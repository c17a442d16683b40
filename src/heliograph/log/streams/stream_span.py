"""Spans of a stream: messages that were stored together, which readers can iterate over one by one."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import count
from typing import NamedTuple, TypeVar

from heliograph.errors import InvalidInput
from heliograph.log.messages import MIXED_PACKETS, UniformMessages, decode_uniform_messages, form_of
from heliograph.log.mixed_messages import MixedMessages, decode_mixed_messages
from heliograph.log.streams.stream_block import RecordPlace, StreamBlock

_T = TypeVar("_T", str, bytes)


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


class StreamSpan(ABC):
    """Consecutive messages of one partition that were stored together, at one time.

    Often they have one topic and one length, as they came from one client. Those that came from many clients at the
    same time may have several topics: `topics` and `all_properties` have those of each, as `payloads` has its payload.
    """

    __slots__ = ("count", "data", "offset", "qos", "retain", "time")

    def __init__(self, offset: int, time: int, messages: UniformMessages | MixedMessages, *, retain: bool) -> None:
        self.offset = offset
        """Of the first message."""
        self.count = messages.number
        self.time = time
        """When the server stored them, in milliseconds since 1970."""
        self.qos = messages.qos
        """The QoS they were published with."""
        self.retain = retain
        """Whether they were published with the retain flag."""
        self.data = messages.data
        """The MQTT packets that brought them; those of a will or the server have only a payload."""

    @property
    def next(self) -> int:
        """The offset behind the last message."""
        return self.offset + self.count

    @property
    def topic(self) -> str:
        """The topic that all of them have; InvalidInput if they have several."""
        return self._shared(self.topics, "topic", "topics")

    @property
    def properties(self) -> bytes:
        """MQTT 5 properties as on the wire, without their length; InvalidInput if they have several."""
        return self._shared(self.all_properties, "set of properties", "all_properties")

    @property
    @abstractmethod
    def topics(self) -> list[str]:
        """The topic of each of them."""

    @property
    @abstractmethod
    def payloads(self) -> list[bytes]:
        """The payload of each of them."""

    @property
    @abstractmethod
    def all_properties(self) -> list[bytes]:
        """The MQTT 5 properties of each of them."""

    def part(self, lo: int, hi: int) -> "StreamSpan":
        """Those from offset `lo` up to `hi`."""
        lo, hi = max(lo, self.offset), min(hi, self.next)
        return self if hi - lo == self.count else self._part(lo, hi)

    @abstractmethod
    def _part(self, lo: int, hi: int) -> "StreamSpan":
        """Called by `part` if that is not all of them."""

    def __iter__(self) -> Iterator[StreamMessage]:
        """Message by message."""
        time, qos, retain = self.time, self.qos, self.retain
        columns = zip(count(self.offset), self.topics, self.payloads, self.all_properties, strict=False)
        for offset, topic, payload, properties in columns:
            yield StreamMessage(offset, time, topic, payload, qos, retain, properties)

    def _shared(self, values: list[_T], what: str, each: str) -> _T:
        if values.count(values[0]) < len(values):
            raise InvalidInput(
                f"offsets {self.offset} to {self.next - 1}: expected one {what} for all messages of the span, found "
                f"{len(set(values))} different ones, which `{each}` has"
            )
        return values[0]


class UniformStreamSpan(StreamSpan):
    """Messages of one topic, one set of properties and one length."""

    __slots__ = ("_messages",)

    def __init__(self, offset: int, time: int, messages: UniformMessages) -> None:
        super().__init__(offset, time, messages, retain=messages.retain)
        self._messages = messages

    @property
    def topic(self) -> str:
        """The topic of all of them."""
        return self._messages.topic.decode()

    @property
    def properties(self) -> bytes:
        """MQTT 5 properties as on the wire, without their length."""
        return self._messages.properties

    @property
    def topics(self) -> list[str]:
        """The one topic, once for each message."""
        return [self.topic] * self.count

    @property
    def payloads(self) -> list[bytes]:
        """The payload of each of them."""
        return self._messages.payloads

    @property
    def all_properties(self) -> list[bytes]:
        """The one set of properties, once for each message."""
        return [self.properties] * self.count

    def _part(self, lo: int, hi: int) -> "UniformStreamSpan":
        stride = len(self.data) // self.count
        data = self.data[(lo - self.offset) * stride : (hi - self.offset) * stride]
        return UniformStreamSpan(lo, self.time, self._messages._replace(data=data, number=hi - lo))


class MixedStreamSpan(StreamSpan):
    """Messages of any topics, properties and lengths. None of them was published with the retain flag."""

    __slots__ = ("_messages",)

    def __init__(self, offset: int, time: int, messages: MixedMessages) -> None:
        super().__init__(offset, time, messages, retain=False)
        self._messages = messages

    @property
    def topics(self) -> list[str]:
        """The topic of each of them."""
        return [topic.decode() for topic in self._messages.topics]

    @property
    def payloads(self) -> list[bytes]:
        """The payload of each of them."""
        return self._messages.payloads

    @property
    def all_properties(self) -> list[bytes]:
        """The MQTT 5 properties of each of them."""
        return self._messages.properties

    def _part(self, lo: int, hi: int) -> "MixedStreamSpan":
        return MixedStreamSpan(lo, self.time, self._messages.part(lo - self.offset, hi - self.offset))


def span_at(block: StreamBlock, place: RecordPlace) -> StreamSpan:
    """The messages of a record."""
    body = bytes(block.data[place.start : place.end])
    if form_of(body) == MIXED_PACKETS:
        return MixedStreamSpan(place.first, place.time, decode_mixed_messages(body, place.number))
    return UniformStreamSpan(place.first, place.time, decode_uniform_messages(body, place.number))
