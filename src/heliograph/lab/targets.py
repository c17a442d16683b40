"""The brokers that can be measured. To add a peer, write one class and list it in TARGETS."""

import os
import re
import select
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from pathlib import Path

from heliograph import __version__
from heliograph.lab.certificate import Certificate
from heliograph.lab.link import HOST


class Target(ABC):
    """A broker that this machine may have."""

    name: str
    on_request = False
    """Measured only when it is named."""

    @abstractmethod
    def version(self) -> str | None:
        """Its version, None when it is not installed."""

    @abstractmethod
    def command(self, directory: Path, port: int, tls: Certificate | None) -> list[str]:
        """How to start it in the foreground on this port of the loopback; it may write its configuration here."""


class Heliograph(Target):
    """Ours."""

    name = "heliograph"

    def version(self) -> str | None:
        """The version of this package."""
        return __version__

    def command(self, directory: Path, port: int, tls: Certificate | None) -> list[str]:
        """Limits out of the way of ten thousand connections, and no line in the log for each, as for the peers."""
        kind = 'kind = "tcp"' if tls is None else f'kind = "tls"\ncert = "{tls.cert}"\nkey = "{tls.key}"'
        config = directory / "heliograph.toml"
        config.write_text(
            f"""
[[listener]]
{kind}
host = "{HOST}"
port = {port}
[log]
level = "warning"
[http]
enabled = false
[limits]
connections = 20000
connects_per_second = 100000
inflight = 65535
max_messages = 100000
"""
        )
        return [sys.executable, "-m", "heliograph.cli.main", "serve", "--config", str(config)]


class Mosquitto(Target):
    """Eclipse Mosquitto."""

    name = "mosquitto"

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

    def command(self, directory: Path, port: int, tls: Certificate | None) -> list[str]:
        """No limits, no files, no log.

        `set_tcp_nodelay` stays off, its default: it writes message by message, and with Nagle's algorithm the kernel
        gathers those writes. Measured, that halves its CPU in fan-out and is better for its latency under load, too.
        """
        lines = [
            f"listener {port} {HOST}",
            "max_connections -1",
            "allow_anonymous true",
            "max_inflight_messages 0",
            "max_queued_messages 0",
            "persistence false",
            "log_type none",
        ]
        if os.geteuid() == 0:
            lines.append("user root")  # or it becomes a user who cannot read the key for TLS
        if tls is not None:
            lines += [f"certfile {tls.cert}", f"keyfile {tls.key}"]
        config = directory / "mosquitto.conf"
        config.write_text("\n".join(lines) + "\n")
        return [self._program or self.name, "-c", str(config)]


class BareLoop(Target):
    """No broker, but what one Python process must do at the least; for cases with one packet per read."""

    name = "bare-loop"
    on_request = True

    def version(self) -> str | None:
        """Epoll is what it needs."""
        return __version__ if hasattr(select, "epoll") else None

    def command(self, directory: Path, port: int, tls: Certificate | None) -> list[str]:
        """It has no configuration."""
        return [sys.executable, "-m", "heliograph.lab.bare_loop", str(port)]


TARGETS: tuple[type[Target], ...] = (Heliograph, Mosquitto, BareLoop)
