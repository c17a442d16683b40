"""Fan-out on Spark: AggregateControl and AggregateRequest become messages, in the unit of work of the requests.

Each set of requests has topics of its own (`SetPlace`), for its note, its replies and its deadline. The other half,
which collects replies, is in `flows/aggregation`.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, NamedTuple
from urllib.parse import quote

from heliograph.flow.engine import AggregationStore, Effect, Outcome, Publish, Put, Result, SqliteAggregationStore
from heliograph.flow.formats import Envelope
from heliograph.flow.inline import MQSTR, REQUEST_MESSAGE

REQUESTS, REPLIES, DEADLINES = "requests", "replies", "deadlines"
_ROOT = "heliograph/aggregation"
_LONGEST = 21
"""Letters of an aggregation in the name of its queue, which has 48 at most, as many servers demand."""
KEY = "^[0-9]{13}-([0-9a-f]{2})+$"
"""The last level of a topic that is one of ours, as Spark's rlike has it."""


class SetPlace(NamedTuple):
    """One set of requests: its messages have topics of their own."""

    aggregate: str
    """The name that fan-out and fan-in have in common."""
    began: int
    """Milliseconds since 1970."""
    identifier: bytes

    def topic(self, kind: str) -> str:
        """The topic of its note, its replies, or its deadline."""
        return f"{_below(self.aggregate)}/{kind}/{self.began}-{self.identifier.hex()}"


def topics_of(aggregate: str) -> str:
    """The filter of all topics of an aggregation."""
    return f"{_below(aggregate)}/#"


def deadline_queue(aggregate: str) -> str:
    """The queue that gives out deadlines when they are due; bodies are topics."""
    return f"FLOW.AGGREGATION.{_in_queue_name(aggregate)}.DEADLINES"


def _in_queue_name(aggregate: str) -> str:
    """The name itself if a queue's name can have it; else how it begins, and a digest that tells it from others."""
    if re.fullmatch(rf"[A-Za-z0-9._]{{1,{_LONGEST}}}", aggregate):
        return aggregate
    digest = sha256(aggregate.encode()).hexdigest()[:8]
    beginning = re.sub(r"[^A-Za-z0-9._]", "_", aggregate)[: _LONGEST - len(digest) - 1]
    return f"{beginning}-{digest}"  # no name that stays as it is has a hyphen


def kind_of(topic: str) -> tuple[str, bytes]:
    """The kind of a message, and the identifier of its set. What is neither a note nor a deadline is a reply."""
    *_, kind, key = ("", *topic.split("/"))
    if kind in {REQUESTS, DEADLINES} and re.match(KEY, key):
        return kind, bytes.fromhex(key.partition("-")[2])
    return REPLIES, b""


def _below(aggregate: str) -> str:
    return f"{_ROOT}/{quote(aggregate, safe='')}"


@dataclass(slots=True)
class RequestSet:
    """The requests that the flow sent for one message."""

    place: SetPlace
    timeout: float
    requests: list[tuple[str, bytes]] = field(default_factory=list)
    """Folder and identifier of each."""

    def note(self) -> bytes:
        """The note that is published to the stream, as text."""
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
    """Record the requests of a note in a store."""
    said: Mapping[str, Any] = json.loads(note)
    identifier = bytes.fromhex(said["identifier"])
    store.begin(identifier, said["aggregate"], said["began"] / 1000, said["timeout"])
    for folder, message_id in said["requests"]:
        store.request(identifier, folder, bytes.fromhex(message_id))
    store.launch(identifier, identifier)


class RecordingStore(SqliteAggregationStore):
    """Records the requests of one message; keeps nothing from one message to the next."""

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
        """The outcome of a message, with notes of its requests added, and reply addresses set in the requests."""
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
