"""A reusable buffer for bulk readers.

Fresh memory from the system takes several times as long to fill as memory that was used before, because the kernel
makes each page when it is first touched. So readers of blocks keep one large buffer, and hand out parts of it.
"""

from collections.abc import Callable
from typing import Any, cast

from heliograph.log.record import padded


def _new(size: int) -> Any:
    return memoryview(bytearray(size))


class BufferPool:
    """One buffer of a fixed size, whose parts are handed out front to back until it is cleared."""

    def __init__(self, size: int, new: Callable[[int], Any] = _new) -> None:
        """`new` makes the memory; slices of it must be views. An array of numpy is best: a check sum of a part of it
        needs no copy, while one of a memoryview does."""
        self._size = size
        self._new = new
        self._memory = new(0)
        self._used = 0

    def clear(self) -> None:
        """Start again at the front. Parts that were taken before must not be used any more."""
        self._used = 0

    def take(self, size: int) -> memoryview:
        """A part of `size` bytes with undefined content, aligned to eight bytes as records are in the log.

        If not enough is left, it is new memory outside of the buffer.
        """
        start, end = self._used, self._used + size
        if end > self._size:
            return cast("memoryview", self._new(size))
        if not len(self._memory):
            self._memory = self._new(self._size)
        self._used = padded(end)
        return cast("memoryview", self._memory[start:end])

    def give_back(self, size: int) -> None:
        """Return the last `size` bytes that were taken."""
        self._used = max(0, self._used - padded(size))
