"""Runs the telemetry example: the server with its pipeline, simulated devices, and a subscriber that shows alerts.

python examples/telemetry/run.py [CONFIG]

Without CONFIG it takes other ports where the usual ones are in use; the server says which. Ctrl-C stops everything in
good order; started again, it goes on where it was.
"""

import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

HERE = Path(__file__).parent
HELIO = sys.executable, "-m", "heliograph.cli.main"
LOOK = 0.05
READY = "Stop with Ctrl-C"
"""The end of what the server says when it takes connections."""

Process = subprocess.Popen[bytes]


class Example:
    """What runs, until Ctrl-C, or until one of them ends by itself."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._is_to_stop = False
        self._running: dict[str, Process] = {}
        self._showing: list[threading.Thread] = []
        self._banner: list[str] = []
        self._alerts = 0
        # The first says that it is to stop; more of them change nothing: `make`, too, hands on what it got.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop)

    def run(self, config: Path) -> int:
        """The exit status."""
        try:
            server = self._start("server", *HELIO, "serve", "--config", str(config), show=self._show_banner)
            self._watch(until=lambda: any(READY in line for line in self._banner))
            if not self._is_to_stop:
                port = self._port()
                self._start("simulated devices", sys.executable, str(HERE / "devices.py"), f"127.0.0.1:{port}")
                alerts = *HELIO, "sub", "-p", str(port), "-t", "alerts/#", "-v"
                self._start("subscriber", *alerts, show=self._show_alert)
                print(
                    "-- Spark is starting; the first alert comes when the first window of readings is full", flush=True
                )
            self._watch(until=lambda: False)
            print("-- stopping; what is in hand is finished", flush=True)
        finally:
            self._end()
        return 0 if server.returncode == -signal.SIGTERM else server.returncode

    def _stop(self, *_: object) -> None:
        self._is_to_stop = True

    def _start(self, name: str, *command: str, show: Callable[[str], None] | None = None) -> Process:
        """Start a process that Ctrl-C does not reach: they are stopped one after the other."""
        stdout = None if show is None else subprocess.PIPE
        process = self._running[name] = subprocess.Popen(command, stdout=stdout, start_new_session=True)
        if show is not None:
            thread = threading.Thread(target=_show_lines, args=(process, show))
            thread.start()
            self._showing.append(thread)
        return process

    def _watch(self, until: Callable[[], bool]) -> None:
        """Wait until something is so, or until it is time to stop."""
        while not (self._is_to_stop or until()):
            for name, process in self._running.items():
                if (status := process.poll()) is not None:
                    raise SystemExit(f"-- the {name} ended by itself, with exit status {status}; all is stopped")
            if self._showing and not self._alerts:
                self._show_waiting()
            time.sleep(LOOK)

    def _show_waiting(self) -> None:
        """A line on a terminal that is written over, so that nobody wonders whether anything happens."""
        if sys.stderr.isatty():
            print(f"\r-- waiting, {time.monotonic() - self._began:.0f} s", end="\r", file=sys.stderr, flush=True)

    def _port(self) -> int:
        """Where our own server takes MQTT; another broker may listen elsewhere on this machine."""
        for line in self._banner:
            address = urlsplit(line.strip())
            if address.scheme == "mqtt" and address.port:
                return address.port
        raise SystemExit("-- expected a server with a listener for MQTT without TLS, found none; all is stopped")

    def _show_banner(self, line: str) -> None:
        self._banner.append(line)
        print(line, flush=True)

    def _show_alert(self, line: str) -> None:
        if not self._alerts:
            print(f"-- the first alert, {time.monotonic() - self._began:.0f} s after the start", flush=True)
        self._alerts += 1
        print(line, flush=True)

    def _end(self) -> None:
        """The server last: the others would miss it."""
        for process in reversed(self._running.values()):
            process.terminate()
            process.wait()
        for thread in self._showing:
            thread.join()
        # Only the end of this process is left, and another Ctrl-C must not turn that into a failure. A handler of our
        # own would not do: the interpreter takes it away before the process ends.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)


def usable(config: Path) -> Path:
    """The configuration, or one beside it with free ports in place of those that other programs have here."""
    text = config.read_text()
    taken = [int(port) for port in re.findall(r"^port = (\d+)$", text, re.MULTILINE) if _is_taken(int(port))]
    if not taken:
        return config
    for port in taken:
        print(f"-- port {port} is in use by another program; a free one is taken in its place", flush=True)
        text = text.replace(f"port = {port}\n", "port = 0\n")
    other = config.with_name("heliograph-free-ports.toml")
    other.write_text(text)
    return other


def _is_taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server does
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False


def _show_lines(process: Process, show: Callable[[str], None]) -> None:
    assert process.stdout is not None
    with process.stdout as lines:
        for line in lines:
            show(line.decode().rstrip())


if __name__ == "__main__":
    sys.exit(Example().run(Path(sys.argv[1]) if len(sys.argv) > 1 else usable(HERE / "heliograph.toml")))
