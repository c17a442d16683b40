"""What Spark's Python workers do: batches of rows go through the compiled flow, and its effects come out as rows.

Theory of operation
1. A flow is compiled once per worker process (`FlowWorker`), which also keeps its database connections. A few workers
   are cached by flow, input and settings, because Spark uses its processes for the tasks of several queries.
2. Messages are processed in chunks of `CHUNK`. A chunk first runs as one unit of work. If all of it succeeds, changes
   in databases are committed once. Otherwise they are rolled back, and messages run again one by one: all of them if
   databases were changed, else those that failed (`SPARK.after_batch`).
3. A single message has as many attempts as its input node's backout settings give it. If the last one fails too, it
   becomes a dead letter. The rules for Spark in `flow.hosting` decide what follows; this module carries that out.
4. A message that cannot be encoded for the server counts as refused. The flow runs again and is told of it, so that it
   can handle the failure itself. A refusal that is not new ends the task.
5. Databases are committed before the rows go to the sink. If the task fails later, Spark repeats it, and changes in
   databases are made again: they are at least once, while outputs are exactly once.
"""

import logging
import pickle
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa

from heliograph.common import private_files
from heliograph.common.bounded_dict import BoundedDict
from heliograph.flow.definition import FlowDefinition
from heliograph.flow.engine import (
    Backout,
    CompiledFlow,
    Databases,
    DataSources,
    Outcome,
    Refusals,
    Resources,
    Result,
    SubscriptionRegistry,
    compile_flow,
    tune_garbage_collection,
)
from heliograph.flow.errors import DatabaseError
from heliograph.flow.formats import Envelope
from heliograph.flow.hosting import SPARK, Step, Waiting, is_new, unreachable, with_dead_letters
from heliograph.flow.inline import TraceWriter, read_flow_settings
from heliograph.flow.language import SharedVariables
from heliograph.pipeline.errors import DatabaseFailed, PublishingFailed
from heliograph.pipeline.flows.aggregation_requests import RecordingStore
from heliograph.pipeline.flows.deploying import written_sources
from heliograph.pipeline.flows.envelopes import envelopes_of
from heliograph.pipeline.flows.lookups import Lookups, RememberingDatabases
from heliograph.pipeline.flows.native.marking import undropped
from heliograph.pipeline.flows.sending import Prepared, Readable, Sending
from heliograph.pipeline.flows.shared_state import load_shared, save_shared

LOG = logging.getLogger("heliograph.flow")
CHUNK = 1000
"""Messages that go through the flow, and are committed in databases, together."""
PATIENCE = 30.0
"""Seconds for which a database that cannot be reached is waited for."""
_MOST_WORKERS = 4
Attempt = Callable[[Refusals], tuple[Outcome, Sequence[Envelope]]]
"""Runs a unit of work, given what was refused before; returns its outcome, and the messages that fail if it does."""


@dataclass(frozen=True, slots=True)
class FlowJob:
    """A flow as a function for `mapInArrow`: it is pickled, and called in each task with the task's batches."""

    definition: bytes
    """The flow's definition, pickled. Only unpickled in processes that have not compiled the flow yet."""
    digest: str
    entry: str
    """The input node that gets the messages."""
    state: str
    """The folder of SQLite files."""
    lookup_cache: int = 0
    sending: Sending | Readable = field(default_factory=Readable)
    """How effects become rows."""
    now: datetime | None = None
    """The time that the flow sees; None for the real time."""
    shared: str = ""
    """The folder of SHARED variables; empty: the flow has none, or they begin anew."""

    @classmethod
    def of(cls, definition: FlowDefinition, entry: str, state: str, **more: Any) -> "FlowJob":
        """The job of a definition."""
        pickled = pickle.dumps(definition)
        return cls(pickled, sha256(pickled).hexdigest(), entry, state, **more)

    def new_worker(self, definition: FlowDefinition) -> "FlowWorker":
        """A new worker for this process."""
        return FlowWorker(definition, self.entry, self.state, self.lookup_cache)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The effects of all batches of a task."""
        worker = worker_of(self)
        batch_id = _batch_id() if self.shared else -1
        worker.begin(load_shared(Path(self.shared), batch_id) if batch_id >= 0 else {})
        row = 0
        for batch in batches:
            seen = undropped(batch, row)
            for start in range(0, seen.num_rows, CHUNK):
                yield from worker.process(seen.slice(start, CHUNK), row + start, self.sending)
            row += batch.num_rows
        yield from self.sending.end()
        if batch_id >= 0:
            save_shared(Path(self.shared), batch_id, worker.shared_values())


def _batch_id() -> int:
    """The number of the micro-batch; -1 outside of streaming queries."""
    from pyspark import TaskContext  # noqa: PLC0415 - tests call jobs without Spark

    context = TaskContext.get()
    number = context.getLocalProperty("streaming.sql.batchId") if context is not None else None
    return -1 if number is None else int(number)


class _Workers(BoundedDict[tuple[Any, ...], "FlowWorker"]):
    """The workers of this process, by what they are for."""

    def dropped(self, key: tuple[Any, ...], value: "FlowWorker") -> None:
        """Close a worker that was evicted."""
        value.close()


_WORKERS = _Workers(_MOST_WORKERS)


def worker_of(job: FlowJob) -> "FlowWorker":
    """The worker of this process for a job; it is made if there is none."""
    key = (type(job), job.digest, job.entry, job.state, job.lookup_cache)
    worker = _WORKERS.get(key)
    if worker is None:
        worker = job.new_worker(pickle.loads(job.definition))  # noqa: S301 - our own
        tune_garbage_collection()
        _WORKERS[key] = worker
    worker.now = job.now
    return worker


class FlowWorker:
    """A flow in one process, with its databases."""

    def __init__(self, definition: FlowDefinition, entry: str, state: str, lookup_cache: int = 0) -> None:
        self.flow: CompiledFlow = compile_flow(definition)
        self.now: datetime | None = None
        self._entry = entry
        self._backout = Backout.of(definition.nodes[entry].properties)
        self._databases = Databases(DataSources(read_flow_settings(definition).data_sources, Path(state)))
        seen: Any = self._databases
        if lookup_cache:
            seen = RememberingDatabases(self._databases, Lookups(lookup_cache), written_sources(definition))
        types = {node.type for node in definition.nodes.values()}
        publishes = "Publication" in types
        if publishes:
            private_files.make_folder(Path(state))
        self._recording = RecordingStore() if "AggregateControl" in types else None
        self._resources = Resources(
            database=seen,
            aggregation=self._recording,
            subscriptions=SubscriptionRegistry(Path(state) / "subscriptions.db") if publishes else None,
            trace=TraceWriter(definition.name),
            properties={
                "BrokerName": "heliograph",
                "ExecutionGroupLabel": "0",
                "MessageFlowLabel": definition.name,
                "MessageFlowThreads": "1",
            },
        )

    def begin(self, shared: Mapping[str, Any]) -> None:
        """Prepare for a task, with these values of SHARED variables."""
        self._resources.shared = SharedVariables()
        self._resources.shared.values.update(shared)
        if self._resources.subscriptions is not None:
            self._resources.subscriptions.refresh()

    def shared_values(self) -> dict[str, Any]:
        """SHARED variables as they are now."""
        return self._resources.shared.values

    def close(self) -> None:
        """Close the databases."""
        self._databases.close()
        if self._resources.subscriptions is not None:
            self._resources.subscriptions.close()

    def process(self, piece: pa.RecordBatch, first_row: int, sending: Sending | Readable) -> list[pa.RecordBatch]:
        """The effects of some messages as rows."""
        prepared = self._prepared(envelopes_of(piece), sending)
        return sending.batches(piece, prepared, first_row)

    def _prepared(self, envelopes: Sequence[Envelope], sending: Sending | Readable) -> list[Prepared]:
        """Run the flow on a chunk and commit its changes in databases; returns what to send for each message."""
        outcomes = self._run(envelopes)
        prepared, refused = sending.prepare(
            [self._put_away(outcome, [envelope]) for outcome, envelope in zip(outcomes, envelopes, strict=True)]
        )
        decision = SPARK.after_batch(outcomes, refused, changed=bool(self._databases.open_sources()))
        if decision.step is Step.COMMIT:
            self._commit()
        else:
            self._undo()
        for at in decision.one_by_one:
            prepared[at] = self._alone(envelopes[at], sending)
        return prepared

    def _alone(self, envelope: Envelope, sending: Sending | Readable) -> Prepared:
        """Run one message by itself, with all its attempts."""

        def attempt(count: int, refusals: Refusals) -> tuple[Outcome, Sequence[Envelope]]:
            tried = replace(envelope, backout_count=count) if count else envelope
            (outcome,) = self._run([tried], refusals)
            return outcome, [tried]

        return self._settled([partial(attempt, count) for count in self._backout.last_counts()], sending)

    def _settled(self, attempts: Sequence[Attempt], sending: Sending | Readable) -> Prepared:
        """Run attempts until one succeeds and is committed, or the last one has failed; returns what to send."""
        known: Refusals = {}
        at = 0
        while True:
            outcome, messages = attempts[at](known)
            step = SPARK.after_message(outcome, attempts_left=len(attempts) - 1 - at)
            if step is Step.BACK_OUT:
                self._undo()
                at += 1
                continue
            if step is Step.DEAD_LETTER:
                outcome = self._put_away(outcome, messages)
            prepared, refused = sending.prepare([outcome])
            if refused:
                step = SPARK.after_refusal(alone=True, is_new=is_new(refused[0], known))
            if step is Step.COMMIT:
                self._commit()
                return prepared[0]
            self._undo()
            if step is Step.STOP:
                raise PublishingFailed(f"flow {self.flow.definition.name}: {'; '.join(refused[0].values())}")
            if step.is_done:
                return prepared[0]
            known = {**known, **refused[0]}

    def _put_away(self, outcome: Outcome, messages: Sequence[Envelope]) -> Outcome:
        return with_dead_letters(outcome, messages, self._backout.queue, self._entry)

    def _run(self, envelopes: Sequence[Envelope], refusals: Refusals | None = None) -> list[Outcome]:
        """Run the flow, waiting for its databases if they cannot be reached."""
        outcomes = self._patiently(lambda: self._process(envelopes, refusals or None))
        for outcome in outcomes:
            if outcome.logged and outcome.result is Result.DONE:
                for event in outcome.logged:
                    LOG.warning("%s.%s: %s", self.flow.definition.name, event.node, event.text)
        return outcomes

    def _process(self, envelopes: Sequence[Envelope], refusals: Refusals | None) -> list[Outcome]:
        process, resources, now = self.flow.process, self._resources, self.now or datetime.now()
        recording = self._recording
        if recording is None:
            return process(self._entry, envelopes, resources, now, refusals)
        # One by one: what was recorded belongs to the message that was just processed.
        return [recording.announced(process(self._entry, [one], resources, now, refusals)[0]) for one in envelopes]

    def _patiently(self, act: Callable[[], list[Outcome]]) -> list[Outcome]:
        """Act until no outcome says that a database is unreachable; `DatabaseFailed` after `PATIENCE` seconds."""
        waiting = Waiting(PATIENCE)
        while True:
            outcomes = act()
            why = unreachable(outcomes)
            if not why:
                return outcomes
            self._undo()
            pause = waiting.pause(time.monotonic())
            if pause is None:
                raise DatabaseFailed(f"flow {self.flow.definition.name} cannot reach a database: {why}")
            LOG.warning("flow %s is waiting for a database: %s", self.flow.definition.name, why)
            time.sleep(pause)

    def _undo(self) -> None:
        """Roll back all uncommitted changes."""
        self._databases.rollback_all()

    def _commit(self) -> None:
        """Commit changes in databases. If that fails, so does the task (`SPARK.after_failed_commit`)."""
        try:
            self._databases.commit_all()
        except DatabaseError as error:
            self._undo()
            raise DatabaseFailed(
                f"flow {self.flow.definition.name}: changes could not be committed: {error}"
            ) from error
