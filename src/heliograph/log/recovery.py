"""Finding the end of a log that may not have been closed properly.

Theory of operation
1. A server writes batches, and writes the first byte of a batch only after the batch before is on the disk. When it is
   killed, or the power fails, the last batch may be there in part, in any part: the disk does not write in order.
   Nothing of it has been acknowledged. So everything from the first bad record on is cut off: a *torn tail*.
2. Each batch starts with a record that says whether everything before it had been forced (`SYNCED`). A bad record with
   such a batch somewhere behind it was on the disk once, and its messages may have been acknowledged. That is *damage*:
   it is reported with its place, and never cut off or skipped.
3. Only the newest segment can have a torn tail. Older ones are checked when they are read.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

from heliograph.log.errors import BadRecord
from heliograph.log.record import ALIGNMENT, BATCH, HEADER_SIZE, SYNCED, Record, padded, read_record
from heliograph.log.segment import Segment, read_segment, scan_records, segment_files

# Length, kind, flags and the two zeros of a record that starts a synced batch, and where in a record they stand.
_SYNCED_BATCH = HEADER_SIZE.to_bytes(4, "little") + bytes((BATCH, SYNCED, 0, 0))
_LENGTH_AT = 4


@dataclass(frozen=True, slots=True)
class TornTail:
    """What was cut off the end of a log."""

    path: Path
    position: int
    """Where the log ends now."""
    lost: int
    """Bytes that were cut off."""
    why: str

    def __str__(self) -> str:
        return f"{self.path}: cut at position {self.position}, {self.lost} bytes of an unfinished batch ({self.why})"


@dataclass(frozen=True, slots=True)
class RecoveryResult:
    """What `recover` found."""

    segments: list[Segment]
    end: int
    """Position behind the last good record."""
    torn: TornTail | None


def find_segments(directory: Path, known: Iterable[Segment] = ()) -> list[Segment]:
    """The segments of a log, oldest first; BadSegment if one has no proper header. Those `known` are not read again."""
    by_path = {segment.path: segment for segment in known}
    segments = []
    for path in segment_files(directory):
        with suppress(FileNotFoundError):  # a living server has deleted it meanwhile
            segments.append(by_path.get(path) or read_segment(path))
    return segments


def segment_end(segment: Segment, following: Segment) -> int:
    """Where a segment ends that is not the newest one."""
    if following.previous == segment.base:
        return following.base
    return min(segment.file_end(), following.base)  # the segment that followed has been deleted


def segment_spans(segments: list[Segment], end: int) -> list[tuple[int, int]]:
    """Where each segment starts and ends, in a log that ends at `end`. What lies between two has been deleted."""
    spans = [(segment.base, segment_end(segment, following)) for segment, following in pairwise(segments)]
    return [*spans, (segments[-1].base, end)] if segments else []


def recover(segments: list[Segment], on_record: Callable[[Record], None] = lambda record: None) -> RecoveryResult:
    """Go through the newest segment and find where the log ends; LogDamaged if what was safe goes on behind that."""
    if not segments:
        return RecoveryResult([], 0, None)
    last = segments[-1]
    file_end = last.file_end()
    with last.path.open("rb") as file:
        try:
            for record in scan_records(file.fileno(), last, last.base, file_end):
                on_record(record)
        except BadRecord as bad:
            return RecoveryResult(segments, bad.position, _judge(last, file, bad))
    return RecoveryResult(segments, padded(file_end), None)


def _judge(segment: Segment, file: BinaryIO, bad: BadRecord) -> TornTail | None:
    """What a bad record in the newest segment is: LogDamaged, a torn tail, or None if there is nothing to lose."""
    file.seek(segment.place(bad.position))
    left = file.read()
    if _synced_batch_behind(left, bad.position):
        raise segment.damaged(bad) from None
    return TornTail(segment.path, bad.position, len(left), str(bad)) if left.strip(b"\0") else None


def _synced_batch_behind(data: bytes, position: int) -> bool:
    """Whether behind the bad record that `data` starts with a batch begins that was written when that was safe."""
    found = data.find(_SYNCED_BATCH, ALIGNMENT + _LENGTH_AT)
    while found >= 0:
        start = found - _LENGTH_AT
        try:
            record = read_record(data, start, position + start)
        except BadRecord:
            pass
        else:
            # A batch says where it stands: one that a message happens to contain, or that is left over in a block of
            # the disk from another file, stands elsewhere.
            if record.offset == record.position:
                return True
        found = data.find(_SYNCED_BATCH, found + 1)
    return False
