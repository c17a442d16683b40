"""The unsettled deliveries of a session, and outcomes that are not written yet (AMQP part 2, section 2.6.12).

Both are kept as ranges: a thousand messages that were sent at once are one entry, and a thousand that are accepted in
one turn are one frame. Delivery ids are those of the wire, but never wrap in here; the low 32 bits go into frames.

A session has an `Unsettled` for each direction. A delivery is in there from its transfer until either side settles it
or its link goes. Ids in an `Unsettled` ascend, and ranges do not overlap.

`OutgoingDispositions` gathers what the session's links settle in a turn. Ranges with the same outcome that follow each
other become one; another outcome, or `ConnectionOutput.flush`, writes what there is. So outcomes leave in the order in
which they were given.
"""

import struct
from bisect import bisect_right
from collections.abc import Callable
from functools import partial
from typing import Final, Generic, NamedTuple, TypeVar

from heliograph.amqp.codec.encoding import NULL, encode
from heliograph.amqp.codec.frames import amqp_frame
from heliograph.amqp.codec.performatives import MAX_UINT, RECEIVER, DeliveryState, Disposition
from heliograph.amqp.engine.output import ConnectionOutput

L = TypeVar("L")

# Frame header, descriptor and head of a short list, role, first and last; settled and state come behind.
_FORM: Final = struct.Struct(">IHH4sBBBBIBI")
_DESCRIPTOR: Final = b"\x00\x53\x15\xc0"
_IDS_AND_ROLE: Final = 11
_LONGEST_TAIL: Final = 255 - 1 - _IDS_AND_ROLE


class DeliveryRange(NamedTuple, Generic[L]):
    """Deliveries `first` to `last` (identifiers as on the wire, but never wrapping) of one link.

    Their numbers, by which the owner knows them, are higher by `shift`.
    """

    first: int
    last: int
    link: L
    shift: int


# The class method of a NamedTuple is a Python function; this is the same without it.
_range = partial(tuple.__new__, DeliveryRange)


def _first_id(each: DeliveryRange[L]) -> int:
    return each.first


def _first_number(each: DeliveryRange[L]) -> int:
    return each.first + each.shift


class Unsettled(Generic[L]):
    """The unsettled deliveries of one direction, with the link of each."""

    __slots__ = ("_ranges",)

    def __init__(self) -> None:
        self._ranges: list[DeliveryRange[L]] = []

    def __len__(self) -> int:
        return len(self._ranges)

    def add(self, first: int, last: int, link: L, shift: int) -> None:
        """Note a range; it lies behind all others."""
        ranges = self._ranges
        if ranges:
            start, end, its_link, its_shift = ranges[-1]
            if end + 1 == first and its_link is link and its_shift == shift:
                ranges[-1] = _range((start, last, link, shift))
                return
        ranges.append(_range((first, last, link, shift)))

    def within(self, first: int, last: int) -> list[DeliveryRange[L]]:
        """The parts of ranges with identifiers from `first` to `last`."""
        ranges = self._ranges
        at = max(bisect_right(ranges, first, key=_first_id) - 1, 0)
        found = []
        for index in range(at, len(ranges)):
            each = ranges[index]
            if each.first > last:
                break
            if each.last >= first:
                found.append(DeliveryRange(max(first, each.first), min(last, each.last), each.link, each.shift))
        return found

    def take(self, first: int, last: int) -> list[DeliveryRange[L]]:
        """Like `within`, and they are forgotten."""
        ranges = self._ranges
        if not ranges:
            return []
        start, end, link, shift = ranges[0]
        if start == first and last <= end:  # the oldest first, which is what nearly all are
            if last == end:
                del ranges[0]
            else:
                ranges[0] = _range((last + 1, end, link, shift))
            return [_range((first, last, link, shift))]
        at = bisect_right(ranges, first, key=_first_id) - 1
        if at < 0 or ranges[at].last < first:
            at += 1
        end = at
        found = []
        kept = []
        while end < len(ranges) and ranges[end].first <= last:
            each = ranges[end]
            low, high = max(first, each.first), min(last, each.last)
            found.append(DeliveryRange(low, high, each.link, each.shift))
            if each.first < low:
                kept.append(DeliveryRange(each.first, low - 1, each.link, each.shift))
            if high < each.last:
                kept.append(DeliveryRange(high + 1, each.last, each.link, each.shift))
            end += 1
        ranges[at:end] = kept
        return found

    def take_numbers(self, first: int, last: int) -> list[DeliveryRange[L]]:
        """Like `take`, by numbers."""
        ranges = self._ranges
        at = max(bisect_right(ranges, first, key=_first_number) - 1, 0)
        ids = []
        for index in range(at, len(ranges)):
            each = ranges[index]
            if each.first + each.shift > last:
                break
            low, high = max(first - each.shift, each.first), min(last - each.shift, each.last)
            if low <= high:
                ids.append((low, high))
        return [each for low, high in ids for each in self.take(low, high)]

    def forget(self, link: L) -> None:
        """Remove all deliveries of a link."""
        if self._ranges:
            self._ranges = [each for each in self._ranges if each.link is not link]

    def clear(self) -> None:
        """The session is over."""
        self._ranges.clear()


class OutgoingDispositions:
    """The outcomes that a session has given and not written yet."""

    __slots__ = ("_channel", "_connection", "_forget_incoming", "_ranges", "_role", "_settled", "_state", "_tail")

    def __init__(
        self, connection: ConnectionOutput, channel: int, forget_incoming: Callable[[int, int], object]
    ) -> None:
        """`forget_incoming` is called with ids of deliveries that we have received and settled, when it is written."""
        self._connection = connection
        self._channel = channel
        self._forget_incoming = forget_incoming
        self._ranges: list[tuple[int, int]] = []
        self._role = RECEIVER
        self._settled = False
        self._state: DeliveryState | None = None
        self._tail = b"\x42" + NULL  # settled and state as bytes

    def gather(self, role: bool, first: int, last: int, settled: bool, state: DeliveryState | None) -> None:
        """Note the outcome of a range of delivery ids (that do not wrap)."""
        # The outcome is nearly always the same object as before, and comparing two states by value is slow.
        alike = settled is self._settled and (state is self._state or state == self._state)
        ranges = self._ranges
        if ranges:
            if alike and role is self._role:
                before, end = ranges[-1]
                if end + 1 == first:
                    ranges[-1] = (before, last)
                else:
                    ranges.append((first, last))
                return
            self.flush()
        else:
            self._connection.gathering.append(self)
        if not alike:
            self._settled, self._state = settled, state
            self._tail = (b"\x41" if settled else b"\x42") + encode(state)
        self._role = role
        self._ranges.append((first, last))

    def flush(self) -> None:
        """Write what was gathered."""
        # A new list: for `gather`, an empty list means that it must register with the connection again.
        ranges, self._ranges = self._ranges, []
        connection = self._connection
        forget = self._settled and self._role == RECEIVER
        for first, last in _merged(ranges) if len(ranges) > 1 else ranges:
            if forget:
                self._forget_incoming(first, last)
            connection.write(self._frame(first & MAX_UINT, last & MAX_UINT))

    def clear(self) -> None:
        """The session is over: what was gathered is not written any more."""
        self._ranges.clear()

    def _frame(self, first: int, last: int) -> bytes:
        tail = self._tail
        length = len(tail)
        channel = self._channel
        if length > _LONGEST_TAIL:
            return amqp_frame(channel, Disposition(self._role, first, last, self._settled, self._state).encoded())
        role = 0x41 if self._role else 0x42
        size = _IDS_AND_ROLE + length + 1
        return (
            _FORM.pack(_FORM.size + length, 0x0200, channel, _DESCRIPTOR, size, 5, role, 0x70, first, 0x70, last) + tail
        )


def _merged(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges in order, those that touch joined."""
    ranges.sort()
    merged = [ranges[0]]
    for first, last in ranges:
        before, end = merged[-1]
        if first <= end + 1:
            merged[-1] = (before, max(last, end))
        else:
            merged.append((first, last))
    return merged
