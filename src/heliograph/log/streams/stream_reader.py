"""Reading a stream from the files of a log, in any process on the machine: without a lock, while the server writes.

Theory of operation
1. The index (`stream_index`) says which offsets exist and between which positions of the log they lie. The server
   writes only what is safe, so what is read here stays valid even if the server crashes.
2. Records are found by scanning a chunk. Each has a check sum and its offset for each cursor, so the index is only a
   hint: a reader returns the offset that was asked for, or raises.
3. Meanwhile the server may move messages, and delete the segment in which they were. The index is updated soon after,
   and the reader tries again, for `_PATIENCE` seconds.
4. Progress resets that time: only a message that stays missing is LogDamaged.
"""

import os
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from heliograph.log.buffer_pool import BufferPool
from heliograph.log.errors import BadRecord, LogDamaged, OffsetAhead, OffsetGone
from heliograph.log.recovery import segment_end
from heliograph.log.segment import Segment, load, load_into, read_segment, segment_path
from heliograph.log.streams.stream_block import BLOCK_SIZE, BlockData, StreamBlock, block_of
from heliograph.log.streams.stream_index import Entry, PartitionIndex, read_description
from heliograph.log.streams.stream_parts import RawRecords, raw_records
from heliograph.log.streams.stream_source import StreamSource, StreamState

_PATIENCE = 5.0
"""Seconds for the index to follow after messages have moved."""
_PAUSE = 0.02
_LEAST_READ = 4096
_GAP = 64 << 10
"""Reading up to so many unneeded bytes is faster than a second read."""


_Stretch = tuple[Segment, int, int]
"""A segment, and two positions in it between which to search."""
_Found = TypeVar("_Found", StreamBlock, RawRecords)
_Look = Callable[[_Stretch, int, int, int], Iterator[_Found]]
"""Finds what a cursor has in a stretch, from an offset on and up to a stop."""


class StreamReader(StreamSource):
    """Reads one stream. To be used in one thread at a time; cheap to make."""

    def __init__(
        self,
        directory: Path | str,
        name: str,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """UnknownStream says which streams there are if the log has none of this name.

        `now` and `sleep` are used while the index has to follow messages that were moved.
        """
        self._now = now
        self._sleep = sleep
        self._directory = Path(directory)
        self.name = name
        self._indexes: dict[int, PartitionIndex] = {}
        self._files = _Files(self._directory)
        self.identity = str(self.describe().get("identity", ""))

    def describe(self) -> dict[str, Any]:
        """The server's description of the stream: name, filter, partitions, retention, whether it is configured."""
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

    def earliest(self, partition: int) -> int:
        """The oldest offset that is still there."""
        return self._index(partition).first

    def latest(self, partition: int) -> int:
        """The offset that the next message gets: all before it are safe."""
        return self._index(partition).next

    def size(self, partition: int) -> int:
        """Bytes of the records with the partition's messages."""
        return self._index(partition).bytes

    def state(self) -> StreamState:
        """Its identity and extents now."""
        told = self.describe()
        indexes = [self._index(partition) for partition in range(told["partitions"])]
        return StreamState(told.get("identity", ""), [(index.first, index.next) for index in indexes])

    def cursor(self, partition: int) -> int:
        """The number by which records name the partition."""
        return self._index(partition).cursor

    def offset_at(self, partition: int, time_ms: int) -> int:
        """The offset of the first message that came at this time, in milliseconds since 1970, or later."""
        index = self._index(partition)
        entry = index.entry_at(time_ms)
        if entry.time < time_ms:
            return index.next
        at, end = max(entry.first, index.first), min(entry.next, index.next)
        for block in self.blocks(partition, at, end):
            for place in block:
                if place.time >= time_ms:
                    return max(at, place.first)
        return end

    def _index(self, partition: int) -> PartitionIndex:
        index = self._indexes.get(partition)
        if index is None:
            index = self._indexes[partition] = PartitionIndex(self._directory, self.name, partition)
        else:
            index.refresh()
        return index

    def blocks(
        self,
        partition: int,
        offset: int,
        end: int | None = None,
        size: int = BLOCK_SIZE,
        pool: BufferPool | None = None,
    ) -> Iterator[StreamBlock]:
        """See StreamSource."""
        size = max(size, _LEAST_READ)

        def blocks_of(stretch: _Stretch, cursor: int, offset: int, stop: int) -> Iterator[StreamBlock]:
            segment, position, part_end = stretch
            while position < part_end and offset < stop:
                data = self._data_at(segment, position, part_end, size, pool)
                block = block_of(data, position, cursor, offset, stop)
                position += block.used
                if len(block):
                    offset = block.next
                    yield block

        return self._go_through(partition, offset, end, size, blocks_of)

    def raw_records(self, partition: int, offset: int, end: int | None, size: int) -> Iterator[RawRecords]:
        """The same records, not checked, as parts of files that are open until the next ones are asked for."""

        def records_in_stretch(stretch: _Stretch, cursor: int, offset: int, stop: int) -> Iterator[RawRecords]:
            segment, position, part_end = stretch
            descriptor, place = self._files.descriptor(segment), segment.place(position)
            yield raw_records(descriptor, place, place + part_end - position, position, cursor, offset, stop)

        return self._go_through(partition, offset, end, size, records_in_stretch)

    def _go_through(
        self, partition: int, offset: int, end: int | None, size: int, look: _Look[_Found]
    ) -> Iterator[_Found]:
        """Search the stretches of the log that have messages from an offset on. What is found tells the next offset."""
        give_up = 0.0
        while True:
            index = self._index(partition)
            self._check(partition, offset, index)
            stop = index.next if end is None else min(end, index.next)
            if offset >= stop:
                return
            before = offset
            entries = index.entries_from(offset)
            try:
                for found in self._found_in(entries, index.cursor, offset, stop, size, look):
                    yield found
                    offset = found.next
            except FileNotFoundError:
                pass
            if offset > before:
                give_up = 0.0
                continue
            # The chunk was moved or deleted: the index is updated soon.
            now = self._now()
            give_up = give_up or now + _PATIENCE
            if now > give_up:
                raise LogDamaged(
                    f"{self._directory}: message {offset} of stream {self.name}, partition {partition}, is not where "
                    f"it should be, between positions {entries[0].start} and {entries[0].end}",
                    entries[0].start,
                )
            self._sleep(_PAUSE)
            self._files.refresh()

    def _check(self, partition: int, offset: int, index: PartitionIndex) -> None:
        what = f"stream {self.name}, partition {partition}"
        if offset < index.first:
            raise OffsetGone(what, offset, index.first)
        if offset > index.next:
            raise OffsetAhead(what, offset, index.next)

    def _found_in(
        self, entries: list[Entry], cursor: int, offset: int, stop: int, size: int, look: _Look[_Found]
    ) -> Iterator[_Found]:
        """Go through chunks, up to the first one in which a message is not where it should be."""
        for start, end, next_ in _stretches(entries, size):
            for stretch in self._files.parts(start, end):
                try:
                    for found in look(stretch, cursor, offset, stop):
                        yield found
                        offset = found.next
                except BadRecord as bad:
                    raise stretch[0].damaged(bad) from None
                if offset >= stop:
                    return
            if offset < next_:
                return

    def _data_at(self, segment: Segment, position: int, end: int, size: int, pool: BufferPool | None) -> BlockData:
        descriptor, place, most = self._files.descriptor(segment), segment.place(position), end - position
        if pool is None:
            return load(descriptor, place, min(size, most), most)
        return load_into(pool, descriptor, place, min(size, most), most)


def _stretches(entries: list[Entry], size: int) -> Iterator[tuple[int, int, int]]:
    """Parts of the log to scan, in order: where they start and end, and the offset behind the last message.

    Chunks that lie close to each other, as those of several busy partitions do, are one, up to `size` bytes: they are
    read at once. A chunk ends with a record, so that nothing has to be read twice.
    """
    _, next_, start, end, _ = entries[0]
    for entry in entries[1:]:
        gap = max(_GAP, entry.end - entry.start)
        if not start <= entry.start <= end + gap or entry.end - start > size:
            yield start, end, next_
            start = end = entry.start
        next_, end = entry.next, max(end, entry.end)
    yield start, end, next_


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

    def parts(self, position: int, end: int) -> Iterator[_Stretch]:
        """Segments between two positions that are still there, each with what is to be read of it.

        FileNotFoundError if a segment has just gone.
        """
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
                    yield segment, position, stop
                    position = stop
                    continue
            if number == len(self._bases):
                return
            position = self._bases[number]  # the segments before it were deleted

    def _segment(self, base: int) -> Segment:
        found = self._known.get(base)
        if found is None:
            found = self._known[base] = read_segment(segment_path(self._directory, base))
        return found

    def descriptor(self, segment: Segment) -> int:
        """The file of a segment, opened if need be."""
        if self._open is None or self._open[0] != segment.base:
            self.close()
            self._open = segment.base, os.open(segment.path, os.O_RDONLY | os.O_CLOEXEC)
        return self._open[1]
