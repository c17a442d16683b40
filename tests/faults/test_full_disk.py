"""A disk without room: nothing is acknowledged that is not safe, clients are told why, and all goes on by itself."""

import json
import resource
import subprocess
import urllib.error
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from heliograph.mqtt import Publish, Reason
from plain_client import PlainClient
from running import PLAIN, RunningServer, Serve

LASTING = {"session_expiry_interval": 3600}


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


@pytest.fixture(params=["limit", "tmpfs"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SmallDisk]:
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


def health(server: RunningServer) -> tuple[int, str]:
    try:
        return 200, server.page("/healthz")
    except urllib.error.HTTPError as answer:
        return answer.code, json.loads(answer.read())["error"]


def test_without_room_nothing_is_acknowledged_until_there_is_room_again(serve: Serve, disk: SmallDisk) -> None:
    server = serve(f'{PLAIN}\n[storage]\ndirectory = "{disk.folder}"\n')
    with PlainClient(server.port).connected("away", clean_start=False, properties=LASTING) as away:
        away.subscribe("kept", qos=1)
    with (
        PlainClient(server.port).connected() as speaker,
        PlainClient(server.port, version=4).connected() as older,
        PlainClient(server.port).connected() as listener,
    ):
        assert speaker.publish("kept", b"before").reason == Reason.SUCCESS
        listener.subscribe("passing", qos=1)
        disk.fill(server)
        # Too late to refuse this one: it waits for its acknowledgement.
        older.send(Publish("kept", bytes(20_000) + b"waits", qos=1, packet_id=7))
        server.log.wait_for("messages cannot be stored")
        refused = speaker.publish("kept", b"refused")
        assert refused.reason == Reason.QUOTA_EXCEEDED
        assert refused.properties["reason_string"]
        assert health(server) == (503, f"messages cannot be stored: {refused.properties['reason_string']}")
        with PlainClient(server.port) as durable:
            answer = durable.connect("new", clean_start=False, properties=LASTING)
            assert answer.reason == Reason.SERVER_UNAVAILABLE
        # What nobody stores goes on as ever.
        assert speaker.publish("passing", b"by").reason == Reason.SUCCESS
        assert listener.receive().payload == b"by"
        older.socket.settimeout(0.3)
        with pytest.raises(TimeoutError):
            older.receive()
        older.socket.settimeout(20)
        disk.make_room(server)
        assert older.receive().packet_id == 7
        server.log.wait_for("messages can be stored again")
        assert health(server)[0] == 200
        assert speaker.publish("kept", b"after").reason == Reason.SUCCESS
    server.kill()
    again = serve(f'{PLAIN}\n[storage]\ndirectory = "{disk.folder}"\n')
    with PlainClient(again.port).connected("away", clean_start=False, properties=LASTING) as away:
        arrived = [away.receive() for _ in range(3)]
        assert [one.payload[-6:] for one in arrived] == [b"before", b"\0waits", b"after"]


def test_a_server_without_room_can_be_stopped(serve: Serve, disk: SmallDisk) -> None:
    server = serve(f'{PLAIN}\n[storage]\ndirectory = "{disk.folder}"\n')
    with PlainClient(server.port).connected("away", clean_start=False, properties=LASTING) as away:
        away.subscribe("kept", qos=1)
        disk.fill(server)
        away.send(Publish("kept", bytes(20_000), qos=1, packet_id=7))
        server.log.wait_for("messages cannot be stored")
        server.stop()
        if isinstance(disk, SmallFileSystem):  # the other one has gone with the process
            disk.make_room(server)
    serve(f'{PLAIN}\n[storage]\ndirectory = "{disk.folder}"\n')
