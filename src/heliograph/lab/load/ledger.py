"""Every gap, duplicate and reordering in every numbered stream, for every receiver.

A stream that arrives in order costs one comparison per batch. Otherwise a bitmap (`Coverage`) of the numbers that have
arrived detects exactly what is missing, late or duplicate. Receivers of a shared subscription or a queue get a part of
each stream, so they share one bitmap (`Share`), and losses show only in the totals.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]

_BLOCK_BYTES = 1 << 18
_LEAST_BITS = 4

Senders = NDArray[np.uint32]
_ASCENDING = np.arange(1 << 17, dtype=np.int64)
_NUMBER_BITS = 40  # of a message in its stream, where both have to fit into one integer


class Coverage:
    """The numbers that have arrived of `streams` streams.

    Numbers are kept in blocks, each with the same range of all streams. A whole block costs an entry in a set; one in
    which something is missing costs a byte per number.
    """

    __slots__ = ("_bits", "_blocks", "_full", "_missing", "_streams")

    def __init__(self, streams: int = 1) -> None:
        self._streams = streams
        self._bits = max(_LEAST_BITS, min(12, (_BLOCK_BYTES // streams).bit_length() - 1))
        self._blocks: dict[int, Flags] = {}
        self._missing: dict[int, int] = {}  # of each block
        self._full: set[int] = set()

    def add(self, streams: Numbers, numbers: Numbers) -> Flags:
        """Message numbers[i] of stream streams[i] has arrived, for all i in this order: was it for the first time?"""
        blocks = numbers >> self._bits
        first = int(blocks[0])
        if bool((blocks == first).all()):
            return self._mark(first, streams, numbers)
        fresh = np.empty(len(numbers), np.bool_)
        for block in np.unique(blocks).tolist():
            here = np.flatnonzero(blocks == block)
            fresh[here] = self._mark(block, streams[here], numbers[here])
        return fresh

    def add_one(self, stream: int, number: int) -> bool:
        """This message has arrived: was it for the first time?"""
        block = number >> self._bits
        if block in self._full:
            return False
        flags, place = self._block(block), (stream << self._bits) + number - (block << self._bits)
        if flags[place]:
            return False
        flags[place] = True
        self._count(block, 1)
        return True

    def fill(self, start: int, end: int) -> None:
        """All numbers from `start` up to `end` (exclusive) of the only stream have arrived for the first time."""
        while start < end:
            block = start >> self._bits
            stop = min(end, (block + 1) << self._bits)
            low = block << self._bits
            if stop - start == 1 << self._bits:
                self._full.add(block)
            else:
                self._block(block)[start - low : stop - low] = True
                self._count(block, stop - start)
            start = stop

    def _mark(self, block: int, streams: Numbers, numbers: Numbers) -> Flags:
        if block in self._full:
            return np.zeros(len(numbers), np.bool_)
        flags = self._block(block)
        places = (streams << self._bits) + (numbers - (block << self._bits))
        fresh: Flags = ~flags[places]
        flags[places] = True
        found = int(np.count_nonzero(fresh))
        if found > 1:
            different, first = np.unique(places, return_index=True)
            if len(different) < len(places):  # a number came twice in this very batch
                once = np.zeros(len(places), np.bool_)
                once[first] = True
                fresh &= once
                found = int(np.count_nonzero(fresh))
        self._count(block, found)
        return fresh

    def _block(self, block: int) -> Flags:
        if block not in self._blocks:
            self._blocks[block] = np.zeros(self._streams << self._bits, np.bool_)
            self._missing[block] = self._streams << self._bits
        return self._blocks[block]

    def _count(self, block: int, found: int) -> None:
        self._missing[block] -= found
        if not self._missing[block]:
            self._full.add(block)
            del self._blocks[block], self._missing[block]

    def packed(self) -> dict[int, bytes]:
        """What has arrived, by block; no bytes stand for a whole block."""
        made = {block: np.packbits(flags).tobytes() for block, flags in self._blocks.items()}
        return made | dict.fromkeys(self._full, b"")


def repeated(parts: list[dict[int, bytes]]) -> int:
    """Numbers that have arrived in more than one of these (`Coverage.packed` of the same streams), counted each time
    but once.
    """
    count, seen = 0, dict[int, NDArray[np.uint8] | None]()
    sizes = {block: len(data) for part in parts for block, data in part.items() if data}
    usual = max(sizes.values(), default=0)
    for part in parts:
        for block, data in part.items():
            bits = np.frombuffer(data or b"\xff" * usual, np.uint8)
            before = seen.get(block)
            if before is None:
                seen[block] = bits
            else:
                count += int(np.bitwise_count(before & bits).sum())
                seen[block] = before | bits
    return count


def _ascending(count: int) -> Numbers:
    return _ASCENDING[:count] if count <= len(_ASCENDING) else np.arange(count, dtype=np.int64)


@dataclass
class Faults:
    """Faults in the messages that arrived; `lost` counts gaps when they open, even if they close again."""

    lost: int = 0
    duplicates: int = 0
    reordered: int = 0


class Share:
    """What the members of one shared subscription (or the consumers of one queue) have got together in this process."""

    def __init__(self, streams: dict[int, int]) -> None:
        """`streams`: how many each sending group has."""
        self._streams = streams
        self.groups: dict[int, Coverage] = {}

    def coverage(self, group: int) -> Coverage:
        """The numbers that have arrived from this sending group."""
        if group not in self.groups:
            self.groups[group] = Coverage(self._streams[group])
        return self.groups[group]


class _StreamPositions:
    """The streams of one sending group as one receiver sees them: the next number of each from `base` on.

    A receiver mostly hears a few neighbouring senders or all of them, so this is an array over the span of senders.
    """

    __slots__ = ("base", "next", "with_gaps")

    def __init__(self, sender: int) -> None:
        self.base = sender
        self.next = np.zeros(1, np.int64)
        # What has arrived of streams that have had a gap, up to the number that goes with it.
        self.with_gaps: dict[int, tuple[Coverage, int]] = {}

    def reach(self, low: int, high: int) -> None:
        """Have room for these senders."""
        end = self.base + len(self.next)
        if low < self.base or high >= end:
            base = min(low, self.base)
            end = max(high + 1, end, base + 2 * len(self.next) if high >= end else end)
            grown = np.zeros(end - base, np.int64)
            grown[self.base - base : self.base - base + len(self.next)] = self.next
            self.base, self.next = base, grown


class Receiver:
    """The accounts of one receiver; with a `share`, it gets a part of every stream, and other members get the rest."""

    __slots__ = ("_lines", "_share")

    def __init__(self, share: Share | None = None) -> None:
        self._lines: dict[int, _StreamPositions] = {}
        self._share = share

    def highest(self, group: int, sender: int) -> int:
        """The highest number that has arrived from this stream, plus one."""
        line = self._lines.get(group)
        if line is None or not line.base <= sender < line.base + len(line.next):
            return 0
        return int(line.next[sender - line.base])

    def take_one(self, group: int, sender: int, number: int, faults: Faults) -> None:
        """One message has arrived."""
        line = self._line(group, sender, sender)
        at = sender - line.base
        expected = int(line.next[at])
        if self._share is not None:
            fresh = self._share.coverage(group).add_one(sender, number)
        elif number == expected:
            fresh = True
        else:
            coverage, known = line.with_gaps.get(sender) or (Coverage(), 0)
            coverage.fill(known, expected)
            fresh = coverage.add_one(0, number)
            line.with_gaps[sender] = coverage, max(expected, number + 1)
            faults.lost += max(0, number - expected)
        faults.duplicates += not fresh
        faults.reordered += fresh and number < expected
        line.next[at] = max(expected, number + 1)

    def take(self, group: int, senders: Senders, numbers: Numbers, faults: Faults) -> None:
        """Messages of this group have arrived, in this order."""
        if self._share is not None:
            self._take_part(group, senders.astype(np.int64), numbers, faults)
        elif bool((senders == senders[0]).all()):
            self._take_stream(group, int(senders[0]), numbers, faults)
        else:
            self._take_mixed(group, senders.astype(np.int64), numbers, faults)

    def _take_stream(self, group: int, sender: int, numbers: Numbers, faults: Faults) -> None:
        count, first = len(numbers), int(numbers[0])
        line = self._line(group, sender, sender)
        at = sender - line.base
        if line.next[at] == first and bool((numbers - first == _ascending(count)).all()):
            line.next[at] = first + count
        else:
            self._take_with_bitmap(line, sender, numbers, faults)

    def _take_mixed(self, group: int, senders: Numbers, numbers: Numbers, faults: Faults) -> None:
        line = self._line(group, int(senders.min()), int(senders.max()))
        order = np.argsort(senders, kind="stable")
        senders, numbers = senders[order], numbers[order]
        starts = np.flatnonzero(np.concatenate(([True], senders[1:] != senders[:-1])))
        lengths = np.diff(np.append(starts, len(order)))
        heads = senders[starts] - line.base
        # Where a stream goes on, all its numbers here are the next one plus their place in the batch.
        good = numbers == _ascending(len(order)) + np.repeat(line.next[heads] - starts, lengths)
        whole = np.logical_and.reduceat(good, starts)
        line.next[heads[whole]] += lengths[whole]
        for index in np.flatnonzero(~whole).tolist():
            start = int(starts[index])
            self._take_with_bitmap(line, int(senders[start]), numbers[start : start + int(lengths[index])], faults)

    def _take_with_bitmap(self, line: _StreamPositions, sender: int, numbers: Numbers, faults: Faults) -> None:
        """Take messages of one stream that do not follow the last one."""
        at = sender - line.base
        expected = int(line.next[at])
        coverage, known = line.with_gaps.get(sender) or (Coverage(), 0)
        coverage.fill(known, expected)
        fresh = coverage.add(np.zeros(len(numbers), np.int64), numbers)
        highest = np.maximum.accumulate(np.concatenate(([expected - 1], numbers)))
        after = int(highest[-1]) + 1
        line.next[at] = after
        line.with_gaps[sender] = coverage, after
        faults.lost += after - expected - int(np.count_nonzero(numbers > highest[:-1]))
        faults.duplicates += len(numbers) - int(np.count_nonzero(fresh))
        faults.reordered += int(np.count_nonzero(fresh & (numbers < highest[:-1])))

    def _take_part(self, group: int, senders: Numbers, numbers: Numbers, faults: Faults) -> None:
        """Take messages of a share; gaps mean nothing here, as other members may have the rest."""
        assert self._share is not None
        fresh = self._share.coverage(group).add(senders, numbers)
        line = self._line(group, int(senders.min()), int(senders.max()))
        order = np.argsort(senders, kind="stable")
        places, sorted_numbers = senders[order] - line.base, numbers[order]
        # The highest number so far within a stream is the highest so far of all, if streams go first in the sum.
        sums = (places << _NUMBER_BITS) + sorted_numbers
        highest = np.maximum.accumulate(sums)
        before = np.maximum(np.concatenate(([-1], highest[:-1])), (places << _NUMBER_BITS) + line.next[places] - 1)
        late = fresh[order] & (sums < before)
        faults.duplicates += len(numbers) - int(np.count_nonzero(fresh))
        faults.reordered += int(np.count_nonzero(late))
        np.maximum.at(line.next, places, sorted_numbers + 1)

    def _line(self, group: int, low: int, high: int) -> _StreamPositions:
        line = self._lines.get(group)
        if line is None:
            line = self._lines[group] = _StreamPositions(low)
        if low < line.base or high >= line.base + len(line.next):
            line.reach(low, high)
        return line
