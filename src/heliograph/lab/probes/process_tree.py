"""Processes and those that they have started, and what all of them together have used."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import psutil


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
