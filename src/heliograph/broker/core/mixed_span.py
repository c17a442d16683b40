"""A mixed span: messages of several topics and lengths that are routed, stored and acknowledged together.

One publisher that sends many messages makes uniform spans (`span.py`), whose messages are never looked at one by one.
Many devices that send one message each make one mixed span per turn of the server, if their messages have the same
receivers. The packets stay as they came. The only work per message is to write the packet identifier into it.
"""

import struct
from collections.abc import Sequence
from itertools import accumulate
from operator import add

from heliograph.broker.core.span import Span
from heliograph.broker.core.timers import Clock
from heliograph.log import LONGEST_HEAD, MixedMessages, UniformMessages, topic_start
from heliograph.mqtt import decode_varint, write_ids

__all__ = ["LONGEST_HEAD", "MixedSpan"]

_COST_EACH = 100
"""Bytes of memory per message beside its own: its entries in the three lists."""
_write_id = struct.Struct(">H").pack_into


class MixedSpan(Span):
    """`count` messages with one QoS and one protocol version, none of which is retained or expires.

    Three columns describe the packets in `data`: their lengths (`sizes`), where the topic ends (`name_ends`; the packet
    identifier follows there), and where the payload begins (`heads`). `stride`, `head` and `id_at` have no meaning
    here.
    """

    __slots__ = ("_starts", "heads", "name_ends", "publishers", "sizes")

    def __init__(
        self,
        data: bytes,
        sizes: Sequence[int],
        name_ends: Sequence[int],
        heads: Sequence[int],
        qos: int,
        version5: bool,
        publishers: Sequence[int],
    ) -> None:
        """`data` has the packets, one after the other."""
        first = topic_start(sizes[0])
        super().__init__(data[first : name_ends[0]], data, len(sizes), head=0, qos=qos, id_at=0, version5=version5)
        self.sizes = sizes
        self.name_ends = name_ends
        self.heads = heads
        self.publishers = publishers
        """With QoS 2, the number of the session that sent each message, or 0; with it a restart finds duplicates."""
        self._starts: list[int] | None = None

    @classmethod
    def of_packets(
        cls,
        packets: Sequence[bytes],
        name_ends: Sequence[int],
        heads: Sequence[int],
        *,
        qos: int,
        version5: bool,
        publishers: Sequence[int] = (),
    ) -> "MixedSpan":
        """A span of packets as their publishers sent them."""
        return cls(b"".join(packets), [*map(len, packets)], name_ends, heads, qos, version5, publishers)

    @classmethod
    def of(cls, messages: MixedMessages) -> "MixedSpan":
        """A span of the messages of a log record."""
        return cls(*messages)

    @property
    def messages(self) -> MixedMessages:
        """The messages in the form of the log."""
        return MixedMessages(
            self.data, self.sizes, self.name_ends, self.heads, self.qos, self.version5, self.publishers
        )

    @property
    def cost(self) -> int:
        """Bytes of memory that it takes while it is kept."""
        return super().cost + _COST_EACH * self.count

    def starts(self) -> list[int]:
        """Where each packet starts in `data`, and where the last one ends."""
        if self._starts is None:
            self._starts = [*accumulate(self.sizes, initial=0)]
        return self._starts

    def _is_even(self) -> bool:
        """Whether all packets have one length, and all topics. Devices of one kind often send such."""
        sizes, name_ends = self.sizes, self.name_ends
        return sizes.count(sizes[0]) == len(sizes) and name_ends.count(name_ends[0]) == len(sizes)

    def payloads(self, lo: int, hi: int) -> list[bytes]:
        """The payloads of messages `lo` to `hi`."""
        starts, heads, data = self.starts(), self.heads, self.data
        return [data[starts[at] + heads[at] : starts[at + 1]] for at in range(lo, hi)]

    def part(self, lo: int, hi: int) -> Span:
        """Messages `lo` to `hi` as a span of their own."""
        if hi - lo == self.count:
            return self
        if hi - lo == 1:
            return self.single(lo)
        starts = self.starts()
        return MixedSpan(
            self.data[starts[lo] : starts[hi]],
            self.sizes[lo:hi],
            self.name_ends[lo:hi],
            self.heads[lo:hi],
            self.qos,
            self.version5,
            self.publishers[lo:hi],
        )

    def single(self, at: int) -> Span:
        """One of the messages as a uniform span."""
        starts = self.starts()
        return single_span(
            self.data[starts[at] : starts[at + 1]], self.name_ends[at], self.heads[at], self.qos, self.version5
        )

    def packets(
        self,
        lo: int,
        hi: int,
        *,
        version5: bool,
        qos: int,
        retain: bool,
        now: float,
        first_id: int = 0,
        dup: bool = False,
        extra: bytes = b"",
        topic: bytes | None = None,
    ) -> bytes:
        """PUBLISH packets for messages `lo` to `hi`, as one kind of receiver wants them; see `Span.packets`."""
        # The receiver needs other bytes than those that came, so every packet is encoded anew.
        if extra or retain or topic is not None or version5 is not self.version5 or qos != self.qos:
            return b"".join(
                [
                    self.single(at).packets(
                        0,
                        1,
                        version5=version5,
                        qos=qos,
                        retain=retain,
                        now=now,
                        first_id=first_id and first_id + at - lo,
                        dup=dup,
                        extra=extra,
                        topic=topic,
                    )
                    for at in range(lo, hi)
                ]
            )
        starts = self.starts()
        base = starts[lo]
        data = self.data if hi - lo == self.count else self.data[base : starts[hi]]
        if not qos:
            return data
        run = bytearray(data)
        # All identifiers are at the same place in each packet: they are written column-wise, without a loop.
        if self._is_even():
            write_ids(run, self.name_ends[0], self.sizes[0], first_id, hi - lo)
        else:
            write_id = _write_id
            places = map(add, starts[lo:hi], self.name_ends[lo:hi])
            for packet_id, place in enumerate(places, first_id):
                write_id(run, place - base, packet_id)
        if dup:
            first_byte = 0x38 | qos << 1
            for start in starts[lo:hi]:
                run[start - base] = first_byte
        return bytes(run)


def single_span(packet: bytes, name_end: int, head: int, qos: int, version5: bool) -> Span:
    """A packet as a uniform span. It is neither retained nor a repetition, and has neither expiry nor topic alias."""
    properties = b""
    behind = name_end + 2 if qos else name_end
    if version5 and head > behind + 1:
        length = decode_varint(packet, behind, head)
        assert length is not None
        properties = packet[length[1] : head]
    return Span(
        packet[topic_start(len(packet)) : name_end],
        packet,
        1,
        head=head,
        qos=qos,
        id_at=name_end if qos else 0,
        version5=version5,
        properties=properties,
    )


def stored_span(messages: UniformMessages, clock: Clock) -> Span:
    """A span as it was before it was stored."""
    return Span(
        messages.topic,
        messages.data,
        messages.number,
        head=messages.head,
        qos=messages.qos,
        id_at=messages.id_at,
        version5=messages.version5,
        retain=messages.retain,
        verbatim=messages.verbatim,
        properties=messages.properties,
        expires=clock.from_wall(messages.expires) if messages.expires else 0.0,
        is_retained=messages.is_retained,
    )
