"""Messages that are encoded once and sent over and over, and recognised by comparing memory.

Message number n of a publisher is packet n modulo `count` of its cycle. The cycle is longer than any window, so a
sequence number modulo `count` identifies exactly one message in flight. Such messages carry no time, so they cannot
measure latency; in return, sending and receiving one costs only some nanoseconds. `SequenceTracker` finds missing,
duplicate and late messages; `ledger` does the same for messages with full sequence numbers.
"""

import struct
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

MARK = struct.Struct(">II")
"""Which publisher has sent a message and which of its messages it is: every payload starts with these."""


def marked_payload(publisher: int, sequence: int, size: int) -> bytes:
    """A payload of this size with the publisher and the number of the message."""
    return MARK.pack(publisher, sequence).ljust(size, b".")


class PacketCycle:
    """Packets in sending order; positions are absolute and never wrap, neither message numbers nor byte offsets."""

    def __init__(self, packets: Sequence[bytes]) -> None:
        self.count = len(packets)
        self.starts = [0, *accumulate(len(packet) for packet in packets)]
        self._length = self.starts[-1]
        # Twice, so that any stretch of up to one cycle is one slice.
        self.stream = b"".join(packets) * 2
        self._view = memoryview(self.stream)

    def byte_at(self, message: int) -> int:
        """Byte position where this message starts."""
        rounds, index = divmod(message, self.count)
        return rounds * self._length + self.starts[index]

    def messages_before(self, position: int) -> int:
        """How many whole messages lie before this byte position."""
        rounds, offset = divmod(position, self._length)
        return rounds * self.count + bisect_right(self.starts, offset) - 1

    def slice(self, position: int, size: int) -> memoryview:
        """`size` bytes from this byte position; at most one cycle."""
        offset = position % self._length
        return self._view[offset : offset + size]

    def continues(self, data: bytes | memoryview, position: int) -> bool:
        """Whether `data` is what the cycle holds from this byte position: one memcmp for thousands of messages."""
        return self.stream.startswith(data, position % self._length)


class SequenceTracker:
    """Counts messages, in any order of arrival, whose sequence numbers are known only modulo `modulus`."""

    def __init__(self, modulus: int) -> None:
        self.modulus = modulus
        self.next = 0  # every message before this one has arrived or is in `missing`
        self.missing: set[int] = set()
        self.duplicates = 0
        self.late = 0  # arrived after one that was sent later

    def take(self, sequence: int) -> None:
        """A message with this number (modulo `modulus`) has arrived."""
        ahead = (sequence - self.next) % self.modulus
        if ahead < self.modulus // 2:
            if ahead:
                self.missing.update(range(self.next, self.next + ahead))
            self.next += ahead + 1
            return
        late = self.next + ahead - self.modulus
        if late in self.missing:
            self.missing.remove(late)
            self.late += 1
        else:
            self.duplicates += 1

    @property
    def received(self) -> int:
        """Distinct messages that have arrived."""
        return self.next - len(self.missing)
