"""The machine that measures: its cores, shared between broker and generator, its limits, and its disk."""

import os
import platform
import resource
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil

import heliograph

HOST = "127.0.0.1"
"""Where the brokers that the lab starts listen."""

IN_MEMORY = {"tmpfs", "ramfs"}  # forcing something to these costs nothing, and proves nothing
TRIES = 15


@dataclass(frozen=True)
class Cores:
    """Which core serves whom; None where the kernel decides."""

    broker: int | None = None
    generator: int | None = None


@contextmanager
def on_core(core: int | None) -> Iterator[None]:
    """Keep this process, and those that it starts meanwhile, to one core."""
    with on_cores_of(None if core is None else frozenset({core})):
        yield


@contextmanager
def on_cores_of(some: frozenset[int] | None) -> Iterator[None]:
    """Keep this thread, and what it starts meanwhile, to these cores."""
    if some is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, some)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def on_cores(most: int) -> Iterator[None]:
    """Keep this process, and those that it starts meanwhile, to so many cores, if there are more."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:most])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def split_cores() -> Iterator[Cores]:
    """Keep generator and broker apart: pin this process to one core and name another one for the brokers."""
    mine = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    cores = Cores(broker=mine[0], generator=mine[1]) if len(mine) > 1 else Cores()
    with on_core(cores.generator):
        yield cores


def raise_file_limit() -> None:
    """Allow as many open sockets as the system lets us, here and in the brokers we start."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def describe(cores: Cores) -> dict[str, object]:
    """What a reader of the results must know about this machine."""
    return {
        "cpu": _cpu_model(),
        "cpus": os.cpu_count(),
        "memory_mb": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20,
        "system": platform.platform(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "heliograph": heliograph.__version__,
        "broker_core": cores.broker,
        "generator_core": cores.generator,
    }


def _cpu_model() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def filesystem(path: Path) -> str:
    """The kind of file system that this path is on, as `ext4`; `unknown` where the system does not say."""
    place = path.resolve()
    mounts = {Path(mount.mountpoint): mount.fstype for mount in psutil.disk_partitions(all=True)}
    found = next((mounts[folder] for folder in (place, *place.parents) if folder in mounts), "")
    return found or "unknown"


def work_folder() -> Path:
    """For temporary files on a disk: the usual folder, unless that is in memory and another one is not."""
    usual = Path(tempfile.gettempdir())
    for folder in (usual, Path("/var/tmp"), Path.cwd()):  # noqa: S108 (temporary folders with random names go there)
        if folder.is_dir() and os.access(folder, os.W_OK) and filesystem(folder) not in IN_MEMORY:
            return folder
    return usual


def describe_disk() -> dict[str, object]:
    """What a reader of durable figures must know: the place, its file system, and what forcing a page to it takes."""
    folder = work_folder()
    return {"folder": str(folder), "filesystem": filesystem(folder), "sync_ms": _sync_ms(folder)}


def disk_line(disk: dict[str, object]) -> str:
    """Where data folders are, for readers of durable figures: on a file system in memory they mean nothing."""
    kind, took = disk["filesystem"], disk["sync_ms"]
    warning = " - in memory, where forcing to disk costs nothing" if kind in IN_MEMORY else ""
    return f"Data folders: {disk['folder']} ({kind}{warning}; forcing 4 KB to it takes {took} ms)."


def occupied(folder: Path) -> int:
    """Bytes that the files below this folder occupy on the disk; files may come and go meanwhile."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(place, name)).st_blocks * 512
            except FileNotFoundError:
                continue
    return total


def _sync_ms(folder: Path) -> float:
    took = []
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        for _ in range(TRIES):
            file.write(bytes(4096))
            start = time.perf_counter()
            os.fsync(file.fileno())
            took.append(time.perf_counter() - start)
    return round(median(took) * 1e3, 3)
