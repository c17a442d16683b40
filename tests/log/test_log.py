"""What is appended is there again, whatever happened in between."""

import os
import re
from pathlib import Path

import google_crc32c
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heliograph.errors import Problem
from heliograph.log.errors import LogDamaged
from heliograph.log.reader import LogReader
from heliograph.log.record import HEADER_SIZE, padded, record_room
from heliograph.log.segment import SEGMENT_HEADER_SIZE, segment_files
from log.watched_log import WatchedLog, bodies

MARK = padded(HEADER_SIZE)
"""The room of the record that starts a batch."""


def test_what_is_appended_can_be_read_when_it_is_safe(open_log) -> None:
    log = open_log()
    positions = [log.append(1, b"%d" % n, offset=n, count=1) for n in range(100)]
    log.flush()
    records = list(log.records())
    assert [record.position for record in records] == positions
    assert [record.offset for record in records] == list(range(100))
    assert bodies(log, positions[40]) == [b"%d" % n for n in range(40, 100)]


def test_a_log_goes_on_where_it_was_closed(open_log) -> None:
    log = open_log()
    log.append(1, b"first")
    log.close()
    log = open_log()
    assert log.torn is None
    log.append(1, b"second")
    log.flush()
    assert bodies(log) == [b"first", b"second"]


def test_closing_writes_what_was_never_committed(open_log) -> None:
    log = open_log()
    log.append(1, b"late")
    log.close()
    assert bodies(open_log()) == [b"late"]


def test_two_servers_cannot_have_one_log(open_log, tmp_path: Path) -> None:
    open_log()
    with pytest.raises(Problem, match=rf"in use by another server \(process {os.getpid()}\)"):
        WatchedLog(tmp_path / "log")


def test_a_copy_of_a_living_log_can_be_read_by_others(open_log) -> None:
    log = open_log()
    log.append(1, b"one")
    log.flush()
    reader = LogReader(log.directory)
    assert [record.body for record in reader.records(0)] == [b"one"]
    log.append(1, b"two")
    log.flush()
    assert [record.body for record in reader.records(0)] == [b"one", b"two"]


def test_records_larger_than_a_read_are_read(open_log) -> None:
    log = open_log()
    large = os.urandom(5 << 20)
    log.append(1, b"before")
    log.append(1, large)
    log.append(1, b"after")
    log.flush()
    assert bodies(log) == [b"before", large, b"after"]


# -- torn and damaged files -------------------------------------------------------------------------------------------


def written(log: WatchedLog, batches: list[list[bytes]]) -> Path:
    """Write these batches and close; the file of the newest segment."""
    for batch in batches:
        for body in batch:
            log.append(1, body)
        log.flush()
    log.close()
    return segment_files(log.directory)[-1]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(st.data())
def test_a_batch_that_was_written_in_any_part_is_cut_off(tmp_path_factory, data: st.DataObject) -> None:
    directory = tmp_path_factory.mktemp("log")
    log = WatchedLog(directory)
    log.append(1, b"acknowledged")
    safe = log.flush()
    last = data.draw(st.lists(st.binary(max_size=60), min_size=1, max_size=5))
    path = written(log, [last])
    raw = bytearray(path.read_bytes())
    start = SEGMENT_HEADER_SIZE + safe
    # The disk writes blocks in any order: any part of the last batch may be missing or still be zeros.
    keep = data.draw(st.integers(start, len(raw)))
    hole = data.draw(st.tuples(st.integers(start, len(raw)), st.integers(0, 100)))
    raw[hole[0] : hole[0] + hole[1]] = bytes(len(raw[hole[0] : hole[0] + hole[1]]))
    path.write_bytes(raw[:keep])
    again = WatchedLog(directory)
    found = bodies(again)
    assert found[0] == b"acknowledged"
    assert found[1:] == last[: len(found) - 1]
    again.append(1, b"new")
    again.flush()
    assert bodies(again) == [*found, b"new"]
    again.close()


def is_filling(raw: bytes, at: int) -> bool:
    """Whether a byte only fills a record up to the next one, and means nothing."""
    start = SEGMENT_HEADER_SIZE
    while start + record_room(raw, start) <= at:
        start += record_room(raw, start)
    return at >= start + int.from_bytes(raw[start + 4 : start + 8], "little")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(st.data())
def test_damage_to_what_was_safe_is_reported_with_its_place(tmp_path_factory, data: st.DataObject) -> None:
    directory = tmp_path_factory.mktemp("log")
    log = WatchedLog(directory)
    path = written(log, [[b"first", b"second"], [b"third"], [b"fourth"]])
    raw = bytearray(path.read_bytes())
    safe = SEGMENT_HEADER_SIZE + 2 * MARK + 2 * padded(HEADER_SIZE + 6) + padded(HEADER_SIZE + 5)
    at = data.draw(st.integers(SEGMENT_HEADER_SIZE, safe - 1).filter(lambda at: not is_filling(raw, at)))
    raw[at] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(raw)
    with pytest.raises(LogDamaged, match=re.escape(str(path))) as raised:
        WatchedLog(directory)
    assert SEGMENT_HEADER_SIZE + raised.value.position <= at


def test_damage_in_an_older_segment_is_found_when_it_is_read(open_log) -> None:
    log = open_log(segment_size=200)
    for number in range(10):
        log.append(1, b"%d" % number * 100)
        log.flush()
    path = segment_files(log.directory)[3]
    raw = bytearray(path.read_bytes())
    raw[-20] ^= 1
    path.write_bytes(raw)
    with pytest.raises(LogDamaged, match="check sum"):
        bodies(log)


def test_a_file_of_a_newer_format_is_refused(open_log, tmp_path: Path) -> None:
    log = open_log()
    path = written(log, [[b"x"]])
    raw = bytearray(path.read_bytes())
    raw[8] = 3
    raw[44:48] = google_crc32c.value(bytes(raw[:44])).to_bytes(4, "little")
    path.write_bytes(raw)
    with pytest.raises(Problem, match="format version 3; this program knows versions 1 to 2"):
        open_log()
