"""Flows end to end: a real server, a full input queue, and a process that runs the flow until it is empty.

The driver fills the queue before, checks the output afterwards, and asks only for queue depths in between. So the CPU
time is that of the server and the flow, and of a responder or database that belongs to the case.
"""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from heliograph.client import encoded
from heliograph.flow.engine import Databases, DataSources
from heliograph.lab.errors import MeasurementFailed
from heliograph.lab.flows.flow_cases import (
    DATA_SOURCE,
    INPUT,
    OUTPUT,
    REPLIES,
    REQUESTS,
    TOPIC,
    FlowCase,
    Storage,
    make_table,
    write_folder,
)
from heliograph.lab.flows.flow_process import FlowWorker
from heliograph.lab.flows.messages import with_folders
from heliograph.lab.flows.postgresql import running_postgresql
from heliograph.lab.flows.published_rows import PublishedRow
from heliograph.lab.flows.server_fixture import DEAD_LETTERS, QueueFixture, numbered, server_for, subscriber_queues
from heliograph.lab.machine import Cores
from heliograph.lab.probes.broker_meter import before_start
from heliograph.lab.probes.process_probe import cpu_seconds
from heliograph.lab.targets.broker_process import running_broker

MOST_MESSAGES = 50_000
MOST_BYTES = 128 << 20
MOST_COPIES = 60_000
"""Of publications, for all subscribers together."""
LEAST_MESSAGES = 20
STALLED = 20.0
"""Seconds without a message after which a flow is given up."""
_SOONEST, _LATEST = 0.005, 0.25
"""Seconds between two readings of the progress: seldom, as each costs the server something; often near the end."""
_STEADY = 4
"""With more readings than this, time is measured from the first message that came out: before that, things warm up."""
_SAMPLES = 20

_IN_PADDING = re.compile(rb"<Padding>(\d{8})")


@dataclass(frozen=True, slots=True)
class EndToEnd:
    """What one row shows."""

    messages: int
    rate: float
    """Messages per second, as the report counts them: publications, complete sets."""
    cpu_ms: float
    """CPU milliseconds per message: flow, server, and what else belongs to the case."""
    flow_cpu_ms: float
    seconds: float
    others: float
    """Cores that other processes used meanwhile."""


@dataclass(frozen=True, slots=True)
class FlowProgress:
    """The progress of a flow at one moment."""

    at: float
    count: int
    cpu: float
    flow_cpu: float
    machine_cpu: float
    """Of everything that runs on this machine, but for the driver."""


class Workers:
    """Processes for flows: one on a core of its own, one that may use all cores, one for responders."""

    def __init__(self, folder: Path, cores: Cores) -> None:
        self._folder = folder
        self._cores = cores
        self._known: dict[str, FlowWorker] = {}

    def one(self, name: str, core: int | None) -> FlowWorker:
        """The worker of this name."""
        if name not in self._known:
            self._known[name] = FlowWorker(self._folder / f"{name}.log", core)
        return self._known[name]

    def for_case(self, case: FlowCase) -> FlowWorker:
        """The worker that runs the flow of this case."""
        return self.one("free", None) if case.parallel else self.one("pinned", self._cores.generator)

    def responder(self) -> FlowWorker:
        """The worker that runs responders; it shares the server's core."""
        return self.one("responder", self._cores.broker)

    def close(self) -> None:
        """End all processes."""
        for worker in self._known.values():
            worker.close()
        self._known.clear()


class CaseSite:
    """A server with the queues of one case, and its flow, ready to be measured with several sizes."""

    def __init__(self, case: FlowCase, workers: Workers, server: str, server_pid: int, folder: Path, url: str) -> None:
        self._case = case
        self._worker = workers.for_case(case)
        self._responder = workers.responder() if case.responder else None
        self._server = server
        self._server_pid = server_pid
        self._folder = folder
        self._parameters = {"database": url} if url else {}
        self._others: list[int] = []
        self._runs = 0
        write_folder(folder / "flow", case.files)
        write_folder(folder / "responder", case.responder or {})

    def also_counts(self, pid: int) -> None:
        """The CPU time of this process belongs to the case."""
        self._others.append(pid)

    def measure(self, row: PublishedRow, messages: int) -> EndToEnd:
        """Fill the queue, run the flow until all messages have come out, and see that they are right."""
        return result_of(self.progress(row, messages), messages)

    def progress(self, row: PublishedRow, messages: int) -> list[FlowProgress]:
        """Measure as `measure` does, and return the progress at each reading."""
        fixture = QueueFixture(self._server)
        try:
            self._fill(fixture, row, messages)
            with self._flow():
                progress = watch(fixture, messages, self._look)
            self._check(fixture, row, messages)
        finally:
            fixture.close()
        return progress

    def _fill(self, fixture: QueueFixture, row: PublishedRow, messages: int) -> None:
        case = self._case
        if case.filter:
            values = {"Command": "RegSub", "Topic": TOPIC, "Filter": case.filter, "QName": OUTPUT}
            fixture.fill(INPUT, [numbered(with_folders({"psc": values}, b""), 0, persistent=False)])
        for start in range(0, messages, 1000):
            numbers = range(start, min(start + 1000, messages))
            fixture.fill(INPUT, [numbered(case.message(row.size, n), n, persistent=row.persistent) for n in numbers])

    @contextmanager
    def _flow(self) -> Iterator[None]:
        self._runs += 1
        case, state = self._case, self._folder / f"state-{self._runs}"
        if case.storage is not Storage.NONE:
            self._make_table(state)
        with ExitStack() as stack:
            if self._responder is not None:
                self._responder.run(self._folder / "responder", state, self._server, {})
                stack.callback(self._responder.stop)
            self._worker.run(self._folder / "flow", state, self._server, self._parameters, case.groups)
            stack.callback(self._worker.stop)
            yield

    def _make_table(self, state: Path) -> None:
        state.mkdir()
        databases = Databases(DataSources({DATA_SOURCE: self._parameters.get("database")}, state))
        make_table(databases)
        databases.close()

    def _look(self, count: int) -> FlowProgress:
        others = [self._server_pid, *self._others]
        if self._responder is not None:
            others.append(self._responder.pid)
        return look(count, self._worker.pid, others)

    def _check(self, fixture: QueueFixture, row: PublishedRow, messages: int) -> None:
        """Check that no message is lost or duplicated, and that samples have the right body."""
        case = self._case
        for queue in (INPUT, REQUESTS, REPLIES, DEAD_LETTERS):
            if left := fixture.depth(queue):
                raise MeasurementFailed(f"{left} messages are left in {queue}")
        for queue in subscriber_queues(case)[1:]:
            if (there := fixture.depth(queue)) != messages:
                raise MeasurementFailed(f"{queue} has {there} messages, not {messages}")
            fixture.purge(queue)
        seen: set[int] = set()
        count = 0
        for message in fixture.take_all(OUTPUT, messages):
            number = _number(case, message)
            if number % max(1, messages // _SAMPLES) == 0 and message.body != case.expected(row.size, number):
                raise MeasurementFailed(f"message {number} has the wrong body: {message.body[:200]!r}")
            if message.front.persistent != row.persistent:
                raise MeasurementFailed(f"message {number} should be {'' if row.persistent else 'not '}persistent")
            seen.add(number)
            count += 1
        if count != messages or len(seen) != messages:
            raise MeasurementFailed(f"{messages} messages went in, {count} came out, {len(seen)} of them different")


def watch(fixture: QueueFixture, messages: int, look_at: Callable[[int], FlowProgress]) -> list[FlowProgress]:
    """Look whenever more messages have come out, until all have."""
    progress = [look_at(0)]
    while progress[-1].count < messages:
        time.sleep(_pause(progress, messages))
        count = fixture.depth(OUTPUT)
        if count > progress[-1].count:
            progress.append(look_at(count))
        elif time.perf_counter() - progress[-1].at > STALLED:
            failed = fixture.depth(DEAD_LETTERS)
            raise MeasurementFailed(f"stalled after {count} of {messages} messages; {failed} are dead letters")
    return progress


def look(count: int, flow_pid: int, other_pids: Sequence[int]) -> FlowProgress:
    """When so many messages have come out: what the flow and the others have used."""
    at = time.perf_counter()
    flow = cpu_seconds([flow_pid])
    spent = before_start()
    return FlowProgress(at, count, flow + cpu_seconds(other_pids), flow, spent.machine_cpu - spent.generator_cpu)


def _pause(progress: Sequence[FlowProgress], messages: int) -> float:
    """Half of the time that the rest seems to take."""
    first, last = progress[0], progress[-1]
    if not last.count:
        return _SOONEST
    rest = (messages - last.count) * (last.at - first.at) / last.count
    return min(max(_SOONEST, rest / 2), _LATEST)


def _number(case: FlowCase, message: encoded.Read) -> int:
    if case.responder is None:
        return int(message.message_id)
    found = _IN_PADDING.search(message.body)
    return int(found[1]) if found else -1


def result_of(progress: Sequence[FlowProgress], messages: int) -> EndToEnd:
    """The result that the readings show."""
    first, last = steady(progress)[0], progress[-1]
    count, seconds = last.count - first.count, last.at - first.at
    per_message = 1e3 / count
    cpu = last.cpu - first.cpu
    return EndToEnd(
        messages,
        rate=count / seconds,
        cpu_ms=cpu * per_message,
        flow_cpu_ms=(last.flow_cpu - first.flow_cpu) * per_message,
        seconds=seconds,
        others=max(0.0, last.machine_cpu - first.machine_cpu - cpu) / seconds,
    )


def steady(progress: Sequence[FlowProgress]) -> Sequence[FlowProgress]:
    """The readings that count: if there are enough, only those after the first message was out."""
    return progress[1:] if len(progress) > _STEADY else progress


@contextmanager
def case_site(case: FlowCase, workers: Workers, cores: Cores) -> Iterator[CaseSite]:
    """A fresh server for a case, and a database if it needs one."""
    with ExitStack() as stack:
        broker = stack.enter_context(running_broker(server_for(case), cores.broker, amqp=True, durable=True))
        url, database_pid = "", 0
        if case.storage is Storage.POSTGRESQL:
            database = stack.enter_context(running_postgresql(cores.broker))
            url, database_pid = database.url, database.pid
        address = f"amqp://127.0.0.1:{broker.address.port}"
        folder = broker.data.parent / "flows"
        folder.mkdir()
        site = CaseSite(case, workers, address, broker.pid, folder, url)
        if database_pid:
            site.also_counts(database_pid)
        yield site


def how_many(case: FlowCase, row: PublishedRow, flow_us: float, seconds: float) -> int:
    """Messages that take about so many seconds, by what the flow takes in memory."""
    transport = 30 + row.size / 500 + 8 * case.subscribers
    wanted = round(seconds * 1e6 / (flow_us + transport))
    most = min(MOST_MESSAGES, MOST_BYTES // row.size, MOST_COPIES // max(1, case.subscribers))
    return max(LEAST_MESSAGES, min(wanted, most))
