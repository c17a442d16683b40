"""How much of this machine a local session may use."""

import os
from dataclasses import dataclass
from pathlib import Path

_GIGABYTE = 1 << 30
_CGROUP = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class Machine:
    """Cores and bytes of memory that this process may use."""

    cores: int
    memory: int

    @property
    def heap(self) -> str:
        """Java's heap: a quarter, because Python's workers, Arrow and the page cache live beside it."""
        share = min(max(self.memory // 4, _GIGABYTE), 8 * _GIGABYTE)
        return f"{share >> 20}m"


def this_machine(cgroup: Path = _CGROUP) -> Machine:
    """What the machine has, or the container if that is less."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return Machine(min(cores, _quota_of_cores(cgroup) or cores), min(memory, _limit_of_memory(cgroup) or memory))


def _quota_of_cores(cgroup: Path) -> int | None:
    quota, _, period = _read(cgroup / "cpu.max").partition(" ")
    return max(1, int(quota) // int(period)) if quota.isdecimal() else None


def _limit_of_memory(cgroup: Path) -> int | None:
    limit = _read(cgroup / "memory.max")
    return int(limit) if limit.isdecimal() else None


def _read(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""
