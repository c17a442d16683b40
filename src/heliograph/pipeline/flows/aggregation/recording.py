"""Fan-out: what AggregateControl and AggregateRequest record becomes messages, in the unit of work of the requests."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from heliograph.flow.engine import AggregationStore, Effect, Outcome, Publish, Put, Result, SqliteAggregationStore
from heliograph.flow.formats import Envelope
from heliograph.flow.inline import MQSTR, REQUEST_MESSAGE
from heliograph.pipeline.flows.aggregation.places import DEADLINES, REPLIES, REQUESTS, SetPlace, deadline_queue


@dataclass(slots=True)
class RequestSet:
    """What was asked for one message."""

    place: SetPlace
    timeout: float
    requests: list[tuple[str, bytes]] = field(default_factory=list)
    """Folder and identifier of each."""

    def note(self) -> bytes:
        """As text, for the stream."""
        requests = [(folder, identifier.hex()) for folder, identifier in self.requests]
        aggregate, began, identifier = self.place
        return json.dumps(
            {
                "aggregate": aggregate,
                "began": began,
                "identifier": identifier.hex(),
                "timeout": self.timeout,
                "requests": requests,
            }
        ).encode()


def record_note(note: bytes, store: AggregationStore) -> None:
    """Tell a store what a note says."""
    said: Mapping[str, Any] = json.loads(note)
    identifier = bytes.fromhex(said["identifier"])
    store.begin(identifier, said["aggregate"], said["began"] / 1000, said["timeout"])
    for folder, message_id in said["requests"]:
        store.request(identifier, folder, bytes.fromhex(message_id))
    store.launch(identifier, identifier)


class RecordingStore(SqliteAggregationStore):
    """What the nodes of one message record; nothing is kept."""

    def __init__(self) -> None:
        super().__init__(":memory:")
        self._sets: dict[bytes, RequestSet] = {}

    def begin(self, aggregate: bytes, name: str, now: float, timeout: float) -> None:
        """An aggregation begins."""
        super().begin(aggregate, name, now, timeout)
        self._sets[aggregate] = RequestSet(SetPlace(name, round(now * 1000), aggregate), timeout)

    def request(self, aggregate: bytes, folder: str, message_id: bytes) -> None:
        """A request was sent."""
        super().request(aggregate, folder, message_id)
        self._sets[aggregate].requests.append((folder, message_id))

    def announced(self, outcome: Outcome) -> Outcome:
        """What came of a message, with notes of what it has asked, and requests that say where replies go."""
        sets, self._sets = list(self._sets.values()), {}
        self.rollback()
        if not sets or outcome.result is not Result.DONE:
            return outcome
        asked = {identifier: one.place for one in sets for _, identifier in one.requests}
        effects = [_addressed(effect, asked) for effect in outcome.effects]
        return replace(outcome, effects=[*effects, *_notes(sets)])


def _addressed(effect: Effect, asked: Mapping[bytes, SetPlace]) -> Effect:
    place = asked.get(effect.envelope.message_id) if isinstance(effect, Put) else None
    if place is None:
        return effect
    assert isinstance(effect, Put)
    reply_to = f"topic://{place.topic(REPLIES)}"
    return replace(effect, envelope=replace(effect.envelope, reply_to=reply_to, message_type=REQUEST_MESSAGE))


def _notes(sets: Sequence[RequestSet]) -> list[Effect]:
    effects: list[Effect] = []
    for one in sets:
        if one.requests:
            note = Envelope(one.note(), MQSTR, persistent=True)
            deadline = Envelope(one.place.topic(DEADLINES).encode(), MQSTR, persistent=True)
            effects.append(Publish(one.place.topic(REQUESTS), note, True, ""))
            effects.append(Put(deadline_queue(one.place.aggregate), deadline, True, "", one.timeout))
    return effects
