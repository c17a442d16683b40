"""The interface of a broker that this machine may have: subclass `Target`, and list it in `target_catalogue`."""

import re
import shutil
import signal
import subprocess
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from heliograph.lab.errors import TargetNotInstalled
from heliograph.lab.targets.requirements import Door, Layout


@dataclass(frozen=True)
class Certificate:
    """A self-signed certificate and its key, as PEM files."""

    cert: Path
    key: Path


def make_certificate(directory: Path) -> Certificate:
    """Make one in this directory."""
    if shutil.which("openssl") is None:
        raise TargetNotInstalled(
            "the cases with TLS need the openssl command; install openssl, or choose others with --case"
        )
    made = Certificate(directory / "cert.pem", directory / "key.pem")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    command += ["-addext", "keyUsage=digitalSignature,keyCertSign", "-out", str(made.cert), "-keyout", str(made.key)]
    subprocess.run(command, check=True, capture_output=True)
    return made


class Statistic(NamedTuple):
    """One figure at one moment."""

    source: str  # `server` for the whole, `queue` for one queue or subscription
    name: str
    metric: str
    value: float


class Statistics(Protocol):
    """Reads figures; made once for a run, read about once a second."""

    def read(self) -> list[Statistic]:
        """The figures now; none when it does not answer in time."""

    def close(self) -> None:
        """Close connections."""


@dataclass(frozen=True)
class Listener:
    """A port that clients come in by."""

    port: int
    protocol: str = "mqtt"  # or amqp
    transport: str = "tcp"  # or tls, ws, wss

    @property
    def encrypted(self) -> bool:
        """Whether it needs a certificate."""
        return self.transport in {"tls", "wss"}


@dataclass(frozen=True)
class TargetSetup:
    """What a broker is started with."""

    directory: Path  # its own, for its configuration and whatever else it writes
    listeners: tuple[Listener, ...]
    tls: Certificate | None = None  # there is one if a listener is encrypted
    durable: bool = False  # whether the load has sessions that outlive their connections
    layout: Layout = field(default_factory=Layout)
    spare_ports: tuple[int, ...] = ()  # free ones for whatever else it listens to
    max_messages: int | None = None  # that may wait in one subscription; None: whatever suits a load
    max_message_size: int | None = None  # bytes; None: its default
    pages: int = 0  # the port for its statistics; 0: not needed

    @property
    def port(self) -> int:
        """Of the first listener."""
        return self.listeners[0].port

    @property
    def amqp(self) -> bool:
        """Whether AMQP clients come."""
        return any(listener.protocol == "amqp" for listener in self.listeners)

    @property
    def data(self) -> Path:
        """The folder for what it stores."""
        return self.directory / "data"

    @property
    def certificate(self) -> Certificate:
        """The one that encrypted listeners show."""
        assert self.tls is not None
        return self.tls


class Target(ABC):
    """A broker that this machine may have."""

    name: str
    install_hint = ""
    """How to install it, as a command."""
    capabilities = frozenset({"mqtt"})
    """Protocols and features; see `capabilities` and what cases need."""
    compared_protocols = frozenset({"mqtt", "amqp"})
    """Cases of `helio bench` with these protocols measure it."""
    only_if_named = False
    """Measured only when it is named."""
    only_compared = False
    """Measured only in cases that compare two durabilities of our server."""
    crash_signal = signal.SIGKILL
    """The signal that ends it before a recovery."""
    stop_signal = signal.SIGTERM
    """The signal that ends it after a measurement."""
    longest_queue = sys.maxsize
    """Messages that it gets at most in a case that counts messages instead of seconds."""

    @abstractmethod
    def version(self) -> str | None:
        """Its version, None when it is not installed."""

    @abstractmethod
    def command(self, setup: TargetSetup) -> list[str]:
        """How to start it in the foreground on these ports of the loopback; it may write its configuration there."""

    def environment(self, setup: TargetSetup) -> dict[str, str]:
        """Environment variables that it needs in addition."""
        return {}

    def doors(self, setup: TargetSetup) -> tuple[Door, ...]:
        """Where AMQP clients come in, one for each queue manager."""
        return ()

    def statistics(self, setup: TargetSetup) -> Statistics | None:
        """Its own statistics while it runs; None if it has none that are cheap to read."""
        return None


def program_version(program: str | None, option: str, pattern: str) -> str | None:
    """The version that a program prints when it is called with this option; None when there is no such program."""
    if program is None:
        return None
    text = subprocess.run([program, option], capture_output=True, text=True, check=False).stdout
    found = re.search(pattern, text)
    return found[1] if found else "unknown"
