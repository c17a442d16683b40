"""Subscriptions of Publication nodes: which queues get which publications, by topic and by content."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock

from heliograph.errors import Problem
from heliograph.flow.errors import EsqlProblem, NodeError
from heliograph.flow.language.esql.checking.program_checking import check_expression
from heliograph.flow.language.esql.compiling.program_compiling import FilterExpression, compile_filter_expression
from heliograph.flow.language.esql.parsing.program_parsing import parse_expression
from heliograph.flow.language.esql.runtime.evaluation import Evaluation

_SCHEMA = """
CREATE TABLE IF NOT EXISTS subscription (
    queue TEXT NOT NULL, topic TEXT NOT NULL, point TEXT NOT NULL, filter TEXT NOT NULL,
    PRIMARY KEY (queue, topic, point, filter)
) WITHOUT ROWID
"""
_MOST_TOPICS = 10_000
"""The number of topics whose subscriptions are cached."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """A wish for publications."""

    queue: str
    topic: str
    """Levels are separated by `/`; `+` is any one level, `#` at the end any number of levels."""
    point: str = ""
    filter: str = ""
    """An ESQL condition on the publication, such as `Body.Order.Amount > 100`; empty for all."""


@dataclass(slots=True)
class _Entry:
    subscription: Subscription
    condition: FilterExpression | None = field(repr=False)


class SubscriptionRegistry:
    """All subscriptions, kept in a file if one is named. Threads may share it."""

    def __init__(self, file: str | Path = ":memory:") -> None:
        self._connection = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
        self._connection.execute(_SCHEMA)
        self._lock = RLock()
        self._version = -1
        self._entries: list[_Entry] = []
        self._by_topic: dict[tuple[str, str], list[_Entry]] = {}
        self._load()

    def register(self, subscription: Subscription) -> None:
        """From now on; the same one again changes nothing. A filter that is no condition is a Problem."""
        check_topic_filter(subscription.topic)
        if not subscription.queue:
            raise NodeError("A subscription needs a queue.")
        check_filter(subscription.filter)
        with self._lock:
            self._connection.execute(
                "INSERT OR IGNORE INTO subscription VALUES (?, ?, ?, ?)",
                (subscription.queue, subscription.topic, subscription.point, subscription.filter),
            )
            self._load()

    def deregister(self, subscription: Subscription) -> bool:
        """Not any more; False if there was none like it."""
        with self._lock:
            done = self._connection.execute(
                "DELETE FROM subscription WHERE (queue, topic, point, filter) = (?, ?, ?, ?)",
                (subscription.queue, subscription.topic, subscription.point, subscription.filter),
            )
            self._load()
            return done.rowcount > 0

    def all(self) -> list[Subscription]:
        """All that are registered."""
        return [entry.subscription for entry in self._entries]

    def refresh(self) -> None:
        """Take notice of what other processes have changed in the file."""
        with self._lock:
            (version,) = self._connection.execute("PRAGMA data_version").fetchone()
            if version != self._version:
                self._load()

    def matching(self, topic: str, point: str, evaluation: Evaluation) -> Sequence[Subscription]:
        """Those that get a publication: `evaluation` has its trees. UNKNOWN is not delivered, nor what fails."""
        entries = self._by_topic.get((topic, point))
        if entries is None:
            entries = self._remember(topic, point)
        return [entry.subscription for entry in entries if _wants(entry.condition, evaluation)]

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def _remember(self, topic: str, point: str) -> list[_Entry]:
        levels = topic.split("/")
        found = [
            entry
            for entry in self._entries
            if entry.subscription.point == point and topic_matches(entry.subscription.topic.split("/"), levels)
        ]
        with self._lock:
            if len(self._by_topic) >= _MOST_TOPICS:
                self._by_topic = {}
            self._by_topic[topic, point] = found
        return found

    def _load(self) -> None:
        known = {entry.subscription: entry for entry in self._entries}
        entries = []
        for row in self._connection.execute("SELECT queue, topic, point, filter FROM subscription"):
            subscription = Subscription(*row)
            entry = known.get(subscription)
            if entry is None:
                text = subscription.filter
                entry = _Entry(subscription, compile_filter_expression(text) if text else None)
            entries.append(entry)
        self._entries = entries
        self._by_topic = {}
        (self._version,) = self._connection.execute("PRAGMA data_version").fetchone()


def _wants(condition: FilterExpression | None, evaluation: Evaluation) -> bool:
    if condition is None:
        return True
    try:
        return condition(evaluation) is True
    except Problem:
        return False  # a field that cannot be compared: the condition is as unknown as without the field


def check_topic_filter(topic: str) -> None:
    """A Problem, if it is none."""
    levels = topic.split("/")
    if not topic:
        raise NodeError("A subscription needs a topic.")
    for at, level in enumerate(levels):
        if level != "+" and "+" in level:
            raise NodeError(f"topic {topic!r}: + has to be a level of its own")
        if "#" in level and (level != "#" or at != len(levels) - 1):
            raise NodeError(f"topic {topic!r}: # has to be the last level")


def check_filter(text: str) -> None:
    """A Problem, if the text is no condition over a message."""
    if text:
        mistakes = [mistake for mistake in check_expression(parse_expression(text), text) if not mistake.warning]
        if mistakes:
            raise EsqlProblem(mistakes)


def topic_matches(filter_levels: Sequence[str], levels: Sequence[str]) -> bool:
    """Whether a topic is one of those that the filter means."""
    for at, wanted in enumerate(filter_levels):
        if wanted == "#":
            return True
        if at >= len(levels) or wanted not in ("+", levels[at]):
            return False
    return len(filter_levels) == len(levels)
