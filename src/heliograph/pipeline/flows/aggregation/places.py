"""Where the messages of an aggregation go: names of topics, and of the queue of deadlines."""

import re
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import quote

REQUESTS, REPLIES, DEADLINES = "requests", "replies", "deadlines"
_ROOT = "heliograph/aggregation"
_LONGEST = 21
"""Letters of an aggregation in the name of its queue, which has 48 at most, as many servers demand."""


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


KEY = "^[0-9]{13}-([0-9a-f]{2})+$"
"""The last level of a topic that is one of ours, as Spark's rlike has it."""


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
    """What a message is, and the identifier of its set. What is neither a note nor a deadline is a reply."""
    *_, kind, key = ("", *topic.split("/"))
    if kind in {REQUESTS, DEADLINES} and re.match(KEY, key):
        return kind, bytes.fromhex(key.partition("-")[2])
    return REPLIES, b""


def _below(aggregate: str) -> str:
    return f"{_ROOT}/{quote(aggregate, safe='')}"
