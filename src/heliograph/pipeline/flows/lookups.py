"""A cache of database lookups, so that most messages need no query.

Only queries are cached, and only of data sources that the flow never changes. A change made by others is seen when the
cached answer is too old, or was evicted.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

from heliograph.common.bounded_dict import BoundedDict
from heliograph.flow.engine import Databases
from heliograph.flow.language import DatabaseAccess, Rows

AGE = 60.0
"""Seconds after which an answer is asked for again."""


class Lookups:
    """The cached answers of one process, by query; the least recently used one is evicted first."""

    def __init__(self, most: int, age: float = AGE, clock: Callable[[], float] = time.monotonic) -> None:
        self._age = age
        self._clock = clock
        self._answers: BoundedDict[tuple[Any, ...], tuple[float, Rows]] = BoundedDict(most)
        self.asked = 0
        """How often a database had to be asked."""

    def __len__(self) -> int:
        return len(self._answers)

    def answer(self, source: str, sql: str, parameters: Sequence[Any], ask: Callable[[], Rows]) -> Rows:
        """The cached answer, or that of the database."""
        # 1, 1.0 and TRUE are equal in Python, and not the same to a database.
        key = (source, sql, *((type(value), value) for value in parameters))
        now = self._clock()
        found = self._answers.get(key)
        if found is not None and now < found[0]:
            self._answers.renew(key)
            return found[1]
        rows = ask()
        self.asked += 1
        self._answers[key] = (now + self._age, rows)
        self._answers.renew(key)
        return rows


class Remembering:
    """Databases as ESQL sees them, with cached answers."""

    def __init__(self, seen: DatabaseAccess, lookups: Lookups, written: frozenset[str]) -> None:
        """`written` has the sources that the flow may change."""
        self._seen = seen
        self._lookups = lookups
        self._written = written

    def query(self, source: str, sql: str, parameters: Sequence[Any]) -> Rows:
        """The rows of a SELECT."""
        if source in self._written:
            return self._seen.query(source, sql, parameters)
        return self._lookups.answer(source, sql, parameters, lambda: self._seen.query(source, sql, parameters))

    def change(self, source: str, sql: str, parameters: Sequence[Any]) -> int:
        """Run an INSERT, UPDATE or DELETE."""
        return self._seen.change(source, sql, parameters)

    def execute(self, source: str, sql: str, parameters: Sequence[Any]) -> Rows:
        """Run a statement of the user (PASSTHRU)."""
        return self._seen.execute(source, sql, parameters)

    def call(
        self, source: str, procedure: str, arguments: Sequence[Any], modes: Sequence[str], result_sets: int
    ) -> tuple[Any, Sequence[Any], Sequence[Rows]]:
        """Call a stored routine."""
        return self._seen.call(source, procedure, arguments, modes, result_sets)

    def commit(self, source: str) -> None:
        """Commit what has been done on this source."""
        self._seen.commit(source)

    def rollback(self, source: str) -> None:
        """Undo what has been done on this source."""
        self._seen.rollback(source)


class RememberingDatabases(Remembering):
    """The databases of a process (`engine.resources.Databases`), with answers that are kept."""

    def __init__(self, databases: Databases, lookups: Lookups, written: frozenset[str]) -> None:
        super().__init__(databases, lookups, written)
        self._databases = databases

    def view(self, *, commit: bool = False, warnings_are_errors: bool = False) -> DatabaseAccess:
        """How a node sees them. One for which warnings are errors has to see the warnings, so it always asks."""
        seen = self._databases.view(commit=commit, warnings_are_errors=warnings_are_errors)
        return seen if warnings_are_errors else Remembering(seen, self._lookups, self._written)
