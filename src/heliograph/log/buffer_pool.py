"""Memory for what is read, to be used again.

Megabytes that a process has just got from the system cost several times as much to fill as those it had before, because
each page of them is made when it is first touched.
"""

from collections.abc import Callable
from typing import Any, cast

from heliograph.log.record import padded


def _new(size: int) -> Any:
    return memoryview(bytearray(size))


class BufferPool:
    """Memory of one size, handed out from its front on until it is cleared."""

    def __init__(self, size: int, new: Callable[[int], Any] = _new) -> None:
        """`new` makes memory of a size, whose slices are parts of it. Arrays of numpy will do, too: check sums are made
        of parts of them as they are, but of those of a memoryview only when they have been copied."""
        self._size = size
        self._new = new
        self._memory = new(0)
        self._used = 0

    def clear(self) -> None:
        """Hand it out again: whoever has something of it is done with that."""
        self._used = 0

    def take(self, size: int) -> memoryview:
        """So many bytes, with anything in them, from a multiple of eight bytes on, as records are in the log.

        Those for which there is no room left are new ones.
        """
        start, end = self._used, self._used + size
        if end > self._size:
            return cast("memoryview", self._new(size))
        if not len(self._memory):
            self._memory = self._new(self._size)
        self._used = padded(end)
        return cast("memoryview", self._memory[start:end])

    def give_back(self, size: int) -> None:
        """The last so many bytes that were taken are not needed."""
        self._used = max(0, self._used - padded(size))
