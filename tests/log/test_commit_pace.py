"""How soon the disk is forced: at once, soon, or with whatever is forced next. What is only written is no promise."""

import errno
import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.log import commit
from heliograph.log.errors import LogDamaged
from heliograph.log.segment import segment_files
from log.watched_log import PATIENCE, WatchedLog, bases, bodies

LONG = 3600.0
"""An interval between two commits that no test lives to see."""


class Disk:
    """What the log does with its files, and whether that works."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._news = threading.Condition()
        self._real = {name: getattr(os, name) for name in ("pwritev", "fdatasync")}
        self.done: list[str] = []
        self.fails: dict[str, int] = {}
        """Errors that are raised next, by the name of the call."""
        for name in self._real:
            monkeypatch.setattr(commit.os, name, self._watched(name))

    def _watched(self, name: str) -> Callable[..., object]:
        def call(*args: object) -> object:
            try:
                if error := self.fails.pop(name, 0):
                    raise OSError(error, os.strerror(error))
                return self._real[name](*args)
            finally:
                with self._news:
                    self.done.append(name)
                    self._news.notify_all()

        return call

    def wait(self, *expected: str) -> None:
        """Wait until just these calls have been made since the last time."""
        with self._news:
            assert self._news.wait_for(lambda: len(self.done) >= len(expected), PATIENCE)
            assert self.done == list(expected)
            self.done.clear()


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


# What need not be safe


def test_what_is_written_is_in_the_file_and_not_forced(open_log, disk: Disk) -> None:
    log = open_log()
    log.append(1, b"some time")
    log.write()
    disk.wait("pwritev")
    assert bodies(log) == [b"some time"]
    assert (log.safe, log.told_safe) == (0, [])


def test_what_is_written_outlives_the_process(open_log, disk: Disk, tmp_path: Path) -> None:
    log = open_log()
    log.append(1, b"first")
    log.write()
    disk.wait("pwritev")
    log.append(1, b"second")
    log.write()
    disk.wait("pwritev")
    shutil.copytree(log.directory, tmp_path / "killed")
    again = WatchedLog(tmp_path / "killed")
    assert (bodies(again), again.torn) == ([b"first", b"second"], None)
    again.close()


def test_the_next_commit_forces_what_was_written_before_and_writes_nothing_twice(open_log, disk: Disk) -> None:
    log = open_log()
    for body in (b"first", b"second"):
        log.append(1, body)
        log.write()
        disk.wait("pwritev")
    log.append(1, b"third")
    log.flush()
    disk.wait("pwritev", "fdatasync")
    assert log.told_safe == [log.end]
    assert bodies(log) == [b"first", b"second", b"third"]


def test_a_commit_forces_what_has_only_been_written(open_log, disk: Disk) -> None:
    log = open_log()
    log.append(1, b"some time")
    log.write()
    disk.wait("pwritev")
    log.flush()
    disk.wait("fdatasync")
    assert log.safe == log.end


def test_a_log_that_is_closed_forces_what_has_only_been_written(open_log, disk: Disk) -> None:
    log = open_log()
    log.append(1, b"some time")
    log.write()
    disk.wait("pwritev")
    log.close()
    disk.wait("fdatasync")
    assert log.safe == log.end


def test_what_has_only_been_written_does_not_grow_without_a_limit(open_log, disk: Disk) -> None:
    log = open_log()
    log.append(1, bytes(commit.LARGE))
    log.write()
    disk.wait("pwritev", "fdatasync")


def test_a_segment_begins_with_all_of_a_batch(open_log, disk: Disk) -> None:
    log = open_log(segment_size=100)
    log.append(1, b"x" * 200)
    end = log.flush()
    disk.wait("pwritev", "fdatasync")
    log.append(1, b"early")
    log.write()
    disk.wait("pwritev")
    log.append(1, b"y" * 200)
    log.flush()
    assert bases(log) == [0, end]
    assert bodies(log) == [b"x" * 200, b"early", b"y" * 200]


@pytest.mark.parametrize("call", ["pwritev", "fdatasync"])
def test_after_an_error_all_of_a_batch_is_written_in_a_new_segment(open_log, disk: Disk, call: str) -> None:
    log = open_log(retry=0.01)
    log.append(1, b"before")
    safe = log.flush()
    log.append(1, b"early")
    log.write()
    disk.wait("pwritev", "fdatasync", "pwritev")
    disk.fails[call] = errno.EIO
    log.append(1, b"late")
    log.flush()
    assert bases(log) == [0, safe]
    assert bodies(log) == [b"before", b"early", b"late"]
    log.close()
    assert bodies(open_log()) == [b"before", b"early", b"late"]


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC])
def test_a_write_that_fails_is_made_up_for_by_the_next_commit(open_log, disk: Disk, error: int) -> None:
    log = open_log()
    log.append(1, b"before")
    safe = log.flush()
    disk.fails["pwritev"] = error
    log.append(1, b"early")
    log.write()
    disk.wait("pwritev", "fdatasync", "pwritev")
    log.append(1, b"late")
    log.flush()
    assert log.troubles == []
    assert bases(log) == ([0, safe] if error == errno.EIO else [0])
    assert bodies(log) == [b"before", b"early", b"late"]


def test_without_room_what_was_written_early_is_written_again(open_log, disk: Disk) -> None:
    log = open_log(retry=0.01)
    log.append(1, b"early")
    log.write()
    disk.wait("pwritev")
    disk.fails["pwritev"] = errno.ENOSPC
    log.append(1, b"late")
    log.flush()
    assert [trouble and trouble.errno for trouble in log.troubles] == [errno.ENOSPC, None]
    assert bodies(log) == [b"early", b"late"]


class Mixed:
    """A log of records of which some were forced and some only written, and what it was like in between."""

    def __init__(self, directory: Path, steps: list[tuple[int, str]]) -> None:
        shutil.rmtree(directory, ignore_errors=True)
        log = WatchedLog(directory, segment_size=2000)
        for size, how in steps:
            log.append(1, b"%d" % size * size)
            if how == "forced":
                log.flush()
            elif how == "written":
                log.write()
        log.committer.halt()
        self.safe = log.safe
        log.close()
        self.directory = directory
        self.newest = segment_files(directory)[-1]

    def open_with(self, raw: bytes) -> list[int]:
        """Where the records of the newest segment are that are found when its file is like this."""
        self.newest.write_bytes(raw)
        log = WatchedLog(self.directory)
        base = log.segments()[-1][0]
        found = [record.position for record in log.records(base)]
        log.close()
        return found


STEPS = st.lists(st.tuples(st.integers(0, 200), st.sampled_from(["forced", "written", "gathered"])), min_size=1)


@settings(max_examples=150, deadline=None)
@given(STEPS, st.data())
def test_a_log_cut_or_damaged_behind_what_was_forced_has_lost_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, str]], data: st.DataObject
) -> None:
    mixed = Mixed(tmp_path_factory.getbasetemp() / "mixed", steps)
    raw = bytearray(mixed.newest.read_bytes())
    whole = mixed.open_with(bytes(raw))
    first = mixed.safe - int(mixed.newest.stem) + 48
    at = data.draw(st.integers(min(first, len(raw)), len(raw)))
    if data.draw(st.booleans()) and at < len(raw):
        raw[at] ^= 1 << data.draw(st.integers(0, 7))
    else:
        del raw[at:]
    found = mixed.open_with(bytes(raw))
    assert found == whole[: len(found)]
    assert len(found) >= sum(position < mixed.safe for position in whole)


def test_damage_in_what_was_written_early_and_forced_later_is_damage(open_log, disk: Disk) -> None:
    log = open_log()
    place = log.append(1, b"early") + 48 + 36
    log.write()
    disk.wait("pwritev")
    log.append(1, b"late")
    log.flush()
    log.append(1, b"next")
    log.flush()
    log.close()
    (path,) = segment_files(log.directory)
    raw = bytearray(path.read_bytes())
    assert raw[place : place + 5] == b"early"
    raw[place] ^= 1
    path.write_bytes(raw)
    with pytest.raises(LogDamaged):
        open_log()


# What can wait a little


def test_the_first_commit_after_a_while_is_forced_at_once(open_log, disk: Disk) -> None:
    log = open_log(interval=LONG)
    log.append(1, b"x")
    log.commit(at_once=False)
    disk.wait("pwritev", "fdatasync")


def test_commits_in_no_hurry_wait_for_one_that_is(open_log, disk: Disk) -> None:
    log = open_log(interval=LONG)
    log.append(1, b"x")
    log.flush()
    disk.wait("pwritev", "fdatasync")
    for number in range(100):
        log.append(1, b"%d" % number)
        log.commit(at_once=False)
    log.append(1, b"urgent")
    log.flush()
    disk.wait("pwritev", "fdatasync")
    assert len(bodies(log)) == 102


def test_commits_in_no_hurry_wait_for_the_rest_of_the_interval(open_log, disk: Disk) -> None:
    log = open_log(interval=0.2)
    log.append(1, b"x")
    log.flush()
    for number in range(3):
        log.append(1, b"%d" % number)
        log.commit(at_once=False)
    disk.wait("pwritev", "fdatasync", "pwritev", "fdatasync")
    assert len(bodies(log)) == 4


def test_much_does_not_wait(open_log, disk: Disk) -> None:
    log = open_log(interval=LONG)
    log.append(1, b"x")
    log.flush()
    disk.wait("pwritev", "fdatasync")
    for size in (1, commit.LARGE):
        log.append(1, bytes(size))
        log.commit(at_once=False)
    disk.wait("pwritev", "fdatasync")


def test_a_log_that_is_closed_does_not_wait(open_log, disk: Disk) -> None:
    log = open_log(interval=LONG)
    for body in (b"x", b"y"):
        log.append(1, body)
        log.commit(at_once=False)
    log.close()
    assert log.safe == log.end


def test_nothing_waits_where_the_kernel_is_enough(open_log) -> None:
    log = open_log(interval=LONG, force=False)
    for body in (b"x", b"y"):
        log.append(1, body)
        log.commit(at_once=False)
        with log._news:
            assert log._news.wait_for(lambda: log.safe == log.end, PATIENCE)


def test_what_is_only_written_is_written_at_once_even_right_after_the_disk_was_forced(open_log, disk: Disk) -> None:
    log = open_log(interval=LONG)
    log.append(1, b"x")
    log.flush()
    log.append(1, b"some time")
    log.write()
    disk.wait("pwritev", "fdatasync", "pwritev")
    assert bodies(log) == [b"x", b"some time"]


# How long nothing becomes safe


def test_until_the_disk_may_be_forced_again_nothing_becomes_safe(open_log) -> None:
    log = open_log(interval=LONG)
    assert log.committer.until_force(time.monotonic()) == 0
    log.append(1, b"x")
    log.flush()
    forced = time.monotonic()
    assert LONG - 1 < log.committer.until_force(forced) < LONG
    assert log.committer.until_force(forced + LONG) == 0


def test_what_comes_while_the_disk_is_being_forced_does_not_become_safe_earlier_than_that(
    open_log, monkeypatch
) -> None:
    log = open_log(interval=0.2)
    go_on = threading.Event()
    monkeypatch.setattr(commit.os, "fdatasync", lambda _descriptor: go_on.wait(PATIENCE))
    log.append(1, b"x")
    log.commit(at_once=False)
    try:
        assert log.committer.until_force(time.monotonic() + 0.2) == 0.2
    finally:
        go_on.set()


def test_without_a_pace_whatever_comes_may_be_forced_at_once(open_log) -> None:
    log = open_log()
    log.append(1, b"x")
    log.commit(at_once=False)
    with log._news:
        assert log._news.wait_for(lambda: log.safe == log.end, PATIENCE)
    assert log.committer.until_force(time.monotonic()) == 0
