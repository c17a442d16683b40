"""The log is cut into files: when a new one begins, where to replay from, and what happens when old ones go."""

import struct
from pathlib import Path

import google_crc32c
import pytest

from heliograph.errors import Problem
from heliograph.log.errors import LogDamaged
from heliograph.log.segment import SEGMENT_HEADER_SIZE, create_segment, read_segment, segment_files, segment_path
from log.watched_log import bases, bodies, fill


def test_the_bytes_of_a_header_are_as_documented(tmp_path: Path) -> None:
    segment, descriptor = create_segment(tmp_path, 800, epoch=3, replay=160, previous=400)
    with open(descriptor, "rb"):
        raw = segment.path.read_bytes()
    fields = struct.pack("<8sHHIQQQI", b"HELIOLOG", 2, 0, 3, 800, 160, 400, 0)
    assert raw == fields + struct.pack("<I", google_crc32c.value(fields))
    assert segment.path.name == "00000000000000000800.log"
    assert read_segment(segment.path) == segment


def test_a_full_segment_is_followed_by_another(open_log) -> None:
    log = open_log(segment_size=1000)
    fill(log, 50)
    assert len(bases(log)) > 5
    assert all(path.stat().st_size <= 1000 + SEGMENT_HEADER_SIZE for path in segment_files(log.directory))
    assert len(bodies(log)) == 50


def test_segments_follow_each_other_up_to_what_is_safe(open_log) -> None:
    log = open_log(segment_size=1000)
    fill(log, 50)
    spans = log.segments()
    assert [end for _, end in spans] == [*bases(log)[1:], log.end]


# -- where to replay from ---------------------------------------------------------------------------------------------


def test_a_new_log_is_replayed_from_its_beginning(open_log) -> None:
    log = open_log()
    assert (log.replay_from, log.replay_position) == (0, 0)


def test_after_a_rotation_the_next_record_is_in_a_new_segment_that_has_the_replay_position(open_log) -> None:
    log = open_log()
    log.append(1, b"old")
    log.flush()
    checkpoint = log.append(2, b"all there is to know")
    end = log.flush()
    log.rotate(checkpoint)
    assert (bases(log), log.replay_position) == ([0], 0)
    log.append(1, b"new")
    log.flush()
    assert (bases(log), log.replay_position) == ([0, end], checkpoint)
    log.close()
    found: list[bytes] = []
    again = open_log(on_record=lambda record: found.append(record.body))
    assert again.replay_from == checkpoint
    assert found == [b"all there is to know", b"new"]


def test_what_was_appended_before_a_rotation_stays_in_the_old_segment(open_log) -> None:
    log = open_log()
    before = log.append(1, b"before")
    log.rotate(before)
    after = log.append(1, b"after")
    log.flush()
    assert before < bases(log)[1] < after
    assert bodies(log) == [b"before", b"after"]


def test_later_segments_keep_the_newest_replay_position(open_log) -> None:
    log = open_log(segment_size=1000)
    position = fill(log, 10)[5]
    log.rotate(position)
    fill(log, 20)
    log.close()
    assert open_log().replay_from == position


def test_a_rotation_with_nothing_behind_it_does_nothing(open_log) -> None:
    log = open_log()
    position = log.append(1, b"x")
    log.flush()
    log.rotate(position)
    log.flush()
    log.close()
    assert (bases(log), open_log().replay_from) == ([0], 0)


def test_a_crash_between_a_new_segment_and_its_first_batch_keeps_the_replay_position(open_log) -> None:
    log = open_log()
    log.append(1, b"old")
    position = log.append(1, b"checkpoint")
    end = log.flush()
    log.close()
    create_segment(log.directory, end, epoch=1, replay=position, previous=0)
    found: list[bytes] = []
    again = open_log(on_record=lambda record: found.append(record.body))
    assert (again.replay_from, found) == (position, [b"checkpoint"])
    again.append(1, b"new")
    again.flush()
    assert bodies(again) == [b"old", b"checkpoint", b"new"]


def test_a_segment_that_was_never_finished_is_no_segment(open_log) -> None:
    log = open_log()
    log.append(1, b"here")
    log.flush()
    log.close()
    (log.directory / "segment.new").write_bytes(b"HELIO")
    assert bodies(open_log()) == [b"here"]


def test_nobody_can_replay_from_what_is_not_there(open_log) -> None:
    log = open_log()
    with pytest.raises(ValueError, match="replay position 8: expected one from 0 to 0"):
        log.rotate(8)


# -- versions ---------------------------------------------------------------------------------------------------------


def as_version_1(log) -> None:
    """Close a log, and let it be one that the first release has written."""
    log.close()
    for path in segment_files(log.directory):
        raw = bytearray(path.read_bytes())
        raw[8:10] = struct.pack("<H", 1)
        raw[44:48] = struct.pack("<I", google_crc32c.value(bytes(raw[:44])))
        path.write_bytes(raw)


def versions(log) -> list[int]:
    return [read_segment(path).version for path in segment_files(log.directory)]


@pytest.mark.parametrize("tail", [b"", b"half a batch"])
def test_a_log_of_version_1_goes_on_in_a_segment_of_version_2(open_log, tail: bytes) -> None:
    old = open_log(segment_size=1000)
    position = fill(old, 10)[5]
    old.rotate(position)
    fill(old, 10)
    as_version_1(old)
    before = {path: path.read_bytes() for path in segment_files(old.directory)}
    with segment_files(old.directory)[-1].open("ab") as newest:
        newest.write(tail)
    log = open_log()
    assert (log.replay_from, {*versions(log)}) == (position, {1})
    end = log.end
    fill(log, 3)
    assert (bases(log)[-1], versions(log)) == (end, [1] * len(before) + [2])
    assert {path: path.read_bytes() for path in before} == before
    log.close()
    again = open_log()
    assert (again.replay_from, len(bodies(again))) == (position, 23)
    fill(again, 1)
    assert versions(again) == [1] * len(before) + [2]


def test_a_segment_of_version_1_without_records_is_replaced(open_log) -> None:
    as_version_1(open_log())
    log = open_log()
    fill(log, 2)
    assert (versions(log), bases(log), len(bodies(log))) == ([2], [0], 2)


# -- deleting ---------------------------------------------------------------------------------------------------------


def test_the_oldest_segments_can_be_deleted(open_log) -> None:
    log = open_log(segment_size=1000)
    positions = fill(log, 50)
    kept = max(base for base in bases(log) if base <= positions[25])
    log.delete([base for base in bases(log) if base < kept])
    assert bases(log)[0] == kept
    assert bodies(log, positions[25]) == [b"%03d" % n * 30 for n in range(25, 50)]
    with pytest.raises(Problem, match=f"position 0 is gone, the oldest one left is {kept}"):
        bodies(log)
    log.close()
    assert bodies(open_log(), positions[25])[-1] == b"049" * 30


def test_segments_in_the_middle_can_be_deleted(open_log) -> None:
    log = open_log(segment_size=1000)
    positions = fill(log, 50)
    spans = log.segments()
    log.delete([spans[2][0], spans[3][0]])
    assert log.segments() == spans[:2] + spans[4:]
    log.close()
    log = open_log(segment_size=1000)
    assert log.segments() == spans[:2] + spans[4:]
    assert len(list(log.records(0, spans[1][1]))) == sum(position < spans[1][1] for position in positions)
    assert len(bodies(log, spans[4][0])) == sum(position >= spans[4][0] for position in positions)


@pytest.mark.parametrize("start", [0, 1, 2])
def test_who_needs_what_was_deleted_is_told_which_positions_are_missing(open_log, start: int) -> None:
    log = open_log(segment_size=1000)
    fill(log, 50)
    spans = log.segments()
    log.delete([spans[2][0]])
    with pytest.raises(LogDamaged, match=rf"positions {spans[2][0]} to {spans[2][1]} are missing") as raised:
        bodies(log, spans[start][0])
    assert raised.value.position == spans[2][0]
    with pytest.raises(LogDamaged, match=rf"positions {spans[2][0]} to {spans[2][1]} are missing"):
        log.reader.read(spans[start][0], 1 << 20, log.safe)


def test_a_log_that_lacks_what_it_has_to_replay_does_not_open(open_log) -> None:
    log = open_log(segment_size=1000)
    fill(log, 50)
    spans = log.segments()
    log.delete([spans[2][0]])
    log.close()
    with pytest.raises(LogDamaged, match=f"positions {spans[2][0]} to {spans[2][1]} are missing"):
        open_log(on_record=lambda record: None)


def test_a_segment_that_lost_its_end_is_damaged_even_if_whole_records_are_left(open_log) -> None:
    log = open_log(segment_size=1000)
    positions = fill(log, 50)
    base, end = log.segments()[2]
    last = max(position for position in positions if position < end)
    with segment_path(log.directory, base).open("r+b") as file:
        file.truncate(last - 40 - base + SEGMENT_HEADER_SIZE)  # the record and the start of its batch
    with pytest.raises(LogDamaged, match="0 bytes are left") as raised:
        bodies(log)
    assert raised.value.position == last - 40


def test_the_newest_segment_cannot_be_deleted_nor_one_that_is_not_there(open_log) -> None:
    log = open_log(segment_size=1000)
    fill(log, 20)
    for wrong in (bases(log)[-1], 8):
        with pytest.raises(ValueError, match=rf"no segments to delete at \[{wrong}\]"):
            log.delete([0, wrong])
    assert bases(log)[0] == 0
