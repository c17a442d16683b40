"""Flows in memory: the CPU time of reading, nodes and writing, without a server."""

import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Protocol

from heliograph.flow.engine import (
    CompiledFlow,
    Databases,
    DataSources,
    Outcome,
    Publish,
    Put,
    Resources,
    Result,
    SqliteAggregationStore,
    Subscription,
    SubscriptionRegistry,
    compile_flow,
    tune_garbage_collection,
)
from heliograph.flow.formats import Envelope
from heliograph.lab.errors import MeasurementFailed
from heliograph.lab.flows.flow_cases import OUTPUT, TOPIC, FlowCase, Storage, definition_of, make_table
from heliograph.lab.flows.lxml_baseline import SAME_WORK, Work, parse_and_write
from heliograph.lab.flows.messages import HEADER

ROUNDS = 7


class Process(Protocol):
    """Sends messages through a flow."""

    def __call__(self, envelopes: Sequence[Envelope], node: str = "in") -> list[Outcome]:
        """What came of them."""


@dataclass(frozen=True, slots=True)
class InMemory:
    """What a message takes in memory, and how that compares to plain code.

    All take turns, so that a slow moment of the machine is one for all of them: times are those of the best turn (the
    others were disturbed), ratios the median of what each turn shows.
    """

    flow: float
    """CPU microseconds per message."""
    bare: float | None = None
    """Of lxml, reading the message and writing it again."""
    same_work: float | None = None
    """Of lxml, doing what the flow does."""
    times_bare: float | None = None
    times_same_work: float | None = None


def can_run(case: FlowCase) -> bool:
    """Whether the case can run without a server: an aggregation needs its replies, PostgreSQL is one."""
    return case.responder is None and case.storage is not Storage.POSTGRESQL


def measure(case: FlowCase, size: int, seconds: float) -> InMemory:
    """Run the flow for about so many seconds."""
    with ready(case) as process:
        first = batch(case, size, 1)
        check(case, size, process(first))
        count = _batch_size(lambda: process(first), seconds)
        envelopes = batch(case, size, count)
        documents = [body_of(envelope) for envelope in envelopes]
        works: list[Callable[[], object]] = [lambda: process(envelopes)]
        if documents[0].startswith(b"<"):
            works.append(_baseline(parse_and_write, documents))
            if case.section in SAME_WORK:
                works.append(_baseline(SAME_WORK[case.section], documents))
        turns = [[_cpu(work) / count * 1e6 for work in works] for _ in range(ROUNDS)]
    best = [min(column) for column in zip(*turns, strict=True)]
    times = [median(turn[0] / turn[at] for turn in turns) for at in range(1, len(works))]
    return InMemory(best[0], *_padded(best[1:]), *_padded(times))


def _padded(figures: Sequence[float]) -> tuple[float | None, float | None]:
    first, second, *_ = [*figures, None, None]
    return first, second


@contextmanager
def ready(case: FlowCase) -> Iterator[Process]:
    """The flow of a case as a function on messages."""
    definition = definition_of(case.files)
    flow = compile_flow(definition)
    with TemporaryDirectory(prefix="helio-flow-state-") as name, _resources(case, flow, Path(name)) as resources:
        now = datetime.now()
        tune_garbage_collection()

        def process(envelopes: Sequence[Envelope], node: str = "in") -> list[Outcome]:
            outcomes = flow.process(node, envelopes, resources, now)
            if isinstance(resources.database, Databases):
                resources.database.commit_all()
            return outcomes

        yield process


@contextmanager
def _resources(case: FlowCase, flow: CompiledFlow, state: Path) -> Iterator[Resources]:
    if case.storage is not Storage.NONE:
        databases = Databases(DataSources(flow.definition.settings["data_sources"], state))
        make_table(databases)
        try:
            yield Resources(database=databases)
        finally:
            databases.close()
    elif case.responder is not None:
        store = SqliteAggregationStore(state / "aggregations.db")
        try:
            yield Resources(aggregation=store)
        finally:
            store.close()
    elif case.filter:
        registry = SubscriptionRegistry()
        registry.register(Subscription(OUTPUT, TOPIC, filter=case.filter))
        try:
            yield Resources(subscriptions=registry)
        finally:
            registry.close()
    else:
        yield Resources()


def batch(case: FlowCase, size: int, count: int) -> list[Envelope]:
    """So many messages, no two of them the same."""
    return [replace(case.message(size, number), message_id=b"%08d" % number) for number in range(count)]


def check(case: FlowCase, size: int, outcomes: Sequence[Outcome]) -> None:
    """Each outcome has to be one message with the right body, or all that is measured is a mistake."""
    for number, outcome in enumerate(outcomes):
        bodies = [effect.envelope.body for effect in outcome.effects if isinstance(effect, Put | Publish)]
        wanted = case.expected(size, number)
        if outcome.result is not Result.DONE or not bodies or any(body != wanted for body in bodies):
            found = bodies[0][:200] if bodies else outcome.exception
            raise MeasurementFailed(f"{case.section} {case.name}: expected {wanted[:200]!r}, found {found!r}")


def _batch_size(work: Callable[[], object], seconds: float) -> int:
    """How many messages take a round's part of so many seconds."""
    once = min(_cpu(work) for _ in range(3))
    return max(1, min(1000, round(seconds / ROUNDS / max(once, 1e-6))))


def _baseline(work: Work, documents: Sequence[bytes]) -> Callable[[], object]:
    def run() -> None:
        for document in documents:
            work(document)

    return run


def _cpu(work: Callable[[], object]) -> float:
    start = time.thread_time()
    work()
    return time.thread_time() - start


def body_of(envelope: Envelope) -> bytes:
    """What is behind the MQRFH2, if there is one."""
    body = envelope.body
    if envelope.format != HEADER:
        return body
    (length,) = struct.unpack_from("<i", body, 8)
    return body[length:]
