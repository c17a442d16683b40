"""A publisher's messages as one ring of bytes: encoded once, sent again and again, recognised by comparing memory.

Message number n of a publisher is packet n modulo `count` of its ring. The ring is longer than any window, so a
sequence number modulo `count` names exactly one outstanding message.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate


class Ring:
    """Packets in sending order; positions are absolute and never wrap, neither message numbers nor byte offsets."""

    def __init__(self, packets: Sequence[bytes]) -> None:
        self.count = len(packets)
        self.starts = [0, *accumulate(len(packet) for packet in packets)]
        self.lap = self.starts[-1]
        # Twice round, so that any stretch of up to one lap is one slice.
        self.stream = b"".join(packets) * 2
        self._view = memoryview(self.stream)

    def byte_at(self, message: int) -> int:
        """Byte position where this message starts."""
        laps, index = divmod(message, self.count)
        return laps * self.lap + self.starts[index]

    def messages_before(self, position: int) -> int:
        """How many whole messages lie before this byte position."""
        laps, offset = divmod(position, self.lap)
        return laps * self.count + bisect_right(self.starts, offset) - 1

    def slice(self, position: int, size: int) -> memoryview:
        """`size` bytes from this byte position; at most one lap."""
        offset = position % self.lap
        return self._view[offset : offset + size]

    def continues(self, data: bytes | memoryview, position: int) -> bool:
        """Whether `data` is what the ring holds from this byte position: one memcmp for thousands of messages."""
        return self.stream.startswith(data, position % self.lap)
