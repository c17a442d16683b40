"""Batches: what gathers is written together, in order, and is safe when the disk has it and not before."""

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from heliograph.log import commit
from heliograph.log.record import frame
from heliograph.log.segment import SEGMENT_HEADER_SIZE, read_segment, segment_files
from log.watched_log import WatchedLog, bases, bodies, fill


def test_what_gathers_while_the_disk_is_busy_goes_in_one_batch(open_log, monkeypatch) -> None:
    log = open_log()
    entered, leave, forced = threading.Event(), threading.Event(), []

    def slow(descriptor: int) -> None:
        forced.append(descriptor)
        entered.set()
        assert leave.wait(20)

    monkeypatch.setattr(os, "fdatasync", slow)
    log.append(1, b"first")
    log.commit()
    assert entered.wait(20)
    for number in range(1000):
        log.append(1, b"%d" % number)
        log.commit()
    assert log.safe == 0
    leave.set()
    log.flush()
    assert len(forced) == 2
    assert len(bodies(log)) == 1001


def test_batches_are_bounded_and_written_in_order(open_log, monkeypatch) -> None:
    monkeypatch.setattr(commit, "BATCH_SIZE", 1000)
    log = open_log()
    for number in range(50):
        log.append(1, b"%03d" % number * 30)
    log.append(1, b"x" * 5000)
    log.append(1, b"last")
    log.flush()
    sizes = [end - start for start, end in zip([0, *log.told_safe], log.told_safe, strict=False)]
    assert sum(size > 1000 for size in sizes) == 1  # the one that has a single large record
    assert len(sizes) == 50 // 7 + 1 + 1 + 1
    assert bodies(log) == [*(b"%03d" % number * 30 for number in range(50)), b"x" * 5000, b"last"]


def test_a_record_may_come_in_pieces_which_are_not_copied(open_log) -> None:
    large = bytes(100_000)
    pieces, room = frame(1, [b"topic", large, b"end"])
    assert sum(map(len, pieces)) == room
    assert any(piece is large for piece in pieces)
    log = open_log()
    log.append(7, b"topic", large, b"end", offset=5, count=2, flags=9)
    log.append(7)
    log.flush()
    record, empty = log.records()
    assert (record.body, record.offset, record.count, record.flags) == (b"topic" + large + b"end", 5, 2, 9)
    assert empty.body == b""


@pytest.mark.parametrize("size", [10, 10_000])
def test_more_pieces_than_the_kernel_takes_at_once_are_written(open_log, size: int) -> None:
    log = open_log()
    pieces = [bytes([number % 256]) * size for number in range(3000)]
    log.append(1, *pieces)
    log.flush()
    assert bodies(log) == [b"".join(pieces)]


def test_what_is_not_safe_yet_waits(open_log) -> None:
    log = open_log()
    assert (log.safe, log.waiting) == (0, 0)
    log.append(1, b"x")
    assert (log.safe, log.waiting) == (0, log.end)
    log.flush()
    assert (log.safe, log.waiting) == (log.end, 0)
    log.close()
    again = open_log()
    assert (again.safe, again.waiting) == (again.end, 0)


def test_a_commit_of_nothing_does_nothing(open_log) -> None:
    log = open_log()
    for _ in range(1000):
        log.commit()
    assert log.committer._wake.empty()
    log.append(1, b"x")
    log.flush()
    log.commit()
    assert log.told_safe == [log.end]


def test_appending_from_many_threads_loses_nothing(open_log) -> None:
    log = open_log()

    def work(name: bytes) -> None:
        for number in range(500):
            log.append(1, b"%s %d" % (name, number))
            log.commit()

    threads = [threading.Thread(target=work, args=(b"%d" % n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log.flush()
    found = bodies(log)
    assert len(found) == 2000
    for n in range(4):
        own = [body for body in found if body.startswith(b"%d " % n)]
        assert own == [b"%d %d" % (n, number) for number in range(500)]


def test_nothing_is_safe_before_it_has_been_forced(open_log, monkeypatch) -> None:
    log = open_log()
    real, forced, early = os.fdatasync, [0], []

    def slow(descriptor: int) -> None:
        written = os.fstat(descriptor).st_size - SEGMENT_HEADER_SIZE
        threading.Event().wait(0.002)  # a slow disk
        if log.safe > forced[-1]:
            early.append(log.safe)
        real(descriptor)
        forced.append(written)

    monkeypatch.setattr(os, "fdatasync", slow)
    for number in range(3000):
        log.append(1, b"%d" % number)
        log.commit()
    log.flush()
    assert not early
    assert log.told_safe == forced[1:]  # once for each batch, and only what had been forced
    assert len(forced) < 1000  # what gathered shared the price


# -- a disk in trouble ------------------------------------------------------------------------------------------------


def fail_times(monkeypatch, name: str, error: int, times: int) -> None:
    """Let a call of the system fail so many times, then work."""
    real, left = getattr(os, name), [times]

    def call(*args: object) -> object:
        if left[0]:
            left[0] -= 1
            raise OSError(error, os.strerror(error))
        return real(*args)

    monkeypatch.setattr(commit.os, name, call)


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT])
def test_without_room_nothing_is_safe_until_there_is_room_again(open_log, monkeypatch, error: int) -> None:
    log = open_log(retry=0.01)
    log.append(1, b"before")
    safe = log.flush()
    fail_times(monkeypatch, "pwritev", error, 3)
    log.append(1, b"in need")
    log.commit()
    log.flush()
    log.wait_for_trouble(4)
    assert [trouble and trouble.errno for trouble in log.troubles] == [error, error, error, None]
    assert log.safe_in_trouble[:3] == [safe, safe, safe]
    assert bodies(log) == [b"before", b"in need"]
    assert len(segment_files(log.directory)) == 1


@pytest.mark.parametrize("call", ["fdatasync", "pwritev"])
def test_after_a_failed_write_the_file_is_not_trusted_any_more(open_log, monkeypatch, call: str) -> None:
    log = open_log(retry=0.01)
    log.append(1, b"before")
    safe = log.flush()
    fail_times(monkeypatch, call, errno.EIO, 1)
    log.append(1, b"again")
    log.flush()
    assert [trouble and trouble.errno for trouble in log.troubles] == [errno.EIO, None]
    assert [int(path.stem) for path in segment_files(log.directory)] == [0, safe]
    assert bodies(log) == [b"before", b"again"]
    log.close()
    assert bodies(open_log()) == [b"before", b"again"]


def test_a_log_in_trouble_can_be_closed(open_log, monkeypatch) -> None:
    log = open_log(retry=60)
    fail_times(monkeypatch, "pwritev", errno.EIO, 1000)
    log.append(1, b"lost")
    log.commit()
    log.wait_for_trouble(1)
    log.close()
    monkeypatch.undo()
    assert bodies(open_log()) == []


@pytest.mark.parametrize(("call", "times"), [("pwritev", 1), ("fdatasync", 1), ("fsync", 2), ("fsync", 3)])
def test_a_new_segment_that_fails_is_made_again(open_log, monkeypatch, call: str, times: int) -> None:
    log = open_log(retry=0.01)
    position = log.append(1, b"before")
    end = log.flush()
    log.rotate(position)
    fail_times(monkeypatch, call, errno.EIO, times)  # the first fsync is of the old segment, which may fail
    log.append(1, b"again")
    log.flush()
    log.append(1, b"after")
    log.flush()
    assert [trouble and trouble.errno for trouble in log.troubles][-2:] == [errno.EIO, None]
    assert (bases(log), log.replay_position) == ([0, end], position)
    assert read_segment(segment_files(log.directory)[1]).previous == 0
    assert bodies(log) == [b"before", b"again", b"after"]
    log.close()
    again = open_log()
    assert (bodies(again), again.replay_from) == ([b"before", b"again", b"after"], position)


def test_a_replay_position_counts_when_its_segment_is_on_the_disk(open_log, monkeypatch) -> None:
    log = open_log(retry=60)
    position = log.append(1, b"before")
    log.flush()
    log.rotate(position + 8)
    fail_times(monkeypatch, "fsync", errno.EIO, 2)
    log.append(1, b"never")
    log.commit()
    log.wait_for_trouble(1)
    assert log.replay_position == 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with room for 512 KB."""
    path = tmp_path / "disk"
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", path]
    if os.getuid() or subprocess.run(mount, check=False).returncode:
        pytest.skip("only root can mount a file system")
    yield path
    subprocess.run(["umount", "-l", path], check=True)


def test_a_full_disk_is_waited_for(small_disk: Path) -> None:
    log = WatchedLog(small_disk / "log", retry=0.01)
    log.append(1, b"before")
    safe = log.flush()
    (small_disk / "other").write_bytes(bytes(300_000))
    log.append(1, b"x" * 300_000)
    log.commit()
    log.wait_for_trouble(2)
    assert {trouble and trouble.errno for trouble in log.troubles} == {errno.ENOSPC}
    assert log.safe == safe
    (small_disk / "other").unlink()
    log.flush()
    log.close()
    again = WatchedLog(small_disk / "log")
    assert again.torn is None
    assert bodies(again) == [b"before", b"x" * 300_000]
    again.close()


def test_a_full_disk_is_waited_for_when_a_segment_begins(small_disk: Path) -> None:
    log = WatchedLog(small_disk / "log", retry=0.01)
    position = log.append(1, b"before")
    log.flush()
    log.rotate(position)
    with (small_disk / "other").open("wb", buffering=0) as other:
        with pytest.raises(OSError, match="No space"):
            while True:
                other.write(bytes(4096))
        log.append(1, b"in need")
        log.commit()
        log.wait_for_trouble(2)
        assert log.replay_position == 0
        other.truncate(0)
    log.flush()
    log.close()
    again = WatchedLog(small_disk / "log")
    assert (bodies(again), again.replay_from) == ([b"before", b"in need"], position)
    again.close()


def test_a_batch_that_finds_no_room_gives_back_what_it_took(small_disk: Path) -> None:
    log = WatchedLog(small_disk / "log", retry=60)
    log.append(1, b"before")
    safe = log.flush()
    log.append(1, b"x" * 600_000)
    log.commit()
    log.wait_for_trouble(1)
    assert segment_files(log.directory)[0].stat().st_size == SEGMENT_HEADER_SIZE + safe
    log.close()


FILE_SIZE_LIMIT = """
import errno, resource, sys
from pathlib import Path
from log.watched_log import WatchedLog, bodies

log = WatchedLog(Path(sys.argv[1]), retry=0.01)
log.append(1, b"before")
safe = log.flush()
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
log.append(1, b"x" * 30_000)
log.commit()
log.wait_for_trouble(2)
assert {trouble.errno for trouble in log.troubles} == {errno.EFBIG}
assert log.safe == safe
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
log.flush()
log.close()
again = WatchedLog(Path(sys.argv[1]))
assert again.torn is None
assert bodies(again) == [b"before", b"x" * 30_000]
again.close()
"""


def test_room_that_the_kernel_denies_is_waited_for(tmp_path: Path) -> None:
    here = Path(__file__).parent.parent
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(here), *sys.path])}
    script = [sys.executable, "-c", FILE_SIZE_LIMIT, str(tmp_path / "log")]
    done = subprocess.run(script, check=False, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_segments_end_on_the_disk_even_if_batches_are_not_forced(open_log, monkeypatch) -> None:
    log = open_log(force=False, segment_size=1000)
    forced, real = [], os.fsync

    def watch(descriptor: int) -> None:
        forced.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)
        real(descriptor)

    monkeypatch.setattr(os, "fsync", watch)
    fill(log, 20)
    for path in segment_files(log.directory)[:-1]:
        assert path.name in forced
