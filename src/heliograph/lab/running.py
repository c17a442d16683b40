"""A broker process for one measurement: fresh, on a free port, on a core of its own where there are two."""

import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from heliograph.lab.case import Case, Effort, Site
from heliograph.lab.certificate import make_certificate
from heliograph.lab.link import HOST, Address, BrokerGone
from heliograph.lab.machine import on_core
from heliograph.lab.meter import Meter
from heliograph.lab.targets import Target

START_SECONDS = 10.0
STOP_SECONDS = 5.0


@contextmanager
def running(target: Target, case: Case, effort: Effort, core: int | None) -> Iterator[Site]:
    """Start this broker for this case, and stop it afterwards."""
    with tempfile.TemporaryDirectory(prefix="helio-bench-") as name:
        directory = Path(name)
        tls = make_certificate(directory) if case.tls else None
        port = _free_port()
        with (directory / "log").open("wb") as log:
            command = target.command(directory, port, tls)
            with on_core(core):  # inherited, so that it holds for every thread
                process = subprocess.Popen(command, stdout=log, stderr=log, cwd=directory)
        try:
            _await_listener(process, port, directory / "log")
            yield Site(Address(port, tls.client_context() if tls else None), Meter(process.pid), effort)
        finally:
            _stop(process)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _await_listener(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            last = log.read_text(errors="replace").strip().rpartition("\n")[2]
            raise BrokerGone(f"it ended with status {process.returncode}, saying: {last}")
        try:
            socket.create_connection((HOST, port), timeout=1).close()
        except OSError:
            time.sleep(0.02)
        else:
            return
    raise BrokerGone(f"nothing listened on port {port} within {START_SECONDS:.0f} s")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
