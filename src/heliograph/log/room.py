"""Memory for what is read, to be used again.

Megabytes that a process has just got from the system cost several times as much to fill as those it had before, because
each page of them is made when it is first touched.
"""


class Room:
    """Memory of one size, handed out from its front on until it is cleared."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._memory = memoryview(b"")
        self._used = 0

    def clear(self) -> None:
        """Hand it out again: whoever has something of it is done with that."""
        self._used = 0

    def take(self, size: int) -> memoryview:
        """So many bytes, with anything in them. Those for which there is no room left are new ones."""
        if not self._memory:
            self._memory = memoryview(bytearray(self._size))
        start, end = self._used, self._used + size
        if end > self._size:
            return memoryview(bytearray(size))
        self._used = end
        return self._memory[start:end]

    def give_back(self, size: int) -> None:
        """The last so many bytes that were taken are not needed."""
        self._used = max(0, self._used - size)
