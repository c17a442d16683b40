"""Reading the messages of a cursor back from the log, usually in order.

A chunk of the cursor is read from its start, a quarter of a megabyte at a time, and records for other cursors are
skipped. Records that were read ahead stay in memory, so that reading in order reads each part of the log once. Going
back drops them.
"""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from heliograph.log import log_kinds
from heliograph.log.cursor import Chunk, Cursor
from heliograph.log.errors import MessageMissing
from heliograph.log.group import records_in
from heliograph.log.messages import offset_for
from heliograph.log.reader import LogReader
from heliograph.log.record import Record

_READ_AT_ONCE = 256 << 10


class FoundRecord(NamedTuple):
    """A record with messages of the cursor: those from offset `first` up to `next`."""

    first: int
    next: int
    record: Record


class CursorReader:
    """Finds records of messages by offset, for one cursor."""

    __slots__ = ("_ahead", "_chunk", "_cursor", "_position", "_reached", "_reader", "_safe")

    def __init__(self, cursor: Cursor, reader: LogReader, safe: Callable[[], int]) -> None:
        """`safe` returns the position up to which the log can be read."""
        self._cursor = cursor
        self._reader = reader
        self._safe = safe
        self._ahead: deque[FoundRecord] = deque()
        self._chunk: Chunk | None = None
        self._position = 0
        self._reached = 0
        """The chunk has been read up to `_position`, which is after this offset and before the next."""

    def find(self, offset: int) -> FoundRecord | None:
        """The record with the message that has this offset; None if it cannot be read yet."""
        ahead = self._ahead
        while True:
            while ahead and ahead[0].next <= offset:
                ahead.popleft()
            if ahead:
                if ahead[0].first <= offset:
                    return ahead[0]
                ahead.clear()  # going back, to messages that are sent again
                self._chunk = None
            if not self._read_on(offset):
                return None

    def _read_on(self, offset: int) -> bool:
        chunk = self._cursor.chunk_of(offset)
        if chunk is None:
            raise MessageMissing(f"cursor {self._cursor.number}: message {offset} is not in the log")
        if chunk is not self._chunk or offset < self._reached:
            self._chunk, self._position, self._reached = chunk, chunk.start, 0
        end = min(chunk.end, self._safe())
        if self._position >= end:
            if end == chunk.end:
                raise MessageMissing(
                    f"cursor {self._cursor.number}: message {offset} is not where it should be, "
                    f"between positions {chunk.start} and {chunk.end}"
                )
            return False
        # Segments in the middle of a chunk without messages of this cursor may have been deleted.
        records = self._reader.read(self._position, _READ_AT_ONCE, end, gaps=True)
        if not records:
            self._position = end
        for record in records:
            self._position = record.end
            for one in records_in(record):
                first = offset_for(one.body, self._cursor.number) if one.kind == log_kinds.MESSAGES else None
                if first is not None and chunk.first <= first < chunk.next:
                    self._ahead.append(FoundRecord(first, first + one.count, one))
                    self._reached = first + one.count
        return True
