"""A stream read from the files of a log, while the server writes, moves messages and deletes them."""

import os

import pytest

from heliograph.errors import InvalidInput
from heliograph.log.buffer_pool import BufferPool
from heliograph.log.errors import LogDamaged, OffsetAhead, OffsetGone, UnknownStream
from heliograph.log.streams.stream_index import PartitionIndexWriter, write_description
from heliograph.log.streams.stream_reader import StreamReader
from heliograph.log.streams.stream_span import span_at
from log.recording_logs import RecordingLog


class Stream:
    """A stream with one partition, whose index is written after every step."""

    def __init__(self, recorded: RecordingLog) -> None:
        self.recorded = recorded
        self.log = recorded.message_log
        self.cursor = self.log.new_cursor()
        write_description(recorded.directory, "s", {"stream": "s", "partitions": 1, "identity": "one"})
        self.writer = PartitionIndexWriter(recorded.directory, "s", 0, self.cursor)
        self.index()

    def index(self) -> None:
        self.log.wait()
        self.writer.take()
        self.writer.write()

    def publish(self, *payloads: bytes) -> None:
        for payload in payloads:
            self.recorded.store([self.cursor], [payload])
            self.log.wait()
        self.index()


@pytest.fixture
def stream(recorded):
    stream = Stream(recorded)
    yield stream
    stream.writer.close()


@pytest.fixture
def reader(stream):
    with StreamReader(stream.recorded.directory, "s") as opened:
        yield opened


def payloads(reader: StreamReader, offset: int = 0, limit: int | None = None) -> list[bytes]:
    return [message.payload for message in reader.messages(0, offset, limit)]


def test_messages_are_read_from_any_offset_on(stream, reader) -> None:
    stream.publish(*[b"%d" % n for n in range(30)])
    assert payloads(reader, 27) == [b"27", b"28", b"29"]
    assert payloads(reader, 3, 2) == [b"3", b"4"]
    assert payloads(reader, 30) == []
    assert (reader.partitions, reader.earliest(0), reader.latest(0), reader.identity) == (1, 0, 30, "one")
    assert reader.state() == ("one", [(0, 30)])
    assert reader.extents() == [(0, 30)]
    assert (reader.cursor(0), reader.size(0)) == (stream.cursor.number, stream.cursor.bytes)


def test_a_limit_of_bytes_ends_what_is_read_after_the_span_that_reaches_it(stream, reader) -> None:
    stream.publish(*[bytes(100)] * 10)
    assert sum(span.count for span in reader.read(0, 0, limit_bytes=250)) == 2
    assert sum(span.count for span in reader.read(0, 0, limit_messages=3)) == 3


def test_offsets_that_are_gone_or_ahead_are_told_apart(stream, reader) -> None:
    stream.publish(b"a", b"b", b"c")
    stream.log.acknowledge(stream.cursor, 0, 2)
    stream.index()
    with pytest.raises(OffsetGone, match="offset 1 is gone, the earliest one left is 2") as gone:
        reader.read(0, 1)
    assert (gone.value.offset, gone.value.earliest) == (1, 2)
    with pytest.raises(OffsetAhead, match="offset 4 is ahead of the stream, the next message gets 3") as ahead:
        reader.read(0, 4)
    assert isinstance(ahead.value, InvalidInput)


def test_messages_are_found_after_compaction(stream, reader) -> None:
    stream.publish(*[b"%d" % n + bytes(300) for n in range(40)])
    other = stream.log.new_cursor()
    stream.log.acknowledge(stream.cursor, 0, 35)
    stream.recorded.maintenance.compact()
    stream.index()
    assert [payload[:2] for payload in payloads(reader, 35)] == [b"35", b"36", b"37", b"38", b"39"]
    stream.log.drop_cursor(other)


def test_a_time_is_an_offset(stream) -> None:
    now = [1000.0]
    directory = stream.recorded.directory.with_name("timed")
    timed = Stream(RecordingLog(directory, wall=lambda: now[0]))
    for _ in range(5):
        timed.publish(b"x")
        now[0] += 10
    with StreamReader(directory, "s") as reader:
        assert [reader.offset_at(0, time) for time in (0, 1_000_000, 1_000_001, 1_040_000, 2_000_000)] == [
            0,
            0,
            1,
            4,
            5,
        ]
    timed.writer.close()
    timed.recorded.close()


def test_an_index_that_never_follows_is_damage(stream) -> None:
    stream.publish(b"a")
    chunk = stream.cursor.chunks[0]
    chunk.start, chunk.end = 0, chunk.start  # where only the cursor itself was written
    stream.cursor.moves += 1
    stream.index()
    clock, slept = iter(range(100)), []
    reader = StreamReader(stream.recorded.directory, "s", now=lambda: next(clock), sleep=slept.append)
    with reader, pytest.raises(LogDamaged, match="message 0 of stream s, partition 0, is not where it should be"):
        reader.read(0, 0)
    assert len(slept) > 3


def test_raw_records_are_parts_of_files_with_the_same_messages(stream, reader) -> None:
    stream.publish(*[b"%d" % n for n in range(5)])
    found = list(reader.raw_records(0, 2, None, 1 << 20))
    assert found[-1].next == 5
    whole = b"".join(
        os.pread(piece.descriptor, piece.size, piece.place) if hasattr(piece, "place") else bytes(piece)
        for records in found
        for piece in records.pieces
    )
    assert [b"head%d" % n in whole for n in range(5)] == [False, False, True, True, True]


def test_a_stream_that_is_not_there_is_unknown(stream) -> None:
    with pytest.raises(UnknownStream, match='unknown stream "t"; streams are: s'):
        StreamReader(stream.recorded.directory, "t")


@pytest.mark.parametrize("size", [4096, 1 << 20])
def test_blocks_in_a_pool_have_the_same_records_as_others(stream, reader, size: int) -> None:
    sizes = [10, 3000, 9000, 0, 20_000, 7]  # some are larger than what is read at a time
    stream.publish(*[bytes([65 + n]) * size for n, size in enumerate(sizes)])
    pool, found = BufferPool(1 << 20), []
    for block in reader.blocks(0, 0, None, size, pool):
        found += [payload for place in block for payload in span_at(block, place).payloads]
        pool.clear()
    assert found == payloads(reader)
