"""How effects of a flow become rows: readable ones, or (`Sending`) rows for the sink of a pipeline, as routes say.

Messages are encoded here and not in the sink: here, one that cannot be encoded can still take the failure path of its
node.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from heliograph.client import MessageFormat
from heliograph.flow.engine import DeadLetter, Effect, Outcome, Publish, Put, WriteFile
from heliograph.flow.formats import Envelope
from heliograph.flow.inline import destination_of, payload_of
from heliograph.pipeline.flows.effect_rows import (
    MESSAGES_SCHEMA,
    SCHEMA,
    SINK_SCHEMA,
    EffectRows,
    end_row,
    kind_and_destination,
)
from heliograph.pipeline.flows.json_columns import refused_payloads
from heliograph.pipeline.flows.routes import Route, Routes

Prepared = Sequence[tuple[Effect, bytes | None]]
"""The effects of one message, each with the message as the server takes it, if it goes there."""
Refused = dict[int, dict[tuple[str, str], str]]
"""By message: what cannot be sent, (node, place) -> why."""


class Readable:
    """Effects as columns."""

    __slots__ = ()

    def prepare(self, outcomes: Sequence[Outcome]) -> tuple[list[Prepared], Refused]:
        """Nothing is refused."""
        return [[(effect, None) for effect in outcome.effects] for outcome in outcomes], {}

    def batches(self, came: pa.RecordBatch, prepared: Sequence[Prepared], first_row: int) -> list[pa.RecordBatch]:
        """The rows of a batch."""
        rows = EffectRows(came)
        for at, effects in enumerate(prepared):
            for index, (effect, _) in enumerate(effects):
                rows.add(at, index, effect)
        return [rows.batch(SCHEMA)] if len(rows) else []

    def end(self) -> list[pa.RecordBatch]:
        """Nothing follows."""
        return []


@dataclass(frozen=True, slots=True)
class Sending:
    """Effects as the sink of a pipeline takes them."""

    routes: Routes
    origins: Mapping[str, str]
    """The queue of each input node, which dead letters name."""
    json_schemas: Mapping[str, pa.Schema] = field(default_factory=dict)
    """By node: the columns of those that go to files or tables as JSON."""

    def prepare(self, outcomes: Sequence[Outcome]) -> tuple[list[Prepared], Refused]:
        """What is to be sent for each message, and what of it cannot be."""
        now = round(time.time() * 1000)
        prepared: list[Prepared] = []
        refused: Refused = {}
        for at, outcome in enumerate(outcomes):
            effects: list[tuple[Effect, bytes | None]] = []
            for effect in outcome.effects:
                routed = self._routed(effect)
                try:
                    message = None if routed is None else payload_of(routed, now, self.origins)
                except MessageFormat as problem:
                    refused.setdefault(at, {})[effect.node, destination_of(effect)] = str(problem)
                else:
                    effects.append((routed or effect, message))
            prepared.append(effects)
        if self.json_schemas:
            self._check_json(prepared, refused)
        return prepared, refused

    def batches(self, came: pa.RecordBatch, prepared: Sequence[Prepared], first_row: int) -> list[pa.RecordBatch]:
        """The rows of a batch: those for the server, and the others."""
        messages, others = EffectRows(came), EffectRows(came)
        for at, effects in enumerate(prepared):
            for index, (effect, message) in enumerate(effects):
                if message is None:
                    others.add(at, index, effect)
                else:
                    messages.add_message(at, index, *kind_and_destination(effect), effect.node, message)
        return [rows.batch(SINK_SCHEMA, first_row) for rows in (messages, others) if len(rows)]

    def end(self) -> list[pa.RecordBatch]:
        """The row that tells the sink that all rows have come."""
        return [end_row()]

    def route_of(self, effect: Effect) -> Route:
        """Where it goes."""
        return self.routes.dead_letters if isinstance(effect, DeadLetter) else self.routes.of(effect.node)

    def _routed(self, effect: Effect) -> Put | Publish | DeadLetter | None:
        """The message that an effect becomes; None if it becomes none."""
        route = self.route_of(effect)
        if route.kind == "flow":
            return None if isinstance(effect, WriteFile) else effect  # type: ignore[return-value]
        if not route.to_server:
            return None
        if isinstance(effect, DeadLetter) and route.kind == "queue":
            return replace(effect, queue=route.target)
        envelope = _reasoned(effect) if isinstance(effect, DeadLetter) else _envelope(effect)
        if route.kind == "queue":
            return Put(route.target, envelope, effect.transactional, effect.node)
        return Publish(route.target, envelope, effect.transactional, effect.node)

    def _check_json(self, prepared: Sequence[Prepared], refused: Refused) -> None:
        for node, schema in self.json_schemas.items():
            found = [
                (at, effect)
                for at, effects in enumerate(prepared)
                for effect, message in effects
                if message is None and not isinstance(effect, DeadLetter) and effect.node == node
            ]
            if found:
                for number, why in refused_payloads([_body(effect) for _, effect in found], schema).items():
                    at, effect = found[number]
                    refused.setdefault(at, {})[node, destination_of(effect)] = why


class MessagesOnly(Sending):
    """Effects all of which are messages for the server, as those take them who publish them at once."""

    __slots__ = ()

    def batches(self, came: pa.RecordBatch, prepared: Sequence[Prepared], first_row: int) -> list[pa.RecordBatch]:
        """The messages of a batch, and the numbers of those that they came of."""
        rows: list[int] = []
        messages: list[bytes] = []
        for row, effects in enumerate(prepared, first_row):
            for effect, message in effects:
                assert message is not None, f"{effect.node} sends messages"
                rows.append(row)
                messages.append(message)
        return [pa.RecordBatch.from_arrays([rows, messages], schema=MESSAGES_SCHEMA)] if rows else []

    def end(self) -> list[pa.RecordBatch]:
        """Nothing: the same process publishes the messages, and knows when there are no more."""
        return []


def _envelope(effect: Any) -> Envelope:
    return Envelope(effect.data) if isinstance(effect, WriteFile) else effect.envelope


def _body(effect: Any) -> bytes:
    return effect.data if isinstance(effect, WriteFile) else effect.envelope.body


def _reasoned(letter: DeadLetter) -> Envelope:
    """Subscribers of a topic see properties, not annotations."""
    reasons = {
        "dead_letter_reason": letter.reason,
        "dead_letter_node": letter.node,
        "dead_letter_exceptions": letter.exceptions,
    }
    return replace(letter.envelope, properties={**letter.envelope.properties, **reasons})
