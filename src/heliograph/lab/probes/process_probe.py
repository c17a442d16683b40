"""What process trees use: CPU time, memory, context switches, disk; from Linux's /proc, to the nanosecond.

CPU time is the scheduler's own account of every thread, which is not rounded to ticks as others are: a short run at a
small scale uses less than one tick.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil

from heliograph.lab.probes.probe import Value

_PAGE = 4096
_IO = {b"read_bytes": "read_bytes", b"write_bytes": "written_bytes"}


def descendants(pid: int) -> list[int]:
    """All that were started by this process or by those that it started, and still run.

    Linux can tell directly who a thread's children are; asking every process of the machine for its parent, as others
    have to be, takes milliseconds.
    """
    if not Path(f"/proc/{pid}/task/{pid}/children").exists():
        with suppress(psutil.NoSuchProcess):
            return [child.pid for child in psutil.Process(pid).children(recursive=True)]
        return []
    found = []
    for child in _children(pid):
        found += [child, *descendants(child)]
    return found


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with suppress(OSError):  # it may end at any time
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                found += map(int, (thread / "children").read_bytes().split())
    return found


def cpu_seconds(pids: Iterable[int]) -> float:
    """What these processes and all below them have used so far, all threads that still run together."""
    return sum(_cpu_nanoseconds(one) for pid in pids for one in (pid, *descendants(pid))) / 1e9


def _cpu_nanoseconds(pid: int) -> int:
    """The scheduler's own account, which is not rounded to ticks as others are."""
    total = 0
    for file in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with suppress(OSError, ValueError):  # a thread may end at any time
            total += int(file.read_text().split()[0])
    return total


class ProcessProbe:
    """Looks at processes that may come and go, each under its id."""

    asks = False

    def __init__(self, source: str, pids: Callable[[], Iterable[int]]) -> None:
        """`pids` is asked at every look."""
        self._source = source
        self._pids = pids
        self._known: dict[int, _Process] = {}

    def read(self) -> Iterable[Value]:
        """Everything of each process that runs now."""
        found: list[Value] = []
        for pid in self._pids():
            process = self._known.setdefault(pid, _Process(pid))
            with suppress(OSError):  # it may end at any time
                found += [Value(self._source, str(pid), metric, value) for metric, value in process.look()]
        return found

    def close(self) -> None:
        """Nothing to close."""


class _Process:
    def __init__(self, pid: int) -> None:
        self._folder = Path(f"/proc/{pid}")
        self._threads: dict[str, tuple[int, int]] = {}
        self._looked = 0

    def look(self) -> Iterator[tuple[str, float]]:
        now, before = time.perf_counter_ns(), self._threads
        self._threads = before | self._running()  # what ended threads have used stays
        used, switches = (sum(column) for column in zip(*self._threads.values(), strict=True))
        yield "cpu_seconds", used / 1e9
        yield "context_switches", switches
        if self._looked:
            most = max(ran - before.get(thread, (0, 0))[0] for thread, (ran, _) in self._threads.items())
            passed = now - self._looked
            yield "busiest_thread_percent", 100 * most / passed
            yield "cpu_percent", 100 * (used - sum(ran for ran, _ in before.values())) / passed
        self._looked = now
        yield "rss_bytes", int((self._folder / "statm").read_bytes().split()[1]) * _PAGE
        yield "threads", len(self._threads)
        with suppress(PermissionError):
            for line in (self._folder / "io").read_bytes().splitlines():
                name, _, value = line.partition(b": ")
                if name in _IO:
                    yield _IO[name], int(value)

    def _running(self) -> dict[str, tuple[int, int]]:
        """Nanoseconds and turns that each thread has run."""
        found = {}
        for thread in (self._folder / "task").iterdir():
            with suppress(OSError, ValueError):
                ran, _, turns = (thread / "schedstat").read_bytes().split()
                found[thread.name] = (int(ran), int(turns))
        if not found:
            raise ProcessLookupError
        return found
