"""Segments are files that are whole, or not there."""

from pathlib import Path

import pytest

from heliograph.errors import Problem
from heliograph.pipeline.errors import SpoolInUse
from heliograph.pipeline.source.message_properties import NO_PROPERTIES
from heliograph.pipeline.spool.inbox import Rows
from heliograph.pipeline.spool.segments import Spool, read_segment, segment_file, segment_numbers

NONE: frozenset[int] = frozenset()


def rows(*payloads: bytes) -> Rows:
    made = Rows()
    for payload in payloads:
        made.add(0, "t", [payload], 1, False, NO_PROPERTIES)
    return made


def reopened(spool: Spool) -> Spool:
    spool.close()
    return Spool(spool.directory)


def test_what_was_appended_can_be_read(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "new" / "spool")
    spool.append(rows(b"a", b"b"), frozenset({7, 700}))
    spool.append(rows(b"c"), NONE)
    facts, batch = read_segment(spool.directory, 0)
    assert (facts.first, facts.rows, facts.held) == (0, 2, {7, 700})
    assert batch.column("payload").to_pylist() == [b"a", b"b"]
    assert read_segment(spool.directory, 1)[0].first == 2
    assert spool.end == 2
    spool.close()


def test_a_spool_goes_on_where_it_was(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.append(rows(b"a"), NONE)
    spool.append(rows(b"b"), frozenset({9}))
    spool = reopened(spool)
    assert (spool.end, spool.held) == (2, {9})
    spool.append(rows(b"c"), NONE)
    assert read_segment(tmp_path, 2)[0].first == 2
    spool.close()


def test_numbers_are_never_used_again(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    for _ in range(3):
        spool.append(rows(b"a"), NONE)
    spool.delete_before(3)
    assert segment_numbers(tmp_path) == [2]
    spool = reopened(spool)
    spool.append(rows(b"b"), NONE)
    facts, _ = read_segment(tmp_path, 3)
    assert facts.first == 3
    spool.close()


def test_segments_without_messages_are_not_told(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.append(rows(b"a"), frozenset({1}))
    spool.append(rows(), NONE)
    assert spool.end == 1
    spool = reopened(spool)
    assert (spool.end, spool.held) == (1, NONE)
    spool.append(rows(b"b"), NONE)
    assert spool.end == 3
    spool.close()


def test_what_was_not_finished_is_forgotten(tmp_path: Path) -> None:
    (tmp_path / "000000000000.unfinished").write_bytes(b"half")
    spool = Spool(tmp_path)
    assert spool.end == 0
    assert list(tmp_path.glob("*.unfinished")) == []
    spool.close()


def test_the_size_is_that_of_segments_that_are_needed(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.append(rows(b"a" * 1000), NONE)
    spool.append(rows(b"b"), NONE)
    assert spool.size == sum(path.stat().st_size for path in tmp_path.glob("*.arrow"))
    spool.delete_before(1)
    assert spool.size == segment_file(tmp_path, 1).stat().st_size
    spool.delete_before(2)
    assert spool.size == 0
    spool.close()


def test_a_directory_belongs_to_one_process(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    with pytest.raises(SpoolInUse, match="in use by another query"):
        Spool(tmp_path)
    spool.close()


def test_a_segment_that_is_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(Problem, match=r"000000000004\.arrow: expected a segment of the spool, found none"):
        read_segment(tmp_path, 4)


def test_a_file_that_is_no_segment_is_named(tmp_path: Path) -> None:
    segment_file(tmp_path, 0).write_bytes(b"something")
    with pytest.raises(Problem, match="expected a segment of the spool, found something else"):
        Spool(tmp_path)
