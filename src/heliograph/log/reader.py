"""Reading a log by position, in order, while another thread or process may be writing to it."""

import os
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path

from heliograph.common.bounded_dict import BoundedDict
from heliograph.log.errors import BadRecord, LogDamaged, PositionGone
from heliograph.log.record import Record
from heliograph.log.recovery import find_segments, segment_end, segment_spans
from heliograph.log.segment import Segment, scan_records

_LEAST_READ = 4096
_OPEN_FILES = 16
"""Number of segments, those used last, that `read` keeps open."""


class LogReader:
    """Reads the files of a log, which may belong to a living server: it takes no lock and writes nothing."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.files: list[Segment] = []
        """The segments as they were when last looked for, oldest first."""
        self._open = _OpenFiles(_OPEN_FILES)
        """Descriptors by base, the one used last at the end."""
        self.refresh()

    def refresh(self) -> None:
        """Look for segments that have come or gone."""
        self.files = find_segments(self._directory, known=self.files)
        for base in self._open.keys() - {segment.base for segment in self.files}:
            os.close(self._open.pop(base))

    def close(self) -> None:
        """Close the files that are kept open."""
        while self._open:
            os.close(self._open.popitem()[1])

    @property
    def start(self) -> int:
        """The oldest position that is still there."""
        return self.files[0].base if self.files else 0

    def segments(self, end: int) -> list[tuple[int, int]]:
        """Where each segment starts and ends, in a log that ends at `end`. What lies between two has been deleted."""
        return segment_spans(self.files, end)

    def records(self, position: int, end: int | None = None) -> Iterator[Record]:
        """The records from one that starts at `position` on, up to `end` or to where the log ends now.

        Starts of batches are left out. A record that is not whole ends the log if nothing follows; before `end`, or
        with another segment behind it, it is LogDamaged, as are positions that are in no segment.
        """
        while end is None or position < end:
            try:
                segment, known_end = self._find(position)
                file = segment.path.open("rb")
            except FileNotFoundError:
                self.refresh()  # it has been deleted
                continue
            with file:
                ends = [place for place in (known_end, end) if place is not None]
                stop = min(ends) if ends else segment.file_end()
                try:
                    yield from scan_records(file.fileno(), segment, position, stop)
                except BadRecord as bad:
                    if not ends:
                        return
                    if known_end is not None or not self._has_moved(bad.position, segment):
                        raise segment.damaged(bad) from None
                    stop = bad.position
            if end is None and known_end is None:
                return
            position = stop

    def read(self, position: int, limit: int, end: int, *, gaps: bool = False) -> list[Record]:
        """About `limit` bytes of records from one that starts at `position` on, at least one, and none behind `end`.

        For the server that writes the log: everything up to `end` has to be written already. With `gaps`, segments that
        are not there any more are passed over; there may be nothing left then.
        """
        records: list[Record] = []
        if gaps:
            position = self._at_or_behind(position)
        enough = min(position + max(limit, 1), end)
        while position < enough:
            try:
                segment, known_end = self._find(position)
                stop = end if known_end is None else min(known_end, end)
                for record in scan_records(self._descriptor(segment), segment, position, stop, max(limit, _LEAST_READ)):
                    records.append(record)
                    if record.end >= enough:
                        return records
                position = self._at_or_behind(stop) if gaps else stop
            except FileNotFoundError:
                self.refresh()  # it has been deleted
                if gaps:
                    position = self._at_or_behind(position)
            except BadRecord as bad:
                if known_end is not None or not self._has_moved(bad.position, segment):
                    raise segment.damaged(bad) from None
                position = bad.position
        return records

    def _find(self, position: int) -> tuple[Segment, int | None]:
        """The segment of a position, and where it ends (None: it is the newest one); PositionGone if there is none."""
        if not self.files or position < self.start:
            raise PositionGone(f"{self._directory}: position {position} is gone, the oldest one left is {self.start}")
        index = bisect_right(self.files, position, key=_base)
        segment = self.files[index - 1]
        if index == len(self.files):
            return segment, None
        following = self.files[index]
        end = segment_end(segment, following)
        if position >= end:
            raise LogDamaged.missing(self._directory, end, following.base)
        return segment, end

    def _at_or_behind(self, position: int) -> int:
        """The next position that is in a segment."""
        index = bisect_right(self.files, position, key=_base)
        if index < len(self.files) and (not index or position >= segment_end(self.files[index - 1], self.files[index])):
            return self.files[index].base
        return position

    def _has_moved(self, position: int, segment: Segment) -> bool:
        """Whether a position is in another segment by now: behind the newest that we knew, others may have come."""
        self.refresh()
        return self._find(position)[0] is not segment

    def _descriptor(self, segment: Segment) -> int:
        """The open file of a segment; the one that was not used for longest is closed for it."""
        descriptor = self._open.pop(segment.base, None)
        if descriptor is None:
            descriptor = os.open(segment.path, os.O_RDONLY | os.O_CLOEXEC)
        self._open[segment.base] = descriptor
        return descriptor


class _OpenFiles(BoundedDict[int, int]):
    """Descriptors by the start of their segments."""

    def dropped(self, key: int, value: int) -> None:
        """Close a file that has not been used for long."""
        os.close(value)


def _base(segment: Segment) -> int:
    return segment.base
