"""Servers for tests that restart them, and disks for tests that fill them."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.restarting import RestartingServer
from faults.small_disks import FileSizeLimit, SmallDisk, SmallFileSystem, can_mount


@pytest.fixture(params=["stop", "kill"])
def lasting(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RestartingServer]:
    """A running server whose `restart` keeps its port and its data; each test is run with SIGTERM and with SIGKILL."""
    server = RestartingServer(tmp_path, killed=request.param == "kill")
    try:
        yield server
    finally:
        server.close()


@pytest.fixture(params=["limit", "tmpfs"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SmallDisk]:
    """A disk of a server's own; each test is run with a limit on file sizes and with a file system that is full."""
    if request.param == "limit":
        yield FileSizeLimit(tmp_path / "data")
        return
    if not can_mount():
        pytest.skip("mounting a file system needs root; the limit on file sizes is tested in its stead")
    small = SmallFileSystem(tmp_path / "data")
    try:
        yield small
    finally:
        subprocess.run(["umount", "--lazy", str(small.folder)], check=True)
