"""Compiled ESQL: modules that can be run, and the Python text they are made of.

A program is pickled as its ESQL text and compiled again where it is unpickled.
"""

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from heliograph.errors import Problem
from heliograph.flow.errors import TOO_DEEP, DownstreamFailure, EsqlError, StatementError
from heliograph.flow.language.esql.runtime.evaluation import Evaluation

_DEEP = 20
"""Routines that call each other without end are inside each other more often than this."""


@dataclass(frozen=True, slots=True)
class Place:
    """A statement of a program, and the first line of Python that was made of it."""

    python_line: int
    file: str
    line: int
    routine: str
    statement: str


class Places:
    """Where lines of generated code come from."""

    def __init__(self, name: str, places: list[Place]) -> None:
        self.name = name
        """What Python has as the file of the generated code."""
        self._places = places
        self._lines = [place.python_line for place in places]

    def of(self, traceback: TracebackType | None) -> Place | None:
        """The innermost statement of the program that this traceback went through."""
        place = None
        while traceback is not None:
            if traceback.tb_frame.f_code.co_filename == self.name:
                at = bisect_right(self._lines, traceback.tb_lineno) - 1
                place = self._places[at] if at >= 0 else place
            traceback = traceback.tb_next
        return place

    def _depth(self, traceback: TracebackType | None) -> int:
        """How many functions of the program were inside each other."""
        depth = 0
        while traceback is not None:
            depth += traceback.tb_frame.f_code.co_filename == self.name
            traceback = traceback.tb_next
        return depth

    def explain(self, error: Exception) -> EsqlError | None:
        """The error with the statement that failed; None if it is no error of the program."""
        if isinstance(error, RecursionError):
            if self._depth(error.__traceback__) < _DEEP:
                return None  # the recursion is in the code around this program
            reason: Problem = EsqlError(TOO_DEEP, "routines call each other too deep")
        elif isinstance(error, Problem) and not isinstance(error, StatementError | DownstreamFailure):
            reason = error
        else:
            return None
        place = self.of(error.__traceback__)
        if place is None:
            return None
        return StatementError(place.file, place.line, place.routine, place.statement, reason)


class CompiledModule:
    """A module that can be run."""

    def __init__(
        self, owner: "CompiledProgram", kind: str, name: str, main: Callable[[Evaluation], Any], places: Places
    ) -> None:
        self.kind = kind
        """COMPUTE, FILTER, DATABASE or DATABASEEVENT."""
        self.name = name
        self._owner = owner
        self._main = main
        self._places = places

    def run(self, evaluation: Evaluation) -> bool | None:
        """Call `Main`; what it returns says where the message goes. `StatementError` says which statement failed."""
        try:
            result: bool | None = self._main(evaluation)
        except (Problem, RecursionError) as error:
            explained = self._places.explain(error)
            if explained is None:
                raise
            raise explained from explained.__cause__
        return result

    def __reduce__(self) -> tuple[Any, ...]:
        return _module_of, (self._owner, self.name)


def _module_of(owner: "CompiledProgram", name: str) -> CompiledModule:
    return owner.modules[name]


class CompiledProgram:
    """A compiled program: its modules by name, and the Python text they were compiled from."""

    def __init__(
        self,
        sources: tuple[tuple[str, str, str], ...],
        source: str,
        compile_again: "Callable[[tuple[tuple[str, str, str], ...]], CompiledProgram]",
    ) -> None:
        """`compile_again` makes the same of the sources where this is unpickled."""
        self.sources = sources
        """Of the program, then of others it uses: ESQL, its file, and the kind of module that bare statements are."""
        self.source = source
        """The generated Python, for reading."""
        self.modules: dict[str, CompiledModule] = {}
        self._compile_again = compile_again

    def __reduce__(self) -> tuple[Any, ...]:
        return self._compile_again, (self.sources,)
