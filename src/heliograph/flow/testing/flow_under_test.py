"""A flow with everything around it that it needs, in memory: queues, topics, files, requests, databases, the time."""

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Self

from heliograph.errors import InvalidInput
from heliograph.flow.definition import FlowDefinition
from heliograph.flow.engine.aggregation_store import SqliteAggregationStore
from heliograph.flow.engine.compiled_flow import Observer, compile_flow
from heliograph.flow.engine.database import Databases, DataSources
from heliograph.flow.engine.node_statistics import Statistics
from heliograph.flow.engine.outcome import (
    DeadLetter,
    Effect,
    LogEvent,
    Outcome,
    Publish,
    Put,
    Respond,
    Result,
    WriteFile,
)
from heliograph.flow.engine.run import Resources
from heliograph.flow.engine.subscriptions import SubscriptionRegistry
from heliograph.flow.formats.envelope import Envelope
from heliograph.flow.loading.flow_loading import load_flow

# Tables of test cases: made from rows, and read back as rows.

Row = Mapping[str, Any]

_SQL_TYPES: Mapping[type, str] = {bool: "BOOLEAN", int: "INTEGER", float: "DOUBLE PRECISION", bytes: "BLOB"}
_NOTHING = re.compile(r"(?:[\s;]|--[^\n]*|/\*.*?\*/)*", re.DOTALL).fullmatch
"""Text that asks for nothing: blanks and comments."""


class TestDatabase:
    """One data source of a flow under test."""

    __test__ = False  # the name is right for readers; pytest need not look into it

    def __init__(self, databases: Databases, source: str) -> None:
        self._databases = databases
        self._source = source

    def execute(self, sql: str) -> None:
        """Run SQL: a table with types and keys, for example."""
        self._databases.execute(self._source, sql, ())
        self._databases.commit_all()

    def load(self, table: str, rows: Sequence[Row]) -> None:
        """Put rows into a table. A table that is not there is made, with the columns of the first row."""
        if not rows:
            return
        columns = list(rows[0])
        for row in rows:
            if list(row) != columns:
                raise InvalidInput(
                    f"table {table}: expected columns {', '.join(columns)} in every row, found {', '.join(row)}"
                )
        types = ", ".join(f"{_quoted(name)} {_SQL_TYPES.get(type(rows[0][name]), 'VARCHAR')}" for name in columns)
        self._databases.execute(self._source, f"CREATE TABLE IF NOT EXISTS {_quoted(table)} ({types})", ())
        names, marks = ", ".join(map(_quoted, columns)), ", ".join("?" * len(columns))
        insert = f"INSERT INTO {_quoted(table)} ({names}) VALUES ({marks})"  # noqa: S608 - names are quoted
        for row in rows:
            self._databases.change(self._source, insert, [row[name] for name in columns])
        self._databases.commit_all()

    def rows(self, table: str) -> list[dict[str, Any]]:
        """All rows of a table, in the order in which they were put in."""
        found = self._databases.query(self._source, f"SELECT * FROM {_quoted(table)}", ())  # noqa: S608
        return [dict(zip(found.columns, row, strict=True)) for row in found.rows]


def statements(sql: str) -> Iterator[str]:
    """The statements in a text, without the semicolons that end them; in strings, comments and triggers none does."""
    *ended, last = sql.split(";")
    begun = ""
    for piece in ended:
        begun += piece
        if sqlite3.complete_statement(begun + ";"):
            if not _NOTHING(begun):
                yield begun
            begun = ""
        else:
            begun += ";"
    if not _NOTHING(begun + last):
        yield begun + last


def comparable(row: Row) -> dict[str, Any]:
    """The row in values that a test case can say: numbers are equal whatever their type, dates and times are text."""
    return {name: _comparable(value) for name, value in row.items()}


def _comparable(value: Any) -> Any:
    if value is None or isinstance(value, bool | str | bytes):
        return value
    return Decimal(str(value)) if isinstance(value, int | float | Decimal) else str(value)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


NOON = datetime(2026, 1, 1, 12, 0, 0)
"""What time it is in a test that says nothing of it."""

_MOST_ATTEMPTS = 100


@dataclass(frozen=True, slots=True)
class Failure:
    """A message that did not get through the flow."""

    result: Result
    """What became of it in the end: a dead letter, discarded, or still where it was."""
    text: str
    """The exception that is to blame."""
    exceptions: str
    """The exception list, one exception in a line."""


class FlowUnderTest:
    """A flow to send messages to. What it sends is kept here, to be looked at.

    A message that is backed out comes again, as from a queue, until the flow is done with it. Use it as a context
    manager, or `close` it.
    """

    def __init__(
        self,
        folder: str | Path | FlowDefinition,
        *,
        environment: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        now: datetime = NOON,
        refuse: Mapping[tuple[str, str], str] | None = None,
        observer: Observer | None = None,
    ) -> None:
        """`refuse`: what the server does not take, (node, queue or topic) -> why. `observer` sees every step."""
        loaded = folder if isinstance(folder, FlowDefinition) else load_flow(folder, environment, parameters)
        self.definition: FlowDefinition = loaded
        self.flow = compile_flow(self.definition, measured=True, observer=observer)
        self.now = now
        self._refuse = dict(refuse or {})
        self._stack = ExitStack()
        state = Path(self._stack.enter_context(TemporaryDirectory(prefix="heliograph-")))
        self._databases = Databases(DataSources(dict.fromkeys(self._source_names()), state))
        self._stack.callback(self._databases.close)
        self._store = SqliteAggregationStore(":memory:")
        self._stack.callback(self._store.close)
        self.subscriptions = SubscriptionRegistry()
        self._stack.callback(self.subscriptions.close)
        self._traced: list[str] = []
        self.statistics = Statistics()
        self.resources = Resources(
            database=self._databases,
            aggregation=self._store,
            subscriptions=self.subscriptions,
            trace=self._trace,
            statistics=self.statistics,
        )
        self._sent = 0
        self.queues: dict[str, list[Envelope]] = {}
        """Messages by queue, in the order in which they were put."""
        self.topics: dict[str, list[Envelope]] = {}
        """Publications by topic."""
        self.files: dict[str, bytes] = {}
        """What files have in them, by directory and name."""
        self.responses: list[Respond] = []
        """Answers to HTTP requests."""
        self.dead_letters: list[DeadLetter] = []
        self.failures: list[Failure] = []
        """Messages that did not get through."""
        self.logged: list[LogEvent] = []
        self.handled: list[str] = []
        """Exception lists that catch and failure paths of the flow have taken."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of databases and temporary files."""
        self._stack.close()

    # Doing

    def send(self, body: str | bytes | Envelope, node: str | None = None, **fields: Any) -> Result:
        """Give the flow a message, and say what became of it.

        `node` is needed if the flow has several inputs. `fields` are those of `Envelope`. A message without an
        identifier gets one, the same in every run.
        """
        envelope = self._envelope(body, fields)
        entry = self._entry(node)
        for _ in range(_MOST_ATTEMPTS):
            (outcome,) = self.flow.process(entry, [envelope], self.resources, self.now, self._refuse or None)
            self._finish(outcome)
            if outcome.result is not Result.BACKOUT:
                break
            envelope = replace(envelope, backout_count=envelope.backout_count + 1)
        if outcome.result is not Result.DONE:
            self._fail(outcome)
        return outcome.result

    def wait(self, seconds: float) -> None:
        """Let time pass; what times out, does."""
        self.now += timedelta(seconds=seconds)
        for timer in self.flow.due(self.now, self.resources):
            outcome = self.flow.expire(timer, self.now, self.resources, self._refuse or None)
            self._finish(outcome)
            if outcome.result is not Result.DONE:
                self._fail(outcome)
        self._store.commit()

    def undo(self) -> None:
        """Undo what the flow has done in databases and aggregations, if it was called without `send`."""
        self._store.rollback()
        self._databases.rollback_all()

    def database(self, source: str = "") -> TestDatabase:
        """A data source of the flow, empty at first: to load rows before, and to look at them afterwards."""
        return TestDatabase(self._databases, source)

    # Looking

    def queue(self, name: str) -> list[Envelope]:
        """What was put on a queue."""
        return self.queues.get(name, [])

    def topic(self, name: str) -> list[Envelope]:
        """What was published on a topic."""
        return self.topics.get(name, [])

    @property
    def trace(self) -> str:
        """What Trace nodes wrote."""
        return "".join(self._traced)

    # Inside

    def _source_names(self) -> Sequence[str]:
        declared = self.definition.settings.get("data_sources") or {}
        used = [node.properties.get("data_source", "") for node in self.definition.nodes.values()]
        return [name for name in {*declared, *used} if name]

    def _entry(self, node: str | None) -> str:
        if node is not None:
            return node
        if len(self.flow.inputs) != 1:
            raise InvalidInput(f"The flow has several inputs; say which: {', '.join(self.flow.inputs)}.")
        return next(iter(self.flow.inputs))

    def _envelope(self, body: str | bytes | Envelope, fields: Mapping[str, Any]) -> Envelope:
        self._sent += 1
        envelope = body if isinstance(body, Envelope) else Envelope(body.encode() if isinstance(body, str) else body)
        envelope = replace(envelope, **fields)
        if not envelope.message_id:
            envelope = replace(envelope, message_id=b"test message %d" % self._sent)
        return envelope

    def _trace(self, destination: str, text: str) -> None:
        self._traced.append(text)

    def _finish(self, outcome: Outcome) -> None:
        self.logged.extend(outcome.logged)
        self.handled.extend(record.describe() for record in outcome.handled)
        if outcome.result is Result.DONE:
            self._store.commit()
            self._databases.commit_all()
        else:
            self._store.rollback()
            self._databases.rollback_all()
        for effect in outcome.effects:
            self._carry_out(effect)

    def _fail(self, outcome: Outcome) -> None:
        record = outcome.exception
        assert record is not None
        self.failures.append(Failure(outcome.result, record.innermost().text, record.describe()))

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case Put():
                self.queues.setdefault(effect.queue, []).append(effect.envelope)
            case Publish():
                self.topics.setdefault(effect.topic, []).append(effect.envelope)
            case WriteFile():
                name = str(Path(effect.directory) / effect.name)
                before = self.files.get(name, b"") if effect.append else b""
                self.files[name] = before + effect.data
            case Respond():
                self.responses.append(effect)
            case DeadLetter():
                self.dead_letters.append(effect)
