"""What Spark's Python workers do: batches of rows go through the compiled flow, and its effects come out as rows.

A flow is compiled once in a process, and keeps its connections to databases there. There is nobody to give a message
back to, so the backout threshold counts as reached after the first attempt: what an inline flow would try again, and
then send to the failure path or put away, takes these steps at once. What is not the message's fault, such as a
database that is gone, is waited for, and then fails the task, which Spark repeats; no message becomes a dead letter.
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

from heliograph import private_files
from heliograph.common.backoff import Backoff
from heliograph.common.bounded_dict import BoundedDict
from heliograph.errors import Problem
from heliograph.flow.database import Databases, DataSources
from heliograph.flow.definition.flow import FlowDefinition
from heliograph.flow.engine.compiled import CompiledFlow, Refusals, compile_flow
from heliograph.flow.engine.effects import DeadLetter
from heliograph.flow.engine.garbage import collect_seldom
from heliograph.flow.engine.outcome import Outcome, Result
from heliograph.flow.engine.resources import Resources
from heliograph.flow.envelope import Envelope
from heliograph.flow.esql.database_access import DatabaseError
from heliograph.flow.esql.shared_variables import SharedVariables
from heliograph.flow.nodes.subscriptions import SubscriptionRegistry
from heliograph.flow.runner.settings import settings_of
from heliograph.flow.runner.tracing import Tracing
from heliograph.flow.runner.units import unreachable
from heliograph.pipeline.flows.aggregation.recording import RecordingStore
from heliograph.pipeline.flows.deploying import written_sources
from heliograph.pipeline.flows.envelopes import envelopes_of
from heliograph.pipeline.flows.lookups import Lookups, RememberingDatabases
from heliograph.pipeline.flows.native.marks import undropped
from heliograph.pipeline.flows.sending import Prepared, Readable, Sending
from heliograph.pipeline.flows.shared_state import load_shared, save_shared

LOG = logging.getLogger("heliograph.flow")
CHUNK = 1000
"""Messages that go through the flow, and are committed in databases, together."""
PATIENCE = 30.0
"""Seconds for which a database that cannot be reached is waited for."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
_MOST_WORKERS = 4
_DEAD_LETTER_QUEUE = "SYSTEM.DEAD.LETTER.QUEUE"
Attempt = Callable[[Refusals], Outcome]
"""Tries a unit of work, and is told what could not be sent before."""


@dataclass(frozen=True, slots=True)
class FlowJob:
    """A flow for `mapInArrow`: pickles, and is called in each task with the task's batches."""

    definition: bytes
    """The flow's definition, pickled: processes that have compiled it do not look."""
    digest: str
    entry: str
    """The input node that gets the messages."""
    state: str
    """The folder of SQLite files."""
    lookup_cache: int = 0
    sending: Sending | Readable = field(default_factory=Readable)
    """How effects become rows."""
    now: datetime | None = None
    """The time that the flow sees; None: what time it is."""
    shared: str = ""
    """The folder of SHARED variables; empty: the flow has none, or they begin anew."""

    @classmethod
    def of(cls, definition: FlowDefinition, entry: str, state: str, **more: Any) -> "FlowJob":
        """The job of a definition."""
        pickled = pickle.dumps(definition)
        return cls(pickled, sha256(pickled).hexdigest(), entry, state, **more)

    def new_worker(self, definition: FlowDefinition) -> "FlowWorker":
        """What does the work in a process."""
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
        """Close a worker that others have taken the place of."""
        value.close()


_WORKERS = _Workers(_MOST_WORKERS)


def worker_of(job: FlowJob) -> "FlowWorker":
    """The worker of this process for a job; it is made if there is none."""
    key = (type(job), job.digest, job.entry, job.state, job.lookup_cache)
    worker = _WORKERS.get(key)
    if worker is None:
        worker = job.new_worker(pickle.loads(job.definition))  # noqa: S301 - our own
        collect_seldom()
        _WORKERS[key] = worker
    worker.now = job.now
    return worker


class FlowWorker:
    """A flow in one process, with its databases."""

    def __init__(self, definition: FlowDefinition, entry: str, state: str, lookup_cache: int = 0) -> None:
        self.flow: CompiledFlow = compile_flow(definition)
        self.now: datetime | None = None
        self._entry = entry
        properties = definition.nodes[entry].properties
        threshold = (properties.get("backout_threshold", 0) or 1) + (properties.get("backout_counts") == "retries")
        self._counts = sorted({0, threshold - 1, threshold, 2 * threshold - 1})
        """Backout counts with which a message is tried: the last for each of the paths that there can be."""
        self._dead_letter_queue: str = (
            properties.get("backout_queue") or properties.get("dead_letter_queue") or _DEAD_LETTER_QUEUE
        )
        self._databases = Databases(DataSources(settings_of(definition).data_sources, Path(state)))
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
            trace=Tracing(definition.name),
            properties={
                "BrokerName": "heliograph",
                "ExecutionGroupLabel": "0",
                "MessageFlowLabel": definition.name,
                "MessageFlowThreads": "1",
            },
        )

    def begin(self, shared: Mapping[str, Any]) -> None:
        """A task begins, with these values of SHARED variables."""
        self._resources.shared = SharedVariables()
        self._resources.shared.values.update(shared)
        if self._resources.subscriptions is not None:
            self._resources.subscriptions.refresh()

    def shared_values(self) -> dict[str, Any]:
        """SHARED variables as they are now."""
        return self._resources.shared.values

    def close(self) -> None:
        """Let go of databases."""
        self._databases.close()
        if self._resources.subscriptions is not None:
            self._resources.subscriptions.close()

    def process(self, piece: pa.RecordBatch, first_row: int, sending: Sending | Readable) -> list[pa.RecordBatch]:
        """The effects of some messages as rows."""
        prepared = self._prepared(envelopes_of(piece), sending)
        return sending.batches(piece, prepared, first_row)

    def _prepared(self, envelopes: Sequence[Envelope], sending: Sending | Readable) -> list[Prepared]:
        """What is to be sent for each message. Changes in databases are committed."""
        outcomes = self._run(envelopes)
        prepared, refused = sending.prepare(list(map(self._complete, outcomes, envelopes)))
        failed = [at for at, outcome in enumerate(outcomes) if outcome.result is Result.BACKOUT or at in refused]
        if not self._databases.open_sources():
            again: Sequence[int] = failed
        elif failed or any(outcome.result is not Result.DONE for outcome in outcomes):
            # What failed must not be in the databases, and what did not fail must be.
            self._undo()
            again = range(len(envelopes))
        else:
            self._commit()
            again = ()
        for at in again:
            prepared[at] = self._alone(envelopes[at], sending)
        return prepared

    def _alone(self, envelope: Envelope, sending: Sending | Readable) -> Prepared:
        """One message, with all attempts that it has."""

        def attempt(count: int, refusals: Refusals) -> Outcome:
            tried = replace(envelope, backout_count=count) if count else envelope
            (outcome,) = self._run([tried], refusals)
            return self._complete(outcome, tried)

        return self._settled([partial(attempt, count) for count in self._counts], sending)

    def _settled(self, attempts: Sequence[Attempt], sending: Sending | Readable) -> Prepared:
        """A unit of work by itself: the first attempt that succeeds, or what comes of the last."""
        refusals: dict[tuple[str, str], str] = {}
        ahead = iter(attempts)
        attempt = next(ahead)
        while True:
            outcome = attempt(refusals)
            if outcome.result is Result.BACKOUT:
                self._undo()
                following = next(ahead, None)
                if following is not None:
                    attempt = following
                    continue
            prepared, refused = sending.prepare([outcome])
            if refused and not refused[0].keys() <= refusals.keys():
                self._undo()
                refusals.update(refused[0])
                continue
            if refused:
                raise Problem(f"flow {self.flow.definition.name}: {'; '.join(refused[0].values())}")
            if outcome.result is Result.DONE:
                self._commit()
            else:
                self._undo()
            return prepared[0]

    def _run(self, envelopes: Sequence[Envelope], refusals: Refusals | None = None) -> list[Outcome]:
        """Through the flow, as soon as its databases can be reached."""
        return self._patiently(lambda: self._process(envelopes, refusals or None))

    def _process(self, envelopes: Sequence[Envelope], refusals: Refusals | None) -> list[Outcome]:
        process, resources, now = self.flow.process, self._resources, self.now or datetime.now()
        recording = self._recording
        if recording is None:
            return process(self._entry, envelopes, resources, now, refusals)
        # One by one: what was recorded belongs to the message that was just processed.
        return [recording.announced(process(self._entry, [one], resources, now, refusals)[0]) for one in envelopes]

    def _patiently(self, act: Callable[[], list[Outcome]]) -> list[Outcome]:
        """Act as soon as databases can be reached."""
        end, backoff = time.monotonic() + PATIENCE, Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        while True:
            outcomes = act()
            failed = [outcome for outcome in outcomes if outcome.result is not Result.DONE]
            why = unreachable(failed) if failed else ""
            if not why:
                return outcomes
            self._undo()
            if time.monotonic() > end:
                raise Problem(f"flow {self.flow.definition.name} cannot reach a database: {why}")
            LOG.warning("flow %s waits for a database: %s", self.flow.definition.name, why)
            time.sleep(backoff.pause())

    def _undo(self) -> None:
        """What was not committed has not happened."""
        self._databases.rollback_all()

    def _commit(self) -> None:
        try:
            self._databases.commit_all()
        except DatabaseError as error:
            self._undo()
            raise Problem(f"flow {self.flow.definition.name}: changes could not be committed: {error}") from error

    def _complete(self, outcome: Outcome, envelope: Envelope) -> Outcome:
        """On Spark, nothing is given back and nothing is thrown away: what is not done becomes a dead letter."""
        if outcome.result is Result.DONE:
            for event in outcome.logged:
                LOG.warning("%s.%s: %s", self.flow.definition.name, event.node, event.text)
        elif outcome.result is not Result.DEAD_LETTER:
            assert outcome.exception is not None
            record = outcome.exception
            letter = DeadLetter(
                self._dead_letter_queue, envelope, record.innermost().text, record.describe(), self._entry
            )
            return replace(outcome, effects=[*outcome.effects, letter])
        return outcome
