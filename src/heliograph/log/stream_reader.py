"""Reading a stream from the files of a log, in any process on the machine: without a lock, while the server writes.

Theory of operation
1. The index (`stream_index`) says which offsets there are and between which positions of the log they lie. The server
   writes there only what is safe, so all that can be read here stays true whatever happens to the server.
2. Records are found by going through a chunk. Each has a check sum and says which offset it has for which cursor, so
   the index is only a hint: what is returned has the offset that was asked for, or there is an error.
3. Meanwhile the server may move messages to another place, and delete the segment they were in. Then the index says
   soon where they are now, and the reader looks again.
"""

import os
import time
from bisect import bisect_right
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Self

from heliograph.log import kinds
from heliograph.log.group import records_in
from heliograph.log.messages import offset_for
from heliograph.log.record import BadRecord, Record
from heliograph.log.recovery import Damage, segment_end
from heliograph.log.scan import scan
from heliograph.log.segment import Segment, read_segment, segment_path
from heliograph.log.stream_index import Entry, PartitionIndex, read_description
from heliograph.log.stream_span import LIMIT_BYTES, OffsetAhead, OffsetGone, StreamSource, StreamSpan, span_of

_PATIENCE = 5.0
"""Seconds for the index to follow after messages have moved."""
_PAUSE = 0.02


class Stored(NamedTuple):
    """A record with messages of the partition, the first of which has this offset."""

    first: int
    record: Record


class StreamReader(StreamSource):
    """Reads one stream. To be used in one thread at a time; cheap to make."""

    def __init__(self, directory: Path | str, name: str) -> None:
        """UnknownStream says which streams there are if the log has none of this name."""
        self._directory = Path(directory)
        self.name = name
        self._indexes: dict[int, PartitionIndex] = {}
        self._files = _Files(self._directory)
        self.describe()

    def describe(self) -> dict[str, Any]:
        """What the server says of the stream: name, filter, partitions, retention, whether it is configured."""
        return read_description(self._directory, self.name)

    @property
    def partitions(self) -> int:
        """How many partitions there are, numbered from 0."""
        return int(self.describe()["partitions"])

    def close(self) -> None:
        """Close all files."""
        for index in self._indexes.values():
            index.close()
        self._indexes.clear()
        self._files.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def earliest(self, partition: int) -> int:
        """The oldest offset that is still there."""
        return self._index(partition).first

    def latest(self, partition: int) -> int:
        """The offset that the next message gets: all before it are safe."""
        return self._index(partition).next

    def size(self, partition: int) -> int:
        """Bytes of the records with the partition's messages."""
        return self._index(partition).bytes

    def cursor(self, partition: int) -> int:
        """The number by which records name the partition."""
        return self._index(partition).cursor

    def offset_at(self, partition: int, time_ms: int) -> int:
        """The offset of the first message that came at this time, in milliseconds since 1970, or later."""
        index = self._index(partition)
        entry = index.entry_at(time_ms)
        if entry.time < time_ms:
            return index.next
        at = max(entry.first, index.first)
        while at < min(entry.next, index.next):
            for stored in self._stored(partition, at, limit_bytes=LIMIT_BYTES):
                if stored.record.time >= time_ms:
                    return max(at, stored.first)
                at = stored.first + stored.record.count
        return at

    def read(
        self, partition: int, offset: int, *, limit_messages: int | None = None, limit_bytes: int = LIMIT_BYTES
    ) -> list[StreamSpan]:
        """See StreamSource."""
        spans: list[StreamSpan] = []
        end = None if limit_messages is None else offset + limit_messages
        for stored in self._stored(partition, offset, end, limit_bytes):
            span = span_of(stored.record, stored.first)
            spans.append(span.part(offset, span.next if end is None else end))
        return spans

    def records(
        self, partition: int, offset: int, *, limit_messages: int | None = None, limit_bytes: int = LIMIT_BYTES
    ) -> tuple[list[Record], int]:
        """The same as the log has it: records with these messages, and the offset behind the last.

        The first may have messages before the offset too, the last some that are behind the limit.
        """
        end = None if limit_messages is None else offset + limit_messages
        found = self._stored(partition, offset, end, limit_bytes)
        return [stored.record for stored in found], found[-1].first + found[-1].record.count if found else offset

    def _index(self, partition: int) -> PartitionIndex:
        index = self._indexes.get(partition)
        if index is None:
            index = self._indexes[partition] = PartitionIndex(self._directory, self.name, partition)
        else:
            index.refresh()
        return index

    def _stored(
        self, partition: int, offset: int, end: int | None = None, limit_bytes: int = LIMIT_BYTES
    ) -> list[Stored]:
        """Records with the messages from an offset on, up to `end` or the latest one; at least one if there is any."""
        give_up = 0.0
        while True:
            index = self._index(partition)
            self._check(partition, offset, index)
            stop = index.next if end is None else min(end, index.next)
            if offset >= stop:
                return []
            entry = index.entry_of(offset)
            try:
                found = self._collect(index, entry, offset, stop, limit_bytes)
            except FileNotFoundError:
                found = []
            if found:
                return found
            # The chunk has been moved or deleted: the index will say so.
            now = time.monotonic()
            give_up = give_up or now + _PATIENCE
            if now > give_up:
                raise Damage(
                    f"{self._directory}: message {offset} of stream {self.name}, partition {partition}, is not where "
                    f"it should be, between positions {entry.start} and {entry.end}",
                    entry.start,
                )
            time.sleep(_PAUSE)
            self._files.refresh()

    def _check(self, partition: int, offset: int, index: PartitionIndex) -> None:
        what = f"stream {self.name}, partition {partition}"
        if offset < index.first:
            raise OffsetGone(what, offset, index.first)
        if offset > index.next:
            raise OffsetAhead(what, offset, index.next)

    def _collect(self, index: PartitionIndex, entry: Entry, offset: int, stop: int, limit_bytes: int) -> list[Stored]:
        """Go through chunks from one on; what was found before the first message that is not there."""
        found: list[Stored] = []
        size = 0
        while True:
            before = offset
            for record in chain.from_iterable(map(records_in, self._files.records(entry.start, entry.end))):
                first = offset_for(record.body, index.cursor) if record.kind == kinds.MESSAGES else None
                if first is None or not first <= offset < first + record.count:
                    continue  # for others, or of another chunk
                found.append(Stored(first, record))
                offset = first + record.count
                size += len(record.body)
                if offset >= stop or size >= limit_bytes:
                    return found
            if offset == before or offset < entry.next:
                return found
            entry = index.entry_of(offset)


class _Files:
    """The segments of a log, of which only those are opened that are needed."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._known: dict[int, Segment] = {}
        self._open: tuple[int, int] | None = None
        """Base and descriptor of the segment used last."""
        self.refresh()

    def refresh(self) -> None:
        """Look for segments that have come or gone."""
        names = os.listdir(self._directory)
        self._bases = sorted(int(name[:-4]) for name in names if name.endswith(".log") and name[:-4].isdigit())

    def close(self) -> None:
        """Close the file that is open."""
        if self._open is not None:
            os.close(self._open[1])
            self._open = None

    def records(self, position: int, end: int) -> Iterator[Record]:
        """All records between two positions that are still there; FileNotFoundError if a segment has just gone."""
        if not self._bases or end > self._bases[-1]:
            self.refresh()  # there may be a newer segment than we know of
        while position < end:
            number = bisect_right(self._bases, position)
            if number:
                segment = self._segment(self._bases[number - 1])
                stop = end
                if number < len(self._bases):
                    stop = min(end, segment_end(segment, self._segment(self._bases[number])))
                if position < stop:
                    try:
                        yield from scan(self._descriptor(segment), segment, position, stop, block=256 << 10)
                    except BadRecord as bad:
                        raise Damage.in_segment(segment, bad) from None
                    position = stop
                    continue
            if number == len(self._bases):
                return
            position = self._bases[number]  # what is before it has been deleted

    def _segment(self, base: int) -> Segment:
        found = self._known.get(base)
        if found is None:
            found = self._known[base] = read_segment(segment_path(self._directory, base))
        return found

    def _descriptor(self, segment: Segment) -> int:
        if self._open is None or self._open[0] != segment.base:
            self.close()
            self._open = segment.base, os.open(segment.path, os.O_RDONLY | os.O_CLOEXEC)
        return self._open[1]
