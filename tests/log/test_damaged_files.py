"""Files that are not what they were: what is wrong is told, and nothing wrong is handed out."""

import os
import re
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.errors import Problem
from heliograph.log.errors import LogDamaged
from heliograph.log.record import ALIGNMENT, Record
from heliograph.log.segment import SEGMENT_HEADER_SIZE, segment_files
from log.watched_log import WatchedLog, fill


class Written:
    """A log with some segments, of several batches each, and what is in it."""

    def __init__(self, directory: Path) -> None:
        log = WatchedLog(directory, segment_size=500)
        for number in range(12):
            for body in (b"%d" % number, b"%d" % number * 40):
                log.append(1, body, offset=number, count=1)
            self.before_last = log.safe
            log.flush()
        log.close()
        self.directory = directory
        self.files = {path.name: path.read_bytes() for path in segment_files(directory)}
        self.records = list(log.records())
        self.newest = max(self.files)
        assert len(self.files) > 3

    def open_with(self, changed: dict[str, bytes | None]) -> tuple[list[Record], Problem | None]:
        """The records that are found when some files are like this (None: missing), and why no more if it is told."""
        for path in segment_files(self.directory):
            path.unlink()
        for name, raw in {**self.files, **changed}.items():
            if raw is not None:
                (self.directory / name).write_bytes(raw)
        found: list[Record] = []
        try:
            WatchedLog(self.directory, on_record=found.append).close()
        except Problem as problem:
            return found, problem
        return found, None


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Written:
    return Written(tmp_path_factory.mktemp("written"))


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_flipped_bit_anywhere_is_noticed_or_was_in_the_last_batch(written: Written, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(written.files)))
    raw = bytearray(written.files[name])
    at = data.draw(st.integers(0, len(raw) - 1))
    raw[at] ^= 1 << data.draw(st.integers(0, 7))
    found, problem = written.open_with({name: bytes(raw)})
    assert found == written.records[: len(found)]
    if problem is None:
        assert len(found) >= sum(record.position < written.before_last for record in written.records)
        assert name == written.newest or found == written.records  # it only fills up to the next record
    else:
        assert name in str(problem)
        place = at - SEGMENT_HEADER_SIZE
        assert not isinstance(problem, LogDamaged) or problem.position <= int(Path(name).stem) + place


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_segment_that_lost_its_end_is_damage_unless_it_is_the_newest(written: Written, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(written.files)))
    keep = data.draw(st.integers(0, len(written.files[name]) - 1))
    found, problem = written.open_with({name: written.files[name][:keep]})
    assert found == written.records[: len(found)]
    if problem is not None:
        assert name in str(problem)
        assert name != written.newest or keep < SEGMENT_HEADER_SIZE
    else:
        only_filling = len(written.files[name]) - keep < ALIGNMENT and found == written.records
        assert name == written.newest or only_filling


def test_any_missing_segment_is_noticed_unless_it_is_the_newest(written: Written) -> None:
    for name in sorted(written.files)[:-1]:
        _, problem = written.open_with({name: None})
        assert re.search("are missing|is gone", str(problem))
    found, problem = written.open_with({written.newest: None})
    assert problem is None
    assert found == [record for record in written.records if record.position < int(Path(written.newest).stem)]


def copy_slowly(source: Path, target: Path, meanwhile: Callable[[], None] = lambda: None) -> None:
    """Copy a directory file by file and block by block, as any program does that knows nothing of logs.

    What happens `meanwhile` happens before each block.
    """
    target.mkdir()
    for name in sorted(os.listdir(source)):
        if name == "segment.new":
            continue  # has its own name, or not yet
        with (source / name).open("rb", buffering=0) as file, (target / name).open("wb") as copy:
            meanwhile()
            while block := file.read(4096):
                copy.write(block)
                meanwhile()


@pytest.mark.parametrize("batches", [1, 2, 5])
@pytest.mark.parametrize("size", [1, 100, 300])
def test_a_copy_between_whose_blocks_the_log_goes_on_has_everything_that_was_safe(
    tmp_path: Path, batches: int, size: int
) -> None:
    log = WatchedLog(tmp_path / "log", segment_size=50_000)
    fill(log, 200)

    def go_on() -> None:
        for _ in range(batches):
            log.append(1, b"x" * size)
            log.flush()

    safe = log.safe
    copy_slowly(log.directory, tmp_path / "copy", meanwhile=go_on)
    found: list[Record] = []
    WatchedLog(tmp_path / "copy", on_record=found.append).close()
    whole = list(log.records())
    assert found == whole[: len(found)]
    assert found[-1].end >= safe
    assert whole[-1].position > safe
    log.close()


def test_a_copy_taken_at_any_instant_has_everything_that_was_safe(tmp_path: Path) -> None:
    log = WatchedLog(tmp_path / "log", segment_size=50_000)
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            for _ in range(number % 7 * 20 + 1):
                log.append(1, b"%d" % number * (number % 40 + 1), offset=number)
                number += 1
            log.flush()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for attempt in range(60):
            safe = log.safe
            copied = tmp_path / f"copy {attempt}"
            copy_slowly(log.directory, copied)
            found: list[Record] = []
            opened = WatchedLog(copied, on_record=found.append)
            assert opened.end >= safe
            assert [record.offset for record in found] == list(range(len(found)))
            assert all(record.body == b"%d" % n * (n % 40 + 1) for n, record in enumerate(found))
            opened.close()
            shutil.rmtree(copied)
    finally:
        stop.set()
        writer.join()
        log.close()
    assert log.end > 50_000  # it was written to meanwhile
