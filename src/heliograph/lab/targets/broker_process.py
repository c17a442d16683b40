"""A broker process for one measurement: fresh, on free ports, on a core of its own where there are two.

`Broker` starts the process and waits until all of its ports accept connections. It can be ended and started again with
the same data (`restart`); then the time until a client is answered is measured, as a kernel may accept connections
early. Ending it ends all processes that it has started.
"""

import random
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from heliograph.common import process_end
from heliograph.lab.errors import BrokerGone
from heliograph.lab.load.client_loop import ClientLoop, give_up
from heliograph.lab.load.plan import Address, Group, Plan
from heliograph.lab.load.protocols import client_groups
from heliograph.lab.machine import HOST, on_core, work_folder
from heliograph.lab.probes.broker_meter import BrokerMeter, MeterReading, before_start
from heliograph.lab.probes.process_probe import descendants
from heliograph.lab.targets.requirements import Door, Layout, ListenerType, Requirements
from heliograph.lab.targets.target import Listener, Statistics, Target, TargetSetup, make_certificate
from heliograph.lab.worker_process import source_environment

START_SECONDS = 120.0  # a broker may have a million messages to recover before it listens
STOP_SECONDS = 5.0
SAVE_SECONDS = 120.0  # for a broker that saves its messages only now


_STAY = 3600.0  # seconds: longer than anybody waits

_PORTS = (10_000, 32_000)
"""Below those that Linux chooses from by itself."""


@dataclass(frozen=True)
class Restart:
    """A broker that has been ended and started again with the same data."""

    spent: MeterReading  # from the start of the new process until it has accepted a client
    meter: BrokerMeter  # of the new process


class Broker:
    """A broker with a directory and a port of its own, which can be ended and started again."""

    def __init__(self, target: Target, setup: TargetSetup, core: int | None) -> None:
        self.setup = setup
        self.data = setup.data
        self.doors = target.doors(setup)
        first = setup.listeners[0]
        self.address = Address(first.port, ca_file=str(setup.certificate.cert) if first.encrypted else None)
        self._target = target
        self._core = core
        self._log = setup.directory / "log"
        self._command = target.command(setup)
        self._environment = source_environment() | target.environment(setup)
        self._process = self._start()

    @property
    def pid(self) -> int:
        """The id of the broker's main process."""
        return self._process.pid

    @property
    def meter(self) -> BrokerMeter:
        """The meter of the broker's main process."""
        return BrokerMeter(self.pid)

    def pids(self) -> list[int]:
        """The ids of all processes of the broker."""
        return [self.pid, *descendants(self.pid)]

    def statistics(self) -> Statistics | None:
        """Where its own figures can be read, if it was started with a port for them."""
        return self._target.statistics(self.setup)

    def restart(self) -> Restart:
        """End it with the signal for its kind, start it again, and measure how long that takes."""
        self._end(self._target.crash_signal, SAVE_SECONDS)
        before = before_start()
        self._process = self._start()
        # The kernel may take a connection early; an answer comes from a broker that is ready.
        self._await_answer()
        return Restart(self.meter.read().since(before), self.meter)

    def _await_answer(self) -> None:
        """Connect a client of AMQP to each queue manager, or else one of MQTT."""
        doors = self.doors or (Door(self.address),)
        groups = tuple(
            Group(
                f"after-restart-{number}",
                "connect",
                1,
                protocol="amqp" if self.doors else "mqtt311",
                transport="tls" if door.address.ca_file else "tcp",
                door=str(number),
                stay=_STAY,
                user=door.user,
                password=door.password,
            )
            for number, door in enumerate(doors)
        )
        loop = ClientLoop(give_up)
        try:
            addresses = {str(number): door.address for number, door in enumerate(doors)}
            loop.connect(*client_groups(Plan(groups, 1.0), addresses, loop.poller))
        finally:
            loop.close()

    def stop(self) -> None:
        """Stop it cleanly if it can."""
        self._end(self._target.stop_signal, STOP_SECONDS)

    def _end(self, last: signal.Signals, patience: float) -> None:
        """End it with this signal, and then all processes that it has started."""
        children = [] if self._process.poll() is not None else psutil.Process(self.pid).children(recursive=True)
        self._process.send_signal(last)
        process_end.end_process(self._process, patience, ask=False)
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
        ports = [listener.port for listener in self.setup.listeners] + [door.address.port for door in self.doors]
        for port in dict.fromkeys(ports):
            while not _listens(port):
                if process.poll() is not None:
                    last = self._log.read_text(errors="replace").strip().rpartition("\n")[2]
                    raise BrokerGone(f"it ended with status {process.returncode}; its last line: {last}")
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
def running_broker(
    target: Target,
    core: int | None,
    *,
    tls: bool = False,
    durable: bool = False,
    amqp: bool = False,
    layout: Layout | None = None,
) -> Iterator[Broker]:
    """Start this broker with one listener and an empty data folder, and stop it afterwards."""
    way = ListenerType("amqp" if amqp else "mqtt", "tls" if tls else "tcp")
    wanted = Requirements((way,), durable, layout or Layout())
    with serving_broker(target, core, wanted) as broker:
        yield broker


@contextmanager
def serving_broker(target: Target, core: int | None, wanted: Requirements, *, pages: bool = False) -> Iterator[Broker]:
    """Start this broker with an empty data folder, and stop it afterwards; `pages`: with a port for its statistics."""
    with tempfile.TemporaryDirectory(prefix="helio-bench-", dir=work_folder()) as name:
        directory = Path(name)
        ways, managers = wanted.ways, wanted.layout.managers
        page, *ports = _free_ports(1 + len(ways) + managers + 2)
        listeners = tuple(Listener(port, *way) for port, way in zip(ports, ways, strict=False))
        setup = TargetSetup(
            directory,
            listeners,
            make_certificate(directory) if any(one.encrypted for one in listeners) else None,
            wanted.durable,
            wanted.layout,
            spare_ports=tuple(ports[len(ways) :]),
            max_messages=wanted.max_messages,
            max_message_size=wanted.max_message_size,
            pages=page if pages else 0,
        )
        setup.data.mkdir()
        broker = Broker(target, setup, core)
        try:
            yield broker
        finally:
            broker.stop()


def _free_ports(count: int) -> list[int]:
    """Different free ports, outside the range that the kernel chooses from.

    A port that the kernel has chosen may be taken by another process before the broker listens on it.
    """
    with ExitStack() as stack:
        found: list[int] = []
        while len(found) < count:
            probe = stack.enter_context(socket.socket())
            with suppress(OSError):
                probe.bind((HOST, random.randrange(*_PORTS)))
                found.append(probe.getsockname()[1])
        return found
