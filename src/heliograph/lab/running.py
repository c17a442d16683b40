"""A broker process for one measurement: fresh, on a free port, on a core of its own where there are two."""

import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import heliograph
from heliograph.lab.bytestream import HOST, Address, BrokerGone
from heliograph.lab.case import Restart
from heliograph.lab.certificate import make_certificate
from heliograph.lab.disk import work_folder
from heliograph.lab.link import Link
from heliograph.lab.machine import on_core
from heliograph.lab.meter import Meter, before_start
from heliograph.lab.targets import Setup, Target

START_SECONDS = 120.0  # a broker may have a million messages to recover before it listens
STOP_SECONDS = 5.0
SAVE_SECONDS = 120.0  # for a broker that saves its messages only now


class Broker:
    """A broker with a directory and a port of its own, which can be ended and started again."""

    def __init__(self, target: Target, setup: Setup, core: int | None) -> None:
        self.data = setup.data
        self.address = Address(setup.port, setup.tls.client_context() if setup.tls else None)
        self._target = target
        self._core = core
        self._log = setup.directory / "log"
        self._command = target.command(setup)
        self._process = self._start()

    @property
    def pid(self) -> int:
        """Of the process that runs now."""
        return self._process.pid

    @property
    def meter(self) -> Meter:
        """For the process that runs now."""
        return Meter(self.pid)

    def restart(self) -> Restart:
        """End it in the way that its kind calls for, start it again, and see how long that takes."""
        self._process.send_signal(self._target.last_signal)
        try:
            self._process.wait(SAVE_SECONDS)
        except subprocess.TimeoutExpired:
            raise BrokerGone(f"it did not end within {SAVE_SECONDS:.0f} s") from None
        before = before_start()
        self._process = self._start()
        # The kernel may take a connection early; an answer comes from a broker that is ready.
        link = Link(self.address, "after-restart")
        link.finish()
        spent = self.meter.read().since(before)
        link.close()
        return Restart(spent, self.meter)

    def stop(self) -> None:
        """End it in good order if it can."""
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _start(self) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log, on_core(self._core):  # inherited, so that it holds for every thread
            process = subprocess.Popen(self._command, stdout=log, stderr=log, cwd=self._log.parent, env=_environment())
        try:
            self._await_listener(process)
        except BaseException:
            process.kill()
            process.wait()
            raise
        return process

    def _await_listener(self, process: subprocess.Popen[bytes]) -> None:
        port = self.address.port
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            if process.poll() is not None:
                last = self._log.read_text(errors="replace").strip().rpartition("\n")[2]
                raise BrokerGone(f"it ended with status {process.returncode}, saying: {last}")
            try:
                socket.create_connection((HOST, port), timeout=1).close()
            except OSError:
                time.sleep(0.01)
            else:
                return
        raise BrokerGone(f"nothing listened on port {port} within {START_SECONDS:.0f} s")


@contextmanager
def running(target: Target, core: int | None, *, tls: bool = False, durable: bool = False) -> Iterator[Broker]:
    """Start this broker with an empty data folder, and stop it afterwards."""
    with tempfile.TemporaryDirectory(prefix="helio-bench-", dir=work_folder()) as name:
        directory = Path(name)
        setup = Setup(directory, _free_port(), make_certificate(directory) if tls else None, durable)
        setup.data.mkdir()
        broker = Broker(target, setup, core)
        try:
            yield broker
        finally:
            broker.stop()


def _environment() -> dict[str, str]:
    """Ours must be the code that measures, not another copy that is installed: a relative PYTHONPATH would not do."""
    paths = [str(Path(heliograph.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(path for path in paths if path)}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port
