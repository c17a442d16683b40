"""The durable state of aggregations.

Every step is idempotent: its keys are identifiers that are equal when a message is processed again. Commit the store
*before* the messages of the same unit of work: if the process dies in between, the message is redelivered, and the step
finds what it did before. Time-outs follow the same rule: each is triggered by a message (the *occasion*), whose
identifier tells whether it is the one that ended the aggregation or a duplicate.
"""

import json
import sqlite3
from base64 import b64decode, b64encode
from dataclasses import dataclass, fields
from enum import Enum
from pathlib import Path
from typing import Any, Protocol

from heliograph.flow.formats.envelope import Envelope


@dataclass(frozen=True, slots=True)
class CollectedReply:
    """One request of an aggregation, with the reply to it, if one has come."""

    folder: str
    reply: Envelope | None


@dataclass(frozen=True, slots=True)
class Aggregate:
    """All requests of an aggregation, in the order in which they were sent."""

    identifier: bytes
    replies: tuple[CollectedReply, ...]


class Match(Enum):
    """What a reply is to the store."""

    COMPLETES = "completes"
    """The last that was awaited; also if it comes again."""
    WAITS = "waits"
    """Others are still awaited."""
    REPEATED = "repeated"
    """It is recorded already, and the aggregation does not end with it."""
    UNKNOWN = "unknown"
    """Nobody waits for it, or not any more, or not yet."""


@dataclass(frozen=True, slots=True)
class Expired:
    """Something whose time is over."""

    is_aggregate: bool
    """Otherwise it is an unknown reply."""
    key: bytes


class AggregationStore(Protocol):
    """Durable state of aggregations, for one instance of a flow. Times are seconds since 1970."""

    def begin(self, aggregate: bytes, name: str, now: float, timeout: float) -> None:
        """Begin an aggregation of this name; a timeout of 0 means none."""

    def request(self, aggregate: bytes, folder: str, message_id: bytes) -> None:
        """A request was sent; replies to it have its identifier as their correlation identifier."""

    def launch(self, aggregate: bytes, launched_by: bytes) -> Aggregate | None:
        """Note that all requests are recorded. Return the aggregate if all replies have arrived already."""

    def requests(self, aggregate: bytes) -> int:
        """How many requests an aggregation has."""

    def reply(self, name: str, envelope: Envelope) -> tuple[Match, Aggregate | None]:
        """Record a reply; return the aggregate, too, if this reply completes it."""

    def keep_unknown(self, name: str, envelope: Envelope, until: float) -> None:
        """Keep a reply whose request is not known yet."""

    def due(self, name: str, now: float) -> list[Expired]:
        """Return what has timed out by now, oldest first."""

    def expire(self, aggregate: bytes, occasion: bytes) -> Aggregate | None:
        """End an aggregation as it is; None if it was ended by another occasion."""

    def take_unknown(self, key: bytes, occasion: bytes) -> Envelope | None:
        """Remove a reply that was kept; None if there is none, or if another occasion has removed it."""

    def forget(self, before: float) -> None:
        """Forget aggregations that began before this time and have ended, and unknown replies that were taken out.

        Until then they are kept, in case the message that ended them is redelivered.
        """

    @property
    def changed(self) -> bool:
        """Whether there is something to commit or to roll back."""

    def commit(self) -> None:
        """Make everything since the last commit durable."""

    def rollback(self) -> None:
        """Undo everything since the last commit."""

    def close(self) -> None:
        """Let go of the store; what is not committed is undone."""


# The durable store: one SQLite file, shared by all instances and processes of flows that aggregate.
#
# Envelopes as text and bytes, for keeping them; fields that are added to envelopes later get their defaults.

_BYTES = "base64"


def head_of(envelope: Envelope) -> str:
    """Everything but the body."""
    head = {field.name: getattr(envelope, field.name) for field in fields(envelope) if field.name != "body"}
    head["properties"], head["mqmd"] = dict(envelope.properties), dict(envelope.mqmd)
    return json.dumps(head, default=_plain)


def envelope_of(head: str, body: bytes) -> Envelope:
    """The envelope again."""
    return Envelope(body, **json.loads(head, object_hook=_special))


def _plain(value: Any) -> Any:
    return {_BYTES: b64encode(value).decode()} if isinstance(value, bytes) else str(value)


def _special(value: dict[str, Any]) -> Any:
    return b64decode(value[_BYTES]) if value.keys() == {_BYTES} else value


_SCHEMA = """
CREATE TABLE IF NOT EXISTS aggregate (
    id BLOB PRIMARY KEY, name TEXT NOT NULL, began REAL NOT NULL, deadline REAL,
    launched_by BLOB, ended_by BLOB
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS aggregate_deadline ON aggregate (name, deadline) WHERE ended_by IS NULL;
CREATE TABLE IF NOT EXISTS request (
    number INTEGER PRIMARY KEY, aggregate BLOB NOT NULL, folder TEXT NOT NULL, message_id BLOB NOT NULL UNIQUE,
    reply_id BLOB, head TEXT, body BLOB
);
CREATE INDEX IF NOT EXISTS request_aggregate ON request (aggregate);
CREATE TABLE IF NOT EXISTS unknown_reply (
    reply_id BLOB PRIMARY KEY, name TEXT NOT NULL, until REAL NOT NULL, head TEXT NOT NULL, body BLOB NOT NULL,
    taken_by BLOB
);
"""

_PATIENCE = 60.0
"""Seconds to wait for another instance's unit of work."""


class SqliteAggregationStore:
    """An `AggregationStore`. Use each object in one thread."""

    def __init__(self, file: str | Path) -> None:
        self._connection = sqlite3.connect(file, timeout=_PATIENCE, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.executescript(_SCHEMA)

    # Fan-out

    def begin(self, aggregate: bytes, name: str, now: float, timeout: float) -> None:
        """An aggregation begins."""
        deadline = now + timeout if timeout else None
        self._change(
            "INSERT OR IGNORE INTO aggregate (id, name, began, deadline) VALUES (?, ?, ?, ?)",
            (aggregate, name, now, deadline),
        )

    def request(self, aggregate: bytes, folder: str, message_id: bytes) -> None:
        """A request was sent."""
        self._change(
            "INSERT OR IGNORE INTO request (aggregate, folder, message_id) VALUES (?, ?, ?)",
            (aggregate, folder, message_id),
        )

    def launch(self, aggregate: bytes, launched_by: bytes) -> Aggregate | None:
        """All requests have been recorded."""
        self._change(
            "UPDATE aggregate SET launched_by = ? WHERE id = ? AND launched_by IS NULL", (launched_by, aggregate)
        )
        row = self._row("SELECT launched_by, ended_by FROM aggregate WHERE id = ?", (aggregate,))
        if row is None or row[0] != launched_by or row[1] not in (None, launched_by) or self._awaited(aggregate):
            return None
        return self._end(aggregate, launched_by)

    def requests(self, aggregate: bytes) -> int:
        """How many requests there are."""
        return self._number("SELECT count(*) FROM request WHERE aggregate = ?", (aggregate,))

    # Fan-in

    def reply(self, name: str, envelope: Envelope) -> tuple[Match, Aggregate | None]:
        """Record a reply."""
        row = self._row(
            "SELECT aggregate.id, request.number, request.reply_id, aggregate.launched_by, aggregate.ended_by "
            "FROM request JOIN aggregate ON aggregate.id = request.aggregate "
            "WHERE request.message_id = ? AND aggregate.name = ?",
            (envelope.correlation_id, name),
        )
        if row is None:
            return Match.UNKNOWN, None
        aggregate, number, recorded, launched_by, ended_by = row
        if recorded is not None and recorded != envelope.message_id:
            return Match.UNKNOWN, None
        if ended_by is not None:
            if ended_by == envelope.message_id:
                return Match.COMPLETES, self._collected(aggregate)
            return (Match.UNKNOWN if recorded is None else Match.REPEATED), None
        if recorded is None:
            self._change(
                "UPDATE request SET reply_id = ?, head = ?, body = ? WHERE number = ?",
                (envelope.message_id, head_of(envelope), envelope.body, number),
            )
        if launched_by is not None and not self._awaited(aggregate):
            return Match.COMPLETES, self._end(aggregate, envelope.message_id)
        return (Match.WAITS if recorded is None else Match.REPEATED), None

    def keep_unknown(self, name: str, envelope: Envelope, until: float) -> None:
        """Keep a reply whose request is not known yet."""
        self._change(
            "INSERT OR IGNORE INTO unknown_reply (reply_id, name, until, head, body) VALUES (?, ?, ?, ?, ?)",
            (envelope.message_id, name, until, head_of(envelope), envelope.body),
        )

    def take_unknown(self, key: bytes, occasion: bytes) -> Envelope | None:
        """Take out a reply that was kept."""
        row = self._row("SELECT head, body, taken_by FROM unknown_reply WHERE reply_id = ?", (key,))
        if row is None or row[2] not in (None, occasion):
            return None
        self._change("UPDATE unknown_reply SET taken_by = ? WHERE reply_id = ?", (occasion, key))
        return envelope_of(row[0], row[1])

    # Time

    def due(self, name: str, now: float) -> list[Expired]:
        """What has timed out by now: unknown replies first, which may still complete an aggregation."""
        unknown = self._connection.execute(
            "SELECT reply_id FROM unknown_reply WHERE name = ? AND until <= ? AND taken_by IS NULL ORDER BY until",
            (name, now),
        )
        found = [Expired(False, key) for (key,) in unknown]
        late = self._connection.execute(
            "SELECT id FROM aggregate WHERE name = ? AND deadline <= ? AND ended_by IS NULL ORDER BY deadline",
            (name, now),
        )
        return found + [Expired(True, key) for (key,) in late]

    def expire(self, aggregate: bytes, occasion: bytes) -> Aggregate | None:
        """End an aggregation as it is."""
        row = self._row("SELECT ended_by FROM aggregate WHERE id = ?", (aggregate,))
        return self._end(aggregate, occasion) if row is not None and row[0] in (None, occasion) else None

    def forget(self, before: float) -> None:
        """Forget what is old and has ended."""
        self._change("DELETE FROM unknown_reply WHERE taken_by IS NOT NULL AND until < ?", (before,))
        old = "SELECT id FROM aggregate WHERE ended_by IS NOT NULL AND began < ?"
        if self._connection.execute(f"{old} LIMIT 1", (before,)).fetchone() is None:
            return
        self._change(f"DELETE FROM request WHERE aggregate IN ({old})", (before,))  # noqa: S608 - a constant
        self._change("DELETE FROM aggregate WHERE ended_by IS NOT NULL AND began < ?", (before,))

    # Units of work

    @property
    def changed(self) -> bool:
        """Whether there is something to commit or to roll back."""
        return self._connection.in_transaction

    def commit(self) -> None:
        """Make everything durable."""
        if self._connection.in_transaction:
            self._connection.execute("COMMIT")

    def rollback(self) -> None:
        """Undo everything since the last commit."""
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def close(self) -> None:
        """Let go of the file."""
        self.rollback()
        self._connection.close()

    def _change(self, sql: str, values: tuple[Any, ...]) -> None:
        self._begin_unit()
        self._connection.execute(sql, values)

    def _begin_unit(self) -> None:
        if not self._connection.in_transaction:
            # IMMEDIATE takes the write lock at once: two instances that read first and then write would deadlock
            self._connection.execute("BEGIN IMMEDIATE")

    def _row(self, sql: str, values: tuple[Any, ...]) -> tuple[Any, ...] | None:
        # Reads run in the transaction, too, so that decisions based on them still hold at the commit.
        self._begin_unit()
        row: tuple[Any, ...] | None = self._connection.execute(sql, values).fetchone()
        return row

    def _number(self, sql: str, values: tuple[Any, ...]) -> int:
        row = self._row(sql, values)
        assert row is not None
        return int(row[0])

    def _awaited(self, aggregate: bytes) -> int:
        return self._number("SELECT count(*) FROM request WHERE aggregate = ? AND reply_id IS NULL", (aggregate,))

    def _end(self, aggregate: bytes, ended_by: bytes) -> Aggregate:
        self._change("UPDATE aggregate SET ended_by = ? WHERE id = ?", (ended_by, aggregate))
        return self._collected(aggregate)

    def _collected(self, aggregate: bytes) -> Aggregate:
        rows = self._connection.execute(
            "SELECT folder, head, body FROM request WHERE aggregate = ? ORDER BY number", (aggregate,)
        )
        replies = [CollectedReply(folder, envelope_of(head, body) if head else None) for folder, head, body in rows]
        return Aggregate(aggregate, tuple(replies))
