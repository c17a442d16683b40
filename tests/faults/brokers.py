"""Brokers that can be killed and started again on the same port and the same data: ours, and one to compare with."""

import getpass
import random
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Protocol

from running import PATIENCE, RunningServer, write_config
from tools import program


class Broker(Protocol):
    """All that a run needs of a broker."""

    port: int

    def start(self) -> None:
        """Start it; it is ready for clients on return."""

    def begin_to_start(self) -> None:
        """Start it and do not wait until it is ready."""

    def kill(self) -> None:
        """SIGKILL: no farewell, nothing written that had not been."""

    def stop(self) -> None:
        """SIGTERM, as an operator does."""


class Heliograph:
    """`helio serve` with storage in a folder. No limit is low enough to be the reason why a message is refused."""

    CONFIG = """
[[listener]]
port = {port}
[http]
port = {http_port}
hosts = ["127.1"]
[storage]
directory = "data"
durability = "{durability}"
[limits]
max_messages = 1000000
connects_per_second = 100000
"""

    def __init__(self, folder: Path, durability: str = "disk", more: str = "", http_port: int = 0) -> None:
        """`more` is configuration that a run needs besides; pages have another port each time unless one is named."""
        self.port = free_port()
        self._config = folder / "heliograph.toml"
        write_config(
            self._config, self.CONFIG.format(port=self.port, http_port=http_port, durability=durability) + more
        )
        self._server: RunningServer | None = None

    def start(self) -> None:
        self._server = RunningServer(self._config, {})

    def begin_to_start(self) -> None:
        self._server = RunningServer(self._config, {}, announced=False)

    def kill(self) -> None:
        if self._server is not None:
            self._server.kill()
            log = self._server.log.text()
            self._server = None
            assert "Traceback" not in log, log[-3000:]

    def stop(self) -> None:
        if self._server is not None:
            self._server.stop()
            self._server = None


class Mosquitto:
    """Eclipse Mosquitto. It keeps everything in memory and writes snapshots, so that it loses what came after one."""

    # Without a user of ours it would, started as root, become another one that cannot write its snapshots here.
    CONFIG = """
user {user}
listener {port} 127.0.0.1
allow_anonymous true
max_queued_messages 0
max_inflight_messages 100
persistence true
persistence_location {folder}/
autosave_on_changes {on_changes}
autosave_interval {interval}
"""

    def __init__(self, folder: Path, *, snapshots: bool = True) -> None:
        """With `snapshots` it writes one on every change; without, only when it is stopped in good order."""
        self._program = program("mosquitto", "install the package mosquitto")
        self.port = free_port()
        self._config = folder / "mosquitto.conf"
        on_changes, interval = ("true", 1) if snapshots else ("false", 3600)
        self._config.write_text(
            self.CONFIG.format(
                user=getpass.getuser(), port=self.port, folder=folder, on_changes=on_changes, interval=interval
            )
        )
        self._snapshot = folder / "mosquitto.db"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.begin_to_start()
        give_up = time.monotonic() + PATIENCE
        while not _accepts(self.port):
            assert time.monotonic() < give_up, "mosquitto does not start"
            time.sleep(0.01)

    def begin_to_start(self) -> None:
        command = [self._program, "-c", str(self._config)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)
        assert self._snapshot.exists(), "mosquitto has no snapshot: it cannot be compared with"

    def _end(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(PATIENCE)
            self._process = None


def free_port() -> int:
    """A port that nobody has, and that the kernel gives to no client.

    Clients try again and again while the server is down. On a port that outgoing connections may start from, one of
    them would sooner or later be connected to itself, and the server could not have its port back.
    """
    first_of_clients = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    for port in random.sample(range(10_000, first_of_clients), 100):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("no free port found")


def _accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), PATIENCE).close()
    except ConnectionRefusedError:
        return False
    return True
