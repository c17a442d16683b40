"""Finding the end of a log that may not have been closed properly.

A server writes in batches, and each batch only after the one before is on the disk. When it is killed, or the power
goes, the last batch may be there in part, in any part: the disk does not write in order. None of it has been
acknowledged, so all from the first bad record on is cut off: a *torn tail*.

A bad record with a synced batch somewhere behind it is another thing: it was on the disk once, its messages may have
been acknowledged, and now it is gone. That is *damage*. It is reported with its place and never cut off or skipped.
"""

from dataclasses import dataclass
from pathlib import Path

from heliograph.errors import Problem
from heliograph.log.record import ALIGNMENT, BATCH, SYNCED, BadRecord, read_record
from heliograph.log.segment import SEGMENT_HEADER_SIZE, Segment, read_segment, segment_files

# Kind, flags and the two zeros of a record that starts a synced batch, and where in a record they stand.
_SYNCED_BATCH = bytes((BATCH, SYNCED, 0, 0))
_KIND_AT = 8


@dataclass(frozen=True, slots=True)
class Torn:
    """What was cut off the end of a log."""

    path: Path
    position: int
    """Where the log ends now."""
    lost: int
    """Bytes that followed."""
    why: str

    def __str__(self) -> str:
        return f"{self.path}: cut at position {self.position}, {self.lost} bytes of an unfinished batch ({self.why})"


class Damage(Problem):
    """A record that had been safe is no longer readable."""

    def __init__(self, path: Path, position: int, place: int, why: str) -> None:
        super().__init__(f"{path}: damaged at byte {place} (position {position}): {why}")
        self.position = position


@dataclass(frozen=True, slots=True)
class Recovered:
    """A log as it was found."""

    segments: list[Segment]
    end: int
    """Position behind the last good record."""
    torn: Torn | None


def find_segments(directory: Path) -> list[Segment]:
    """The segments of a log, oldest first; the newest is left out if its header never got finished."""
    segments: list[Segment] = []
    paths = segment_files(directory)
    for path in paths:
        try:
            segments.append(read_segment(path))
        except Problem:
            # A header is on the disk before its segment gets its first record: without one there is nothing to lose.
            if path is not paths[-1] or path.stat().st_size > SEGMENT_HEADER_SIZE:
                raise
    return segments


def recover(directory: Path) -> Recovered:
    """Look at the newest segment and find where the log ends; Damage if that is in the middle of what was safe."""
    segments = find_segments(directory)
    if not segments:
        return Recovered([], 0, None)
    last = segments[-1]
    data = last.path.read_bytes()
    position, at = last.base, SEGMENT_HEADER_SIZE
    while at < len(data):
        try:
            record = read_record(data, at, position)
        except BadRecord as bad:
            if _synced_batch_behind(data, at, position):
                raise Damage(last.path, position, at, str(bad)) from None
            left = data[at:]
            torn = Torn(last.path, position, len(left), str(bad)) if left.strip(b"\0") else None
            return Recovered(segments, position, torn)
        at += record.end - position
        position = record.end
    return Recovered(segments, position, None)


def _synced_batch_behind(data: bytes, at: int, position: int) -> bool:
    """Whether somewhere behind a bad record a batch starts that was written when the bad one was safe."""
    found = data.find(_SYNCED_BATCH, at + ALIGNMENT)
    while found >= 0:
        start = found - _KIND_AT
        try:
            record = read_record(data, start, position + start - at)
        except BadRecord:
            pass
        else:
            # A batch says where it stands: one that a message happens to contain, or that is left over in a block of
            # the disk from another file, stands elsewhere.
            if record.offset == record.position:
                return True
        found = data.find(_SYNCED_BATCH, found + 1)
    return False
