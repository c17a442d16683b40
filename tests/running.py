"""A real server process for tests: `helio serve` with a configuration of the test's own."""

import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
import tomllib
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from configurations import PLAIN
from forked_helio import ForkedProcess, start_helio

SOURCE = Path(__file__).parents[1] / "src"
PATIENCE = 20.0
"""Seconds that anything may take before the test gives up; nothing here takes one on an idle machine."""

_SCHEMES = {"mqtt", "mqtts", "amqp", "amqps", "ws", "wss", "unix", "http"}

Process = subprocess.Popen[bytes] | ForkedProcess


def environment(**more: str) -> dict[str, str]:
    """The environment of a `helio` that is run from these sources."""
    return {**os.environ, "PYTHONPATH": str(SOURCE), **more}


def helio(*words: str) -> list[str]:
    """The command line for a `helio` command."""
    return [sys.executable, "-m", "heliograph.cli.main", *words]


class Lines:
    """The lines of a stream, collected as they come, so that one can be waited for."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._lines: list[str] = []
        self._news = threading.Condition()
        self._ended = False
        self._thread = threading.Thread(target=self._collect, daemon=True)
        self._thread.start()

    def _collect(self) -> None:
        for line in self._stream:
            with self._news:
                self._lines.append(line.decode().rstrip("\n"))
                self._news.notify_all()
        with self._news:
            self._ended = True
            self._news.notify_all()

    def wait_for(self, text: str, times: int = 1) -> str:
        """The line in which `text` comes up for the `times`th time, as soon as it is there."""

        def found() -> list[str]:
            return [line for line in self._lines if text in line]

        with self._news:
            self._news.wait_for(lambda: len(found()) >= times or self._ended, PATIENCE)
            assert len(found()) >= times, f"expected {text!r}, found:\n" + "\n".join(self._lines)
            return found()[times - 1]

    def text(self) -> str:
        """Everything so far."""
        with self._news:
            return "\n".join(self._lines)

    def close(self) -> None:
        self._thread.join(PATIENCE)
        self._stream.close()


class RunningServer:
    """A server process and where it can be reached."""

    def __init__(self, config: Path, env: Mapping[str, str], *, announced: bool = True) -> None:
        self.config = config
        self.settled = False
        """Whether the end of the process has been seen to; at the end of the test nobody need do it any more."""
        if announced:
            _check_ports(config)
        words = ["serve", "--config", str(config)]
        # What only an interpreter or a loader that starts can see needs one.
        if any(name.startswith(("PYTHON", "LD_")) for name in env):
            self.process: Process = subprocess.Popen(
                helio(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(**env)
            )
        else:
            self.process = start_helio(words, environment(**env), environment())
        self.banner, self.log = Lines(self.process.stdout), Lines(self.process.stderr)
        if announced:
            try:
                self.banner.wait_for("Stop with Ctrl-C")
            except AssertionError:
                self.kill()
                raise AssertionError(f"the server did not start:\n{self.log.text()}") from None

    @property
    def addresses(self) -> list[str]:
        """What the banner names, as URLs."""
        lines = [line.strip() for line in self.banner.text().splitlines() if line.startswith("  ")]
        return [line for line in lines if line.split(":")[0] in _SCHEMES]

    def url(self, scheme: str) -> str:
        """The first address with this scheme."""
        return next(address for address in self.addresses if address.startswith(scheme + ":"))

    def port_of(self, scheme: str) -> int:
        """The port of the first address with this scheme."""
        port = urlsplit(self.url(scheme)).port
        assert port
        return port

    @property
    def port(self) -> int:
        """The port of the first plain listener."""
        return self.port_of("mqtt")

    def page(self, path: str) -> str:
        """One of the operators' pages."""
        with urllib.request.urlopen(self.url("http").rstrip("/") + path, timeout=PATIENCE) as answer:
            return answer.read().decode()

    def stats(self) -> dict[str, Any]:
        """The figures of /stats."""
        figures: dict[str, Any] = json.loads(self.page("/stats"))
        return figures

    def wait_until(self, condition: Callable[[dict[str, Any]], bool], patience: float = PATIENCE) -> None:
        """Wait until the figures of /stats are as they should be."""
        give_up = time.monotonic() + patience
        while not condition(figures := self.stats()):
            assert time.monotonic() < give_up, figures
            time.sleep(0.02)

    def memory(self) -> int:
        """Resident memory of the process, in bytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
        return int(line.split()[1]) * 1024

    def descriptors(self) -> int:
        """How many files the process has open."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def limit_descriptors(self, number: int) -> None:
        """Let the process have no more open files than this."""
        resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE, (number, number))

    def send_signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def reload(self, config: str | None = None) -> None:
        """Reload, with another text in the configuration file if there is one, and wait until that is done."""
        if config is not None:
            write_config(self.config, config)
        before = self.log.text().count("configuration reloaded")
        self.send_signal(signal.SIGHUP)
        self.log.wait_for("configuration reloaded", before + 1)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Stop the server as an operator does; it must end well, and never have met an internal error."""
        if self.process.poll() is None:
            self.send_signal(number)
        status = self.ended()
        assert status == 0, f"exit status {status}:\n{self.log.text()[-3000:]}"
        before, found, after = self.log.text().partition("Traceback")
        assert not found, before[-1000:] + found + after[:3000]

    def ended(self) -> int:
        """The exit status, once the process has ended by itself."""
        try:
            status = self.process.wait(PATIENCE)
        finally:
            self.kill()
        return status

    def kill(self) -> None:
        """End the process if it still runs, and let go of its streams."""
        self.settled = True
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.banner.close()
        self.log.close()


def _check_ports(config: Path) -> None:
    """Nobody but the test's server may have its ports: a port that is left to the default can be taken."""
    settings = tomllib.loads(config.read_text())
    listeners = settings.get("listener", [{}])
    assert all("port" in one or one.get("kind") == "unix" for one in listeners), "a listener has no port of its own"
    http = settings.get("http", {})
    assert "port" in http or http.get("enabled") is False, "[http] has no port of its own"


def write_config(file: Path, text: str) -> None:
    """Write a configuration; servers whose configuration does not name a folder for their data get one each."""
    storage = "" if "[storage]" in text else f'\n[storage]\ndirectory = "{file.stem}-data"\n'
    file.write_text(text + storage)


Serve = Callable[..., RunningServer]
"""Starts a server: the text of its configuration, then options of RunningServer."""


@contextmanager
def servers(folder: Path) -> Iterator[Serve]:
    """A way to start servers, all of which are stopped at the end unless the test has done so."""
    started: list[RunningServer] = []

    def serve(
        config: str = PLAIN, *, descriptors: int | None = None, announced: bool = True, **env: str
    ) -> RunningServer:
        file = folder / f"server-{len(started)}.toml"
        write_config(file, config)
        started.append(RunningServer(file, env, announced=announced))
        return started[-1]

    try:
        yield serve
    except BaseException:
        for server in started:
            server.kill()
        raise
    try:
        for server in started:
            if not server.settled:
                server.stop()
    finally:
        for server in started:
            server.kill()
