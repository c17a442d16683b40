"""One process of a load: an epoll loop that serves all its clients.

Phases, as `load_run` commands them over the pipe: connect all clients and report "ready"; at `Start.sending` begin to
send; from `Start.measured` to `Start.until` measure; then drain, with a `Progress` every 50 ms, until "finish"; then
send one `Finished`. Once a second a list of intervals goes to the pipe, one for each group. Rates may change and the
load may stop at any time in between.

Each turn connects and sends what is due, then waits in epoll until the next message is due at the latest. Three rules
keep the generator from being the limit: a group sends at most once in 200 us, turns that received many messages are
followed by a short sleep, and a process that has computed for most of the time sleeps now and then, so that more
messages are handled at once.
"""

import gc
import math
import resource
import select
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from heliograph.errors import Problem
from heliograph.lab.errors import ClientFailed, GeneratorFailed, LabError
from heliograph.lab.load.client_loop import ClientLoop
from heliograph.lab.load.histogram import Histogram
from heliograph.lab.load.plan import Address, Plan
from heliograph.lab.load.protocols import client_groups
from heliograph.lab.load.schedule import NEVER

# A loop that turns as fast as it can burns a core for batches of a few messages. So a group has at least this time (ns)
# between two batches; it is part of the lateness that is measured.
_TURN = 200_000
# And where so many messages came in one turn that more are surely in flight, a nap as long as the work lets them
# gather: half a core is then enough for any rate that a whole one can take. Below, every message is read at once.
_MANY = 48
_LONGEST_NAP = 500_000  # ns
# A process that has used four fifths of its core for a while naps as well. What is due meanwhile is sent together, and
# what comes is read together, which takes a fraction of the time: so it goes on to be punctual within a millisecond at
# rates at which it would be the limit. Not in closed loops, whose rate is all that the process can do.
_WORK_FOR_REST = 4
_BANKED = 5_000_000  # ns of rest that make up for work to come
_MOST_EVENTS = 64  # of one poll: so long senders have to wait for readers
_NS = 1_000_000_000
_OTHER_FILES = 64  # that a process has open besides its clients
_PROGRESS = 50_000_000  # ns between reports while draining


@dataclass(frozen=True)
class Start:
    """Send from `sending`, measure from `measured` to `until` (ns)."""

    sending: int
    measured: int
    until: int


@dataclass(frozen=True)
class Progress:
    """How far a process has come, after the last message was sent."""

    counts: dict[int, NDArray[np.int64]]  # by group: messages that each client has sent
    arrived: dict[int, int]  # by group: deliveries, duplicates left out
    outstanding: int


@dataclass(frozen=True)
class Finished:
    """What a process knows at its end."""

    cpu_seconds: float  # in the measured time
    waited_seconds: float  # in the measured time: ready to run, but no core was free
    seconds: float
    own_lateness: dict[int, Histogram]  # by group: of messages that did not wait for the broker
    unsent: dict[int, int]
    first_errors: dict[int, str]
    connecting: dict[int, float | None]  # by group: seconds until all its clients were ready; None if they never were
    shares: dict[tuple[int, str, int], dict[int, bytes]] = field(default_factory=dict)  # group, share, sending group


class Worker:
    """Serves the clients of one process."""

    def __init__(self, plan: Plan, addresses: Mapping[str, Address], process: int, pipe: Connection) -> None:
        self._plan = plan
        self._process = process
        self._pipe = pipe
        self._loop = ClientLoop()
        self._poller = self._loop.poller
        self._poller.register(pipe.fileno(), select.EPOLLIN)
        self._groups = client_groups(plan, addresses, self._poller, process)
        self._dialers = [self._loop.add(one) for one in self._groups]
        self._arrived = dict.fromkeys(range(len(self._groups)), 0)
        self._start: Start | None = None
        self._second = 0  # that is being counted
        self._boundary = NEVER  # where it ends
        self._pumps = [0] * len(self._groups)  # when each client_group sends again (ns)
        self._used: list[tuple[float, float, float]] = []  # CPU, waiting and clock at both ends of the measured time
        self._finish = False
        self._tired = 0  # ns of sleep that are due; negative if the process has waited more than it had to
        self._paced = all(group.rate is not None or group.pace != "steady" for group in plan.groups if group.sends)

    def run(self) -> None:
        """Connect, send and receive, drain, and report, as the other end of the pipe commands."""
        _raise_limit(sum(len(client_group.clients) for client_group in self._groups))
        gc.disable()  # a collection of ten thousand clients takes milliseconds
        now = time.monotonic_ns()
        for dialer in self._dialers:
            if not dialer.bursts:
                dialer.start(now)
        report = now
        while not all(dialer.complete for dialer in self._dialers):
            self._turn()
            if time.monotonic_ns() - report > _NS:
                report = time.monotonic_ns()
                self._pipe.send(sum(client_group.ready for client_group in self._groups))
        gc.freeze()  # later collections skip all that exists now
        gc.enable()
        self._pipe.send("ready")
        while self._start is None:
            self._turn()
        while time.monotonic_ns() < self._start.until:
            self._turn()
        report = 0
        while not self._finish:
            self._turn()
            now = time.monotonic_ns()
            if now - report > _PROGRESS:
                report = now
                self._pipe.send(self._progress())
        self._end()

    def _turn(self) -> None:
        """Send what is due, wait for events, and serve the clients that have some."""
        began = time.monotonic_ns()
        if began >= self._boundary:
            self._report(began)
        wake = self._boundary
        for dialer in self._dialers:
            wake = min(wake, dialer.turn(began))
        for index, client_group in enumerate(self._groups):
            if began >= self._pumps[index] or client_group.has_waiting_clients:
                self._pumps[index] = max(min(client_group.pump(began), client_group.ping(began)), began + _TURN)
            wake = min(wake, self._pumps[index])
        before = sum(client_group.meter.received for client_group in self._groups)
        waiting = time.monotonic_ns()
        events = self._wait(wake)
        waited = time.monotonic_ns() - waiting
        for fd, mask in events:
            if fd == self._pipe.fileno():
                self._obey()
            else:
                self._loop.serve(fd, mask)
        worked = time.monotonic_ns() - began - waited
        if sum(client_group.meter.received for client_group in self._groups) - before >= _MANY:
            time.sleep(min(worked, _LONGEST_NAP) / _NS)
        elif self._paced:
            self._rest(worked, waited)

    def _rest(self, worked: int, waited: int) -> None:
        self._tired = max(-_BANKED, self._tired + worked // _WORK_FOR_REST - waited)
        if self._tired > 0:
            asleep = time.monotonic_ns()
            time.sleep(min(self._tired, _LONGEST_NAP) / _NS)
            self._tired -= time.monotonic_ns() - asleep

    def _wait(self, wake: int) -> list[tuple[int, int]]:
        wait = min(wake - time.monotonic_ns(), _NS // 20) / _NS
        if wait > 0.003:
            return self._poller.poll(wait - 0.001, _MOST_EVENTS)
        if wait > 0:
            # Epoll counts in milliseconds here; select does not, and an epoll set can be waited for like a socket.
            select.select((self._poller.fileno(),), (), (), wait)
        return self._poller.poll(0, _MOST_EVENTS)

    def _obey(self) -> None:
        command = self._pipe.recv()
        if isinstance(command, Start):
            self._start = command
            self._begin(command)
        elif isinstance(command, float):
            now = time.monotonic_ns()
            for client_group in self._groups:
                client_group.change_rate(command, now)
        elif command == "stop" and self._start is not None:
            now = time.monotonic_ns()
            self._start = Start(self._start.sending, self._start.measured, now)
            for client_group in self._groups:
                client_group.stop(now)
        elif command == "finish":
            self._finish = True

    def _begin(self, start: Start) -> None:
        self._second = math.floor((start.sending - start.measured) / _NS) - 1
        self._boundary = start.sending
        self._pumps = [0] * len(self._groups)
        for client_group, dialer in zip(self._groups, self._dialers, strict=True):
            client_group.start(start.sending, start.until)
            if dialer.bursts:
                dialer.start(start.sending, start.until)

    def _report(self, now: int) -> None:
        """Report the counters of the second that has ended, and find the end of the next one."""
        assert self._start is not None
        intervals = []
        for index, client_group in enumerate(self._groups):
            client_group.collect()
            client_group.stop_waiting(now)
            interval = client_group.meter.take(self._second)
            self._arrived[index] += interval.received - interval.duplicates
            intervals.append(interval)
        self._pipe.send(intervals)
        self._second = (now - self._start.measured) // _NS
        if now >= self._start.until:  # what comes after the end is not part of a last second that was cut short
            self._second = max(self._second, -((self._start.measured - self._start.until) // _NS))
        self._boundary = min(self._start.measured + (self._second + 1) * _NS, self._next_mark(now))
        if now >= self._start.until and len(self._used) == 1:
            self._used.append(_used())
        elif now >= self._start.measured and not self._used:
            self._used.append(_used())
            for client_group in self._groups:
                client_group.own_lateness.take()  # that of the warm-up does not count

    def _next_mark(self, now: int) -> int:
        """The next start or end of the measured time, which are boundaries too: no interval spans them."""
        assert self._start is not None
        return min((mark for mark in (self._start.measured, self._start.until) if mark > now), default=NEVER)

    def _progress(self) -> Progress:
        for client_group in self._groups:
            client_group.collect()
        counts = {
            index: np.array(client_group.counts)
            for index, client_group in enumerate(self._groups)
            if client_group.group.sends
        }
        arrived = {
            index: self._arrived[index] + client_group.meter.received - client_group.meter.duplicates
            for index, client_group in enumerate(self._groups)
        }
        return Progress(counts, arrived, sum(client_group.outstanding() for client_group in self._groups))

    def _end(self) -> None:
        assert self._start is not None
        self._report(time.monotonic_ns())
        shares = {}
        if self._plan.processes > 1:
            for index, client_group in enumerate(self._groups):
                for name, share in client_group.shares.items():
                    for group, coverage in share.groups.items():
                        shares[index, name, group] = coverage.packed()
        self._loop.disconnect()
        groups = dict(enumerate(self._groups))
        cpu, waited, seconds = (end - start for start, end in zip(*self._used, strict=True))
        self._pipe.send(
            Finished(
                cpu,
                waited,
                seconds,
                {index: client_group.own_lateness.take() or Histogram() for index, client_group in groups.items()},
                {index: client_group.unsent for index, client_group in groups.items()},
                {index: client_group.meter.first_error for index, client_group in groups.items()},
                {index: one.took and one.took / _NS for index, one in enumerate(self._dialers)},
                shares,
            )
        )


def _raise_limit(clients: int) -> None:
    """Let this process have a file for each client."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = clients + _OTHER_FILES
    if hard != resource.RLIM_INFINITY and needed > hard:
        raise GeneratorFailed(
            f"{clients} clients in one process need {needed} open files, and the system allows {hard}; "
            "use more processes, or raise the limit (ulimit -Hn)"
        )
    if soft != resource.RLIM_INFINITY and needed > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def _used() -> tuple[float, float, float]:
    """CPU seconds of this process, seconds that it waited for a core, and the time."""
    waited = Path("/proc/self/schedstat").read_text().split()[1]
    return time.process_time(), int(waited) / _NS, time.monotonic()


def work(plan: Plan, addresses: Mapping[str, Address], process: int, pipe: Connection) -> None:
    """Run a worker process from beginning to end; mistakes of the user are sent through the pipe."""
    try:
        Worker(plan, addresses, process, pipe).run()
    except (Problem, ClientFailed) as problem:
        pipe.send(LabError(str(problem)))
    except (EOFError, BrokenPipeError):
        pass  # the parent has ended
