"""Disks whose room can be taken away from a server while it runs."""

import resource
import subprocess
from pathlib import Path
from typing import Protocol

import pytest

from running import RunningServer


class SmallDisk(Protocol):
    """Room that can be taken away from a server and given back."""

    folder: Path

    def fill(self, server: RunningServer) -> None: ...

    def make_room(self, server: RunningServer) -> None: ...


class FileSizeLimit:
    """No file of the process may grow any more: the kernel refuses writes, as root and as anybody else."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fill(self, server: RunningServer) -> None:
        size = max(file.stat().st_size for file in self.folder.glob("*.log"))
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    def make_room(self, server: RunningServer) -> None:
        limits = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, limits)


class SmallFileSystem:
    """A file system of four megabytes, which somebody else has filled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)], check=True)

    def fill(self, server: RunningServer) -> None:
        filler = (self.folder / "filler").open("wb", buffering=0)
        with filler, pytest.raises(OSError, match="No space left"):
            while True:
                filler.write(bytes(4096))

    def make_room(self, server: RunningServer) -> None:
        (self.folder / "filler").unlink()


def can_mount() -> bool:
    """Whether this is root with all its powers; a container's often is not."""
    probe = 'd=$(mktemp -d) && mount -t tmpfs tmpfs "$d" && umount "$d" && rmdir "$d"'
    return subprocess.run(["sh", "-c", probe], capture_output=True, check=False).returncode == 0
