"""Which numbers of numbered streams have arrived: a bitmap that forgets what is whole."""

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]

_BLOCK_BYTES = 1 << 18
_LEAST_BITS = 4


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
