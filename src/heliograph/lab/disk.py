"""Where brokers put what they store: on a real disk if there is one at hand, and what that disk is like."""

import os
import tempfile
import time
from pathlib import Path
from statistics import median

import psutil

IN_MEMORY = {"tmpfs", "ramfs"}  # forcing something to these costs nothing, and proves nothing
TRIES = 15


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
