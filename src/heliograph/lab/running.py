"""A broker process for one measurement: fresh, on a free port, on a core of its own where there are two."""

import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psutil

import heliograph
from heliograph.lab.amqp_client import Client
from heliograph.lab.bytestream import HOST, Address, BrokerGone
from heliograph.lab.case import Restart
from heliograph.lab.certificate import make_certificate
from heliograph.lab.disk import work_folder
from heliograph.lab.layout import Layout
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
        self.doors = target.doors(setup)
        self.address = Address(setup.port, setup.tls.client_context() if setup.tls else None)
        self._target = target
        self._core = core
        self._log = setup.directory / "log"
        self._command = target.command(setup)
        self._environment = source_environment() | target.environment(setup)
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
        self._end(self._target.last_signal, SAVE_SECONDS)
        before = before_start()
        self._process = self._start()
        # The kernel may take a connection early; an answer comes from a broker that is ready.
        links: list[Client | Link] = [Client(door, "after-restart") for door in self.doors]
        links = links or [Link(self.address, "after-restart")]
        for link in links:
            link.finish()
        spent = self.meter.read().since(before)
        for link in links:
            link.close()
        return Restart(spent, self.meter)

    def stop(self) -> None:
        """End it in good order if it can."""
        self._end(self._target.stop_signal, STOP_SECONDS)

    def _end(self, last: signal.Signals, patience: float) -> None:
        """End it by this signal, and whatever it has started and left behind."""
        children = [] if self._process.poll() is not None else psutil.Process(self.pid).children(recursive=True)
        self._process.send_signal(last)
        try:
            self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for child in children:
            with suppress(psutil.NoSuchProcess):
                child.kill()
        psutil.wait_procs(children, STOP_SECONDS)

    def _start(self) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log, on_core(self._core):  # inherited, so that it holds for every thread
            process = subprocess.Popen(
                self._command, stdout=log, stderr=log, cwd=self._log.parent, env=self._environment
            )
        try:
            self._await_listeners(process)
        except BaseException:
            self._process = process
            self._end(signal.SIGKILL, STOP_SECONDS)
            raise
        return process

    def _await_listeners(self, process: subprocess.Popen[bytes]) -> None:
        end = time.monotonic() + START_SECONDS
        for port in {self.address.port, *[door.address.port for door in self.doors]}:
            while not _listens(port):
                if process.poll() is not None:
                    last = self._log.read_text(errors="replace").strip().rpartition("\n")[2]
                    raise BrokerGone(f"it ended with status {process.returncode}, saying: {last}")
                if time.monotonic() > end:
                    raise BrokerGone(f"nothing listened on port {port} within {START_SECONDS:.0f} s")
                time.sleep(0.01)


def _listens(port: int) -> bool:
    try:
        socket.create_connection((HOST, port), timeout=1).close()
    except OSError:
        return False
    return True


@contextmanager
def running(
    target: Target,
    core: int | None,
    *,
    tls: bool = False,
    durable: bool = False,
    amqp: bool = False,
    layout: Layout | None = None,
) -> Iterator[Broker]:
    """Start this broker with an empty data folder, and stop it afterwards."""
    with tempfile.TemporaryDirectory(prefix="helio-bench-", dir=work_folder()) as name:
        directory = Path(name)
        layout = layout or Layout()
        port, *spare = _free_ports(layout.managers + 2)
        certificate = make_certificate(directory) if tls else None
        setup = Setup(directory, port, certificate, durable, amqp, layout, tuple(spare))
        setup.data.mkdir()
        broker = Broker(target, setup, core)
        try:
            yield broker
        finally:
            broker.stop()


def source_environment() -> dict[str, str]:
    """Ours must be the code that measures, not another copy that is installed: a relative PYTHONPATH would not do."""
    paths = [str(Path(heliograph.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(path for path in paths if path)}


def _free_ports(count: int) -> list[int]:
    """Different ones, as all are looked for before any is given back."""
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind((HOST, 0))
        return [probe.getsockname()[1] for probe in probes]
