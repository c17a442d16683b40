"""Reading a log: by position, in order, while somebody else may be writing to it."""

from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from heliograph.errors import Problem
from heliograph.log.record import HEADER_SIZE, BadRecord, Record, read_record, record_room
from heliograph.log.recovery import Damage, find_segments
from heliograph.log.segment import Segment

_READ_AT_ONCE = 1 << 20


class LogReader:
    """Reads the files of a log, which may belong to a living server: it takes no lock and writes nothing."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._segments: list[Segment] = []
        self.refresh()

    def refresh(self) -> None:
        """Look for segments that have come or gone."""
        self._segments = find_segments(self._directory)

    @property
    def start(self) -> int:
        """The oldest position that is still there."""
        return self._segments[0].base if self._segments else 0

    def records(self, position: int, end: int | None = None) -> Iterator[Record]:
        """The records from one that starts at `position` on, up to `end` or to where the log ends now.

        Starts of batches are left out. A record that is not whole ends the log if nothing follows; before `end`, or
        with another segment behind it, it is Damage.
        """
        if position < self.start:
            raise Problem(f"{self._directory}: position {position} is gone, the oldest one left is {self.start}")
        index = max(0, bisect_right(self._segments, position, key=lambda segment: segment.base) - 1)
        for at, segment in enumerate(self._segments[index:], index):
            following = self._segments[at + 1].base if at + 1 < len(self._segments) else None
            stop = following if end is None or (following is not None and following < end) else end
            for record in _records_of(segment, max(position, segment.base), stop):
                position = record.end
                if record.kind:
                    yield record
            if end is not None and position >= end:
                return


def _records_of(segment: Segment, position: int, stop: int | None) -> Iterator[Record]:
    """The records of one segment, up to `stop`; without one, as far as there are whole records."""
    with segment.path.open("rb") as file:
        data, at = b"", 0
        while stop is None or position < stop:
            if (at and not _is_whole(data, at)) or not data:
                data, at = _load(file, segment.place(position), None if stop is None else stop - position), 0
            try:
                record = read_record(data, at, position)
            except BadRecord as bad:
                if stop is None:
                    return
                raise Damage(segment.path, position, segment.place(position), str(bad)) from None
            yield record
            at += record.end - position
            position = record.end


def _is_whole(data: bytes, at: int) -> bool:
    return len(data) - at >= max(HEADER_SIZE, record_room(data, at))


def _load(file: BinaryIO, place: int, most: int | None) -> bytes:
    """A good deal of the file from a record on, at least that record.

    No more than `most`: behind that may be what a server wrote before it stopped trusting the file.
    """
    file.seek(place)
    data = file.read(_READ_AT_ONCE if most is None else min(_READ_AT_ONCE, most))
    room = record_room(data, 0)
    if room > len(data):
        data += file.read(room - len(data) if most is None else min(room, most) - len(data))
    return data
