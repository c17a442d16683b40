"""The index of a stream: what a server writes, and what readers find while it is written."""

import os

import pytest

from heliograph.log.cursor import Cursor
from heliograph.log.errors import IndexDamaged, NotWritable, UnknownStream
from heliograph.log.streams import stream_index
from heliograph.log.streams.stream_index import (
    PartitionIndex,
    PartitionIndexWriter,
    delete_index,
    read_description,
    stream_names,
    write_description,
)


@pytest.fixture
def writer(tmp_path):
    write_description(tmp_path, "s", {"stream": "s", "partitions": 1})
    writer = PartitionIndexWriter(tmp_path, "s", 0, Cursor(7))
    yield writer
    writer.close()


def grow(cursor: Cursor, chunks: int) -> None:
    """More messages, ten to a chunk, each chunk a second later."""
    for _ in range(chunks):
        at = cursor.next // 10
        cursor.add(10, at << 20, (at << 20) + 500, 1000 * at, 500)


def written(writer: PartitionIndexWriter, directory) -> PartitionIndex:
    writer.take()
    writer.write()
    return PartitionIndex(directory, "s", 0)


def path_of(directory):
    return directory / "streams" / "s" / "0.index"


def test_readers_find_the_chunks_of_offsets_and_times(writer, tmp_path) -> None:
    grow(writer.cursor, 5)
    index = written(writer, tmp_path)
    assert (index.cursor, index.first, index.next, index.bytes) == (7, 0, 50, 2500)
    assert [(entry.first, entry.next) for entry in index.entries_from(23)] == [(20, 30), (30, 40), (40, 50)]
    assert index.entries_from(50)[0].first == 40
    assert [index.entry_at(time).first for time in (0, 1500, 4000, 9000)] == [0, 20, 40, 40]
    index.close()


def test_an_empty_partition_has_one_empty_entry(writer, tmp_path) -> None:
    index = written(writer, tmp_path)
    assert (index.first, index.next, index.entries_from(0)) == (0, 0, [(0, 0, 0, 0, 0)])
    index.close()


def test_only_news_is_written_and_only_entries_that_are_new(writer, tmp_path) -> None:
    grow(writer.cursor, 3)
    index = written(writer, tmp_path)
    assert not writer.take()
    before = path_of(tmp_path).stat()
    grow(writer.cursor, 2)
    assert writer.take()
    writer.write()
    writer.write()  # nothing is left to be written
    after = path_of(tmp_path).stat()
    assert (after.st_ino, after.st_size - before.st_size) == (before.st_ino, 2 * 40)
    index.refresh()
    assert index.next == 50
    index.close()


def test_a_new_file_takes_the_place_of_one_with_many_entries_of_old_chunks(writer, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(stream_index, "_GONE_MOST", 3)
    grow(writer.cursor, 9)
    index = written(writer, tmp_path)
    before = path_of(tmp_path).stat().st_ino
    writer.cursor.acknowledge(0, 70)
    writer.take()
    writer.write()
    assert path_of(tmp_path).stat().st_ino != before
    index.refresh()
    assert (index.first, index.entries_from(75)[0].first) == (70, 70)
    index.close()


def test_when_chunks_have_moved_all_entries_are_written_again(writer, tmp_path) -> None:
    grow(writer.cursor, 4)
    index = written(writer, tmp_path)
    writer.cursor.move(0, 10, (0, 500), 9 << 20, (9 << 20) + 500, 500)
    writer.take()
    writer.write()
    index.refresh()
    assert index.entries_from(0)[0].start == 9 << 20
    index.close()


def test_without_room_the_index_follows_later(writer, tmp_path, monkeypatch) -> None:
    grow(writer.cursor, 2)
    index = written(writer, tmp_path)
    grow(writer.cursor, 1)
    writer.take()
    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", lambda *_: (_ for _ in ()).throw(OSError(28, "no space")))
        writer.write()
    assert writer.take()
    writer.write()
    index.refresh()
    assert index.next == 30
    index.close()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda data: data[:50], "damaged; it is made anew"),
        (lambda data: data[:20] + b"x" + data[21:], "damaged; it is made anew"),
    ],
    ids=["cut", "another byte"],
)
def test_a_damaged_index_is_not_read(writer, tmp_path, damage, said) -> None:
    written(writer, tmp_path).close()
    path_of(tmp_path).write_bytes(damage(path_of(tmp_path).read_bytes()))
    with pytest.raises(IndexDamaged, match=said):
        PartitionIndex(tmp_path, "s", 0)


def test_a_file_of_something_else_is_no_index(writer, tmp_path) -> None:
    written(writer, tmp_path).close()
    data = path_of(tmp_path).read_bytes()
    head = b"SOMETHNG" + data[8 : stream_index._HEADER.size]
    path_of(tmp_path).write_bytes(head + stream_index._CRC.pack(stream_index.google_crc32c.value(head)))
    with pytest.raises(IndexDamaged, match="no index of a stream, it starts with b'SOMETHNG'"):
        PartitionIndex(tmp_path, "s", 0)


def test_entries_that_are_missing_are_damage(writer, tmp_path) -> None:
    grow(writer.cursor, 5)
    index = written(writer, tmp_path)
    os.truncate(path_of(tmp_path), stream_index._HEADER_SIZE + 40)
    with pytest.raises(IndexDamaged):
        index.entries_from(0)
    with pytest.raises(IndexDamaged):
        index.entry_at(2500)
    index.close()


def test_streams_are_known_by_their_description(tmp_path) -> None:
    write_description(tmp_path, "b", {"stream": "b"})
    write_description(tmp_path, "a", {"stream": "a"})
    assert stream_names(tmp_path) == ["a", "b"]
    assert read_description(tmp_path, "a") == {"stream": "a"}
    delete_index(tmp_path, "a")
    with pytest.raises(UnknownStream, match='unknown stream "a"; streams are: b'):
        read_description(tmp_path, "a")
    delete_index(tmp_path, "b")
    delete_index(tmp_path, "b")
    with pytest.raises(UnknownStream, match="there are no streams"):
        read_description(tmp_path, "b")


def test_a_partition_that_is_not_there_is_unknown(writer, tmp_path) -> None:
    with pytest.raises(UnknownStream, match="stream s: no partition 0"):
        PartitionIndex(tmp_path, "s", 0)


def test_a_description_that_cannot_be_written_is_a_problem_with_a_place(tmp_path) -> None:
    (tmp_path / "streams").write_text("no folder")
    with pytest.raises(NotWritable, match="streams/s: "):
        write_description(tmp_path, "s", {})
