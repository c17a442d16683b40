"""Reading back: everything once when a log is opened, and a piece at a time while it is written."""

import os

import pytest

from heliograph.log import reader
from heliograph.log.errors import LogDamaged
from heliograph.log.reader import LogReader
from heliograph.log.segment import SEGMENT_HEADER_SIZE, segment_files
from log.watched_log import WatchedLog, bases, bodies, fill


def drain(log: WatchedLog, position: int, limit: int) -> list[bytes]:
    """Everything from a position on, a piece at a time."""
    found = []
    while records := log.reader.read(position, limit, log.safe):
        found += [record.body for record in records]
        position = records[-1].end
    return found


# -- opening ----------------------------------------------------------------------------------------------------------


def test_opening_hands_out_every_record_in_order(open_log) -> None:
    log = open_log(segment_size=1000)
    positions = fill(log, 50)
    log.close()
    found = []
    open_log(segment_size=1000, on_record=found.append)
    assert [record.position for record in found] == positions
    assert [record.body for record in found] == [b"%03d" % n * 30 for n in range(50)]


def test_opening_hands_out_nothing_of_a_torn_tail(open_log) -> None:
    log = open_log()
    fill(log, 3)
    log.close()
    path = segment_files(log.directory)[-1]
    path.write_bytes(path.read_bytes()[:-10])
    found = []
    again = open_log(on_record=found.append)
    assert [record.body for record in found] == [b"000" * 30, b"001" * 30] == bodies(again)
    assert again.torn is not None
    assert again.end == found[-1].end + 40  # the start of the last batch is whole


def test_a_server_that_cannot_take_a_record_leaves_the_log_to_others(open_log) -> None:
    log = open_log()
    fill(log, 1)
    log.close()

    def refuse(record: object) -> None:
        raise LookupError

    with pytest.raises(LookupError):
        open_log(on_record=refuse)
    assert len(bodies(open_log())) == 1


# -- a piece at a time ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [0, 1, 300, 5000, 1 << 20])
def test_reading_by_pieces_finds_everything(open_log, limit: int) -> None:
    log = open_log(segment_size=1000)
    fill(log, 50)
    assert drain(log, 0, limit) == [b"%03d" % n * 30 for n in range(50)]


def test_a_piece_is_about_as_large_as_asked_for_and_at_least_one_record(open_log) -> None:
    log = open_log()
    large = os.urandom(100_000)
    for _ in range(10):
        log.append(1, b"x" * 92)  # with its header 128 bytes
    log.append(1, large)
    end = log.flush()
    assert len(log.reader.read(40, 1, end)) == 1
    assert len(log.reader.read(40, 5 * 128, end)) == 5
    assert [record.body for record in log.reader.read(40 + 10 * 128, 1, end)] == [large]
    assert log.reader.read(end, 1000, end) == []


def test_nothing_behind_the_end_is_read(open_log) -> None:
    log = open_log()
    positions = fill(log, 10)
    found = log.reader.read(0, 1 << 20, positions[4])
    assert [record.position for record in found] == positions[:4]


def test_segments_that_come_while_reading_are_found(open_log) -> None:
    log = open_log(segment_size=1000)
    fill(log, 2)
    assert len(drain(log, 0, 1000)) == 2
    fill(log, 30)
    assert len(drain(log, 0, 1000)) == 32
    assert len(list(log.reader.records(0, log.safe))) == 32


def test_only_some_files_are_kept_open(open_log, monkeypatch) -> None:
    monkeypatch.setattr(reader, "_OPEN_FILES", 3)
    log = open_log(segment_size=200)
    fill(log, 20)
    before = len(os.listdir("/proc/self/fd"))
    assert len(drain(log, 0, 1000)) == 20
    assert len(os.listdir("/proc/self/fd")) == before + 3
    log.reader.close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_files_of_deleted_segments_are_let_go(open_log) -> None:
    log = open_log(segment_size=1000)
    fill(log, 30)
    drain(log, 0, 1000)
    second = log.segments()[1]
    log.delete([second[0]])
    assert not any("(deleted)" in os.readlink(f"/proc/self/fd/{fd}") for fd in log.reader._open.values())
    with pytest.raises(LogDamaged, match=f"positions {second[0]} to {second[1]} are missing"):
        drain(log, 0, 1000)
    assert len(drain(log, bases(log)[1], 1000)) > 10


def test_another_reader_notices_that_a_segment_has_been_deleted(open_log) -> None:
    log = open_log(segment_size=1000)
    fill(log, 30)
    other = LogReader(log.directory)
    second = log.segments()[1]
    log.delete([second[0]])
    for read in (lambda: list(other.records(second[0])), lambda: other.read(second[0], 100, log.safe)):
        with pytest.raises(LogDamaged, match=f"positions {second[0]} to {second[1]} are missing"):
            read()
    other.close()


def test_a_damaged_record_is_never_handed_out(open_log) -> None:
    log = open_log()
    positions = fill(log, 5)
    path = segment_files(log.directory)[0]
    raw = bytearray(path.read_bytes())
    raw[SEGMENT_HEADER_SIZE + positions[2] + 50] ^= 1
    path.write_bytes(raw)
    assert len(log.reader.read(0, 1 << 20, positions[2])) == 2
    with pytest.raises(LogDamaged, match="check sum") as raised:
        log.reader.read(0, 1 << 20, log.safe)
    assert raised.value.position == positions[2]
