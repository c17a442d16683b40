"""Runs a load: starts its processes, keeps them in step, and closes the accounts at the end.

Processes connect their clients and report that they are ready. Then all of them get the same start time. When sending
is over, messages in flight have some seconds to arrive; what is missing after that is lost. A `Control` changes the
rate of a running load, or ends it.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heliograph.errors import Problem
from heliograph.lab.errors import GeneratorFailed, InvalidLoad
from heliograph.lab.load.accounts import Accounts, Expectation
from heliograph.lab.load.meter import Interval, LoadOutcome
from heliograph.lab.load.plan import Address, Plan
from heliograph.lab.load.worker import Finished, Progress, Start, work

_LEAD = 0.2  # seconds between the command to start and the start
DRAIN_SECONDS = 30.0  # how long messages in flight may take to arrive once nothing more is sent
SILENCE_SECONDS = 2.0  # how long none of them may arrive, before those that have not are given up
QUIET_SECONDS = 0.2  # after the last expected message, how long to listen for ones that should not come
OWN_SECONDS = 60.0  # how long the generator's own processes may take to answer
CONNECT_SECONDS = 60.0  # without another client becoming ready, after which the load is given up


class Control:
    """Changes the rate of a running load, or ends it early."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._commands: deque[tuple[str, float]] = deque()

    def set_rate(self, rate: float | None = None, *, factor: float | None = None) -> None:
        """Set the rate of all paced groups together (messages per second), or a multiple of the planned rate.

        Groups keep their shares of the rate. Groups in a closed loop go on as they are.
        """
        if (rate is None) == (factor is None):
            raise InvalidLoad("a new rate is either messages per second or a factor")
        value = rate if rate is not None else factor
        assert value is not None
        if value < 0:
            raise InvalidLoad(f"a rate is not negative; {value:g} was asked for")
        with self._lock:
            self._commands.append(("factor" if rate is None else "rate", value))

    def stop(self) -> None:
        """Send nothing more, and end as after the whole time: what was measured until now counts."""
        with self._lock:
            self._commands.append(("stop", 0.0))

    def take(self, plan: Plan) -> list[float | str]:
        """The commands since the last call: factors of the planned rates, and "stop"."""
        with self._lock:
            commands, self._commands = list(self._commands), deque()
        planned = sum(group.rate or 0.0 for group in plan.groups if group.sends)
        made: list[float | str] = []
        for kind, value in commands:
            if kind == "stop":
                made.append("stop")
            elif kind == "factor":
                made.append(value)
            elif planned:
                made.append(value / planned)
        return made


def run_load(
    plan: Plan,
    addresses: Mapping[str, Address],
    *,
    on_interval: Callable[[Interval], None] = lambda _: None,
    control: Control | None = None,
) -> LoadOutcome:
    """Put this load on the target behind these addresses, by door; calls `on_interval` once a second per process and
    group.
    """
    plan.check()
    run = _Run(plan, addresses, on_interval, control or Control())
    try:
        return run.run()
    finally:
        run.close()


class _Run:
    def __init__(
        self, plan: Plan, addresses: Mapping[str, Address], on_interval: Callable[[Interval], None], control: Control
    ) -> None:
        self._plan = plan
        self._addresses = addresses
        self._on_interval = on_interval
        self._control = control
        self._accounts = Accounts(plan)
        self._pipes: list[Connection] = []
        self._processes: list[BaseProcess] = []
        self._ready = 0  # processes
        self._connected: dict[int, int] = {}  # clients by process, while they connect
        self._progress: dict[int, Progress] = {}
        self._finished: dict[int, Finished] = {}
        self._started = self._until = 0.0
        context = get_context("spawn")
        for number in range(plan.processes):
            ours, theirs = context.Pipe()
            process = context.Process(target=work, args=(plan, dict(addresses), number, theirs), daemon=True)
            process.start()
            theirs.close()
            self._pipes.append(ours)
            self._processes.append(process)

    def run(self) -> LoadOutcome:
        expectation = Expectation(self._plan, self._addresses)
        self._connect()
        sending = time.monotonic() + _LEAD
        self._started = sending + self._plan.warm_up
        self._until = self._started + self._plan.seconds
        self._tell(Start(*(round(at * 1e9) for at in (sending, self._started, self._until))))
        while time.monotonic() < self._until:
            self._listen(min(0.05, max(0.0, self._until - time.monotonic())))
            self._command()
        self._drain(expectation)
        self._tell("finish")
        self._await(
            lambda: len(self._finished) == len(self._pipes), OWN_SECONDS, "the processes of the generator to end"
        )
        measured = max(0.0, self._until - self._started)
        return self._accounts.close(self._finished, expectation.of(self._counts()), measured)

    def _connect(self) -> None:
        """Wait until all clients are connected and subscribed, as long as there are more of them all the time."""
        connected, give_up = -1, 0.0
        while self._ready < len(self._pipes):
            now, seen = time.monotonic(), sum(self._connected.values())
            if seen > connected:
                connected, give_up = seen, now + CONNECT_SECONDS
            elif now > give_up:
                clients = sum(group.clients for group in self._plan.groups if group.role != "connect")
                raise GeneratorFailed(f"{connected} of {clients} clients are ready after {CONNECT_SECONDS:g} s")
            self._listen(0.1)

    def _command(self) -> None:
        for command in self._control.take(self._plan):
            self._tell(command)
            if command == "stop":
                self._until = time.monotonic()

    def _drain(self, expectation: Expectation) -> None:
        """Wait for messages in flight, as long as some arrive."""
        # Counts are final only when every process has reported after the end of sending.
        self._progress.clear()
        self._await(lambda: len(self._progress) == len(self._pipes), OWN_SECONDS, "the generator to stop sending")
        give_up = time.monotonic() + DRAIN_SECONDS
        arrived, silent = -1, 0.0
        while (now := time.monotonic()) < give_up:
            expected = expectation.of(self._counts())
            missing = sum(max(0, count - self._arrived(group)) for group, count in expected.items())
            missing += sum(progress.outstanding for progress in self._progress.values())
            if not missing:
                break
            total = sum(sum(one.arrived.values()) for one in self._progress.values()) - missing
            if total != arrived:
                arrived, silent = total, now + SILENCE_SECONDS
            elif now > silent:
                break
            self._listen(0.05)
        quiet = time.monotonic() + QUIET_SECONDS
        while time.monotonic() < quiet:
            self._listen(0.05)

    def _counts(self) -> dict[int, NDArray[np.int64]]:
        """Messages that each client has sent, by group."""
        counts: dict[int, NDArray[np.int64]] = {}
        for process, progress in self._progress.items():
            for group, part in progress.counts.items():
                whole = counts.setdefault(group, np.zeros(self._plan.groups[group].clients, np.int64))
                whole[process :: self._plan.processes] = part
        return counts

    def _arrived(self, group: int) -> int:
        return sum(progress.arrived[group] for progress in self._progress.values())

    def _tell(self, command: object) -> None:
        for pipe in self._pipes:
            with suppress(OSError):  # who has gone is missed when its answer is waited for
                pipe.send(command)

    def _await(self, condition: Callable[[], bool], seconds: float, what: str) -> None:
        give_up = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > give_up:
                raise GeneratorFailed(f"gave up after waiting {seconds:g} s for {what}")
            self._listen(0.1)

    def _listen(self, timeout: float) -> None:
        for pipe in wait(self._pipes, timeout):
            assert isinstance(pipe, Connection)
            process = self._pipes.index(pipe)
            try:
                self._take(process, pipe.recv())
            except (EOFError, ConnectionError):
                if process not in self._finished:
                    raise GeneratorFailed(f"process {process} of the load generator has died") from None

    def _take(self, process: int, message: Any) -> None:
        if isinstance(message, list):
            for interval in message:
                self._accounts.add(interval)
                self._on_interval(interval)
        elif isinstance(message, Progress):
            self._progress[process] = message
        elif isinstance(message, Finished):
            self._finished[process] = message
        elif isinstance(message, int):
            self._connected[process] = message
        elif isinstance(message, Problem):
            raise message
        else:
            self._ready += 1

    def close(self) -> None:
        """End processes that still run."""
        for pipe in self._pipes:
            pipe.close()
        for process in self._processes:
            process.join(5 if self._finished else 0.1)
            if process.is_alive():
                process.terminate()
                process.join()
