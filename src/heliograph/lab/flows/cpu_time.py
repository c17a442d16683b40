"""CPU time of processes, as exactly as Linux knows it."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import psutil


def cpu_seconds(pids: Iterable[int]) -> float:
    """What these processes and all below them have used so far, all threads that still run together."""
    return sum(_of_process(process.pid) for pid in pids for process in _tree(pid)) / 1e9


def _tree(pid: int) -> list[psutil.Process]:
    try:
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _of_process(pid: int) -> int:
    """Nanoseconds: the scheduler's own account, which is not rounded to ticks as others are."""
    total = 0
    for file in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with suppress(OSError, ValueError):  # a thread may end at any time
            total += int(file.read_text().split()[0])
    return total
