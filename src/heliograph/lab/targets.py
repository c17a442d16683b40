"""What a broker is to the lab, and those that speak MQTT. `peers` lists all that can be measured."""

import os
import re
import select
import shutil
import signal
import subprocess
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path

from heliograph import __version__
from heliograph.lab.bytestream import HOST, Address
from heliograph.lab.certificate import Certificate
from heliograph.lab.layout import Door, Layout


@dataclass(frozen=True)
class Setup:
    """What a broker is started with."""

    directory: Path  # its own, for its configuration and whatever else it writes
    port: int
    tls: Certificate | None = None
    durable: bool = False  # whether the load has sessions that outlive their connections
    amqp: bool = False  # whether it listens for AMQP instead of MQTT
    layout: Layout = field(default_factory=Layout)
    spare_ports: tuple[int, ...] = ()  # free ones for whatever else it listens to

    @property
    def data(self) -> Path:
        """The folder for what it stores."""
        return self.directory / "data"


class Target(ABC):
    """A broker that this machine may have."""

    name: str
    package = ""
    """How Debian calls what has to be installed."""
    knows = frozenset({"mqtt"})
    """Protocols and features; see what cases need."""
    on_request = False
    """Measured only when it is named."""
    only_compared = False
    """Measured only in cases that compare two durabilities of our server."""
    last_signal = signal.SIGKILL
    """What ends it before a recovery."""
    stop_signal = signal.SIGTERM
    """What ends it after a measurement."""
    longest_queue = sys.maxsize
    """Messages that it gets at most in a case that counts messages instead of seconds."""

    @abstractmethod
    def version(self) -> str | None:
        """Its version, None when it is not installed."""

    @abstractmethod
    def command(self, setup: Setup) -> list[str]:
        """How to start it in the foreground on this port of the loopback; it may write its configuration there."""

    def environment(self, setup: Setup) -> dict[str, str]:
        """What it must find in its environment besides what is there already."""
        return {}

    def doors(self, setup: Setup) -> tuple[Door, ...]:
        """Where AMQP clients come in, one for each queue manager."""
        return ()


class Heliograph(Target):
    """Ours, which acknowledges what it stores when that has been forced to the disk."""

    name = "heliograph"
    knows = frozenset({"mqtt", "amqp", "selectors"})
    durability = "disk"

    def version(self) -> str | None:
        """The version of this package."""
        return __version__

    def command(self, setup: Setup) -> list[str]:
        """Limits out of the way of ten thousand connections, and no line in the log for each, as for the peers."""
        tls = setup.tls
        kind = 'kind = "tcp"' if tls is None else f'kind = "tls"\ncert = "{tls.cert}"\nkey = "{tls.key}"'
        config = setup.directory / "heliograph.toml"
        config.write_text(
            f"""
[[listener]]
{'protocol = "amqp"' if setup.amqp else ""}
{kind}
host = "{HOST}"
port = {setup.port}
{_queue_tables(setup)}
[storage]
directory = "{setup.data}"
durability = "{self.durability}"
[log]
level = "warning"
[http]
enabled = false
[limits]
connections = 100000
connects_per_second = 100000
inflight = 65535
{_LONG_QUEUES if setup.durable else "max_messages = 100000"}
"""
        )
        return [sys.executable, "-m", "heliograph.cli.main", "serve", "--config", str(config)]

    def doors(self, setup: Setup) -> tuple[Door, ...]:
        """One queue manager is the server itself; of several, each is a process with a port of its own."""
        if not setup.amqp:
            return ()
        ports = [setup.port] if setup.layout.managers == 1 else setup.spare_ports[: setup.layout.managers]
        return tuple(Door(Address(port)) for port in ports)


def _queue_tables(setup: Setup) -> str:
    managers, queues = setup.layout.managers, setup.layout.queues
    if managers == 1:
        return "".join(f'[[queue]]\nname = "{queue}"\nmax_depth = {_DEPTH}\n' for queue in queues)
    tables = ""
    for number, port in zip(range(managers), setup.spare_ports, strict=False):
        tables += f'[[queue_manager]]\nname = "QM{number}"\n'
        tables += f'[[queue_manager.listener]]\nprotocol = "amqp"\nhost = "{HOST}"\nport = {port}\n'
        for queue in queues:
            tables += f'[[queue_manager.queue]]\nname = "{queue}"\nmax_depth = {_DEPTH}\n'
    return tables


_DEPTH = 100_000_000  # no limit that a load reaches
# Room for ten million messages that wait for one consumer.
_LONG_QUEUES = """max_messages = 20000000
max_bytes = 17179869184
buffered_bytes = 17179869184"""


class HeliographMemory(Heliograph):
    """Ours, which acknowledges as soon as the kernel has what it stores: shows what waiting for the disk costs."""

    name = "heliograph-memory"
    durability = "memory"
    only_compared = True


class Mosquitto(Target):
    """Eclipse Mosquitto.

    What it stores in durable cases, it keeps in memory and writes to the disk when it ends and every
    `autosave_interval`, which is half an hour as packaged and stays so: no case is that long. So it acknowledges
    before anything is on the disk, and is asked for less than our server is. As a crash would leave nothing to
    recover, it is ended with SIGTERM before a recovery. Of a backlog of ten million it gets one: more would take it
    minutes, and gigabytes of memory.
    """

    name = package = "mosquitto"
    last_signal = signal.SIGTERM
    longest_queue = 1_000_000

    def __init__(self) -> None:
        # Debian installs it where only root's PATH looks.
        self._program = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")

    def version(self) -> str | None:
        """Its help starts with `mosquitto version 2.0.11`."""
        if self._program is None:
            return None
        text = subprocess.run([self._program, "-h"], capture_output=True, text=True, check=False).stdout
        found = re.search(r"mosquitto version (\S+)", text)
        return found[1] if found else "unknown"

    def command(self, setup: Setup) -> list[str]:
        """No limits, no files (but for durable cases), no log.

        `set_tcp_nodelay` stays off, its default: it writes message by message, and with Nagle's algorithm the kernel
        gathers those writes. Measured, that halves its CPU in fan-out and is better for its latency under load, too.
        """
        lines = [
            f"listener {setup.port} {HOST}",
            "max_connections -1",
            "allow_anonymous true",
            "max_inflight_messages 0",
            "max_queued_messages 0",
            "log_type none",
        ]
        # It wants the slash at the end, and does not make the folder.
        lines += ["persistence true", f"persistence_location {setup.data}/"] if setup.durable else ["persistence false"]
        if os.geteuid() == 0:
            lines.append("user root")  # or it becomes a user who cannot read the key for TLS
        if setup.tls is not None:
            lines += [f"certfile {setup.tls.cert}", f"keyfile {setup.tls.key}"]
        config = setup.directory / "mosquitto.conf"
        config.write_text("\n".join(lines) + "\n")
        return [self._program or self.name, "-c", str(config)]


class BareLoop(Target):
    """No broker, but what one Python process must do at the least; for cases with one packet per read."""

    name = "bare-loop"
    on_request = True

    def version(self) -> str | None:
        """Epoll is what it needs."""
        return __version__ if hasattr(select, "epoll") else None

    def command(self, setup: Setup) -> list[str]:
        """It has no configuration."""
        return [sys.executable, "-m", "heliograph.lab.bare_loop", str(setup.port)]
