"""Fan-in: replays the history of a set of requests, and sends the outputs of its new messages.

The flow's own nodes do the replay, with a store that exists for the replay only. Changes in databases by messages that
are not new are rolled back: they were made before.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from heliograph.flow.definition import FlowDefinition
from heliograph.flow.engine import Outcome, Refusals, SqliteAggregationStore, Timer
from heliograph.flow.formats import Envelope
from heliograph.pipeline.flows.aggregation.sets import MESSAGES, SEEN
from heliograph.pipeline.flows.aggregation_requests import DEADLINES, REPLIES, REQUESTS, kind_of, record_note
from heliograph.pipeline.flows.envelopes import envelopes_of
from heliograph.pipeline.flows.processing import CHUNK, FlowJob, FlowWorker, worker_of
from heliograph.pipeline.flows.sending import Prepared, Readable, Sending

LOG = logging.getLogger("heliograph.flow")
New = tuple[pa.RecordBatch, Prepared]
"""A message that is new (one row), and what is to be sent for it."""


@dataclass(frozen=True, slots=True)
class CollectJob(FlowJob):
    """A flow's part behind AggregateReply for `mapInArrow`: its rows are sets, as `sets.gathered` has them."""

    node: str = ""
    """The AggregateReply; the entry is the input that gets the replies."""

    def new_worker(self, definition: FlowDefinition) -> "CollectingWorker":
        """A new worker for this process."""
        return CollectingWorker(definition, self.entry, self.state, self.lookup_cache, self.node)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The effects of all new messages of a task, in the order of the stream.

        Sets come in any order. The sink counts messages, so theirs has to be the same if the task is repeated.
        """
        worker = worker_of(self)
        assert isinstance(worker, CollectingWorker)
        worker.begin({})
        new = [one for batch in batches for history in _sets(batch) for one in worker.collect(history, self.sending)]
        new.sort(key=_place)
        for start in range(0, len(new), CHUNK):
            some = new[start : start + CHUNK]
            came = pa.Table.from_batches([row for row, _ in some]).combine_chunks().to_batches()[0]
            yield from self.sending.batches(came, [prepared for _, prepared in some], start)
        yield from self.sending.end()


def _sets(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """What each set has gone through, in order."""
    for messages in batch.column(MESSAGES):
        history = pa.RecordBatch.from_struct_array(messages.values)
        yield history.take(pc.sort_indices(history.column("offset")))


def _place(one: New) -> tuple[int, int]:
    row, _ = one
    return row.column("partition")[0].as_py(), row.column("offset")[0].as_py()


class CollectingWorker(FlowWorker):
    """The flow in one process."""

    def __init__(self, definition: FlowDefinition, entry: str, state: str, lookup_cache: int, node: str) -> None:
        super().__init__(definition, entry, state, lookup_cache)
        self._node = node
        self._recording = None  # behind an AggregateReply, nothing is asked
        self._store = SqliteAggregationStore(":memory:")
        self._is_new = False

    def collect(self, history: pa.RecordBatch, sending: Sending | Readable) -> list[New]:
        """The outputs of the new messages of a set; messages without outputs are left out."""
        self._store = self._resources.aggregation = SqliteAggregationStore(":memory:")
        try:
            return list(self._replayed(history, sending))
        finally:
            self._store.close()

    def _replayed(self, history: pa.RecordBatch, sending: Sending | Readable) -> Iterator[New]:
        kinds = [kind_of(topic) for topic in history.column("topic").to_pylist()]
        seen = history.column(SEEN).to_pylist()
        newest = max(seen)
        envelopes = _envelopes(history)
        known: set[bytes] = set()
        for at, (kind, identifier) in enumerate(kinds):
            self._is_new = seen[at] == newest
            if kind == REQUESTS:
                self._take_note(envelopes[at].body)
                continue
            if kind == DEADLINES:
                timer = Timer(self._node, "aggregate", identifier, envelopes[at].place)
                replies = [envelopes[before] for before in range(at) if kinds[before][0] == REPLIES]
                prepared = self._expire(timer, replies or [envelopes[at]], sending)
            elif envelopes[at].message_id in known:
                continue  # a stream is read once, so this message was sent twice
            else:
                known.add(envelopes[at].message_id)
                prepared = self._alone(envelopes[at], sending)
            if self._is_new and prepared:
                yield history.slice(at, 1), prepared

    def _take_note(self, note: bytes) -> None:
        try:
            record_note(note, self._store)
        except (ValueError, KeyError, TypeError) as error:
            LOG.warning("%s: a stored aggregation request cannot be read (%r): %r", self._node, error, note)
            self._store.rollback()
        else:
            self._store.commit()

    def _expire(self, timer: Timer, replies: Sequence[Envelope], sending: Sending | Readable) -> Prepared:
        """Send on a set whose time is over; if that fails, its replies are dead letters."""

        def attempt(refusals: Refusals) -> tuple[Outcome, Sequence[Envelope]]:
            now = self.now or datetime.now()
            (outcome,) = self._patiently(
                lambda: [self.flow.expire(timer, now, self._resources, refusals or None)],
            )
            return outcome, replies

        return self._settled([attempt], sending)

    def _commit(self) -> None:
        if self._is_new:
            super()._commit()
        else:
            self._databases.rollback_all()
        self._store.commit()

    def _undo(self) -> None:
        super()._undo()
        self._store.rollback()


def _envelopes(history: pa.RecordBatch) -> list[Envelope]:
    """Messages as the flow sees them: that replies came by way of a topic is not its concern.

    A reply without an identifier, as MQTT has them, is known by its place.
    """
    at = history.schema.get_field_index("topic")
    envelopes = envelopes_of(history.set_column(at, "topic", pa.nulls(history.num_rows, pa.string())))
    for envelope in envelopes:
        envelope.message_id = envelope.message_id or envelope.place
    return envelopes
