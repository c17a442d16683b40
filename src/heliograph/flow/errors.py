"""The exceptions of flows that cross borders of modules.

    FlowError
        InvalidFlow           the folder or the settings of a flow
            DefinitionProblem everything that is wrong in its files
        ModelProblem          a model (message set)
        FormatProblem         bytes or elements that do not fit their format
        MessageError          a message that cannot be read or written as a whole
        NodeError             a node that cannot do its work for a message
            EffectRefused     what the server did not take
        FlowStopped           a flow that cannot run any further
        EsqlProblem           an ESQL text that cannot be used, before it runs
        CompilationError      a checked program that cannot be compiled
        DownstreamFailure     a failure in the nodes that a PROPAGATE reached
        EsqlError             an error of a running program; has a number of the broker's message catalogue
            ExpressionError, ConversionError, UserError (ThrowError), DatabaseError, StatementError

`number`, `inserts` and `folder` of an error are what an exception list shows of it, and what SQLSTATE is made of.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from heliograph.common.documents import Place
from heliograph.errors import InvalidInput, Problem

INCOMPATIBLE_TYPES = 2420
DIVIDE_BY_ZERO = 2450
OVERFLOW = 2451
BAD_ARGUMENT = 2459
DATABASE_ERROR = 2321
STATEMENT_FAILED = 2488
TOO_DEEP = 2489
CAST_FAILED = 2521
NOT_AN_INTEGER = 2595
NOT_A_FLOAT = 2596
NOT_A_DECIMAL = 2597
USER_EXCEPTION = 2951

EFFECT_REFUSED = 2666

BROKER_CATALOG = "BIPmsgs"
"""The message catalogue in which a number is looked up, unless a THROW or LOG names another."""


class FlowError(Problem):
    """The root of all exceptions of flows."""


# Texts: what is wrong before a program runs.


@dataclass(frozen=True, slots=True)
class EsqlMistake:
    """One thing that is wrong in an ESQL text, or (a warning) hardly meant."""

    file: str
    line: int
    """From 1."""
    column: int
    """From 1."""
    text: str
    source_line: str
    warning: bool = False

    def __str__(self) -> str:
        # A tab stays a tab under a tab, so that the caret stands under the character that it points to.
        line, column = _excerpt(self.source_line, self.column)
        before = "".join("\t" if character == "\t" else " " for character in line[: column - 1])
        kind = "warning: " if self.warning else ""
        return f"{self.file or 'ESQL'}:{self.line}:{self.column}: {kind}{self.text}\n  {line}\n  {before}^"


_LONGEST_EXCERPT = 160
_GAP = "... "


def _excerpt(line: str, column: int) -> tuple[str, int]:
    """As much of a line as fits on a screen, and the column in that."""
    if len(line) <= _LONGEST_EXCERPT:
        return line, column
    start = max(0, min(column - _LONGEST_EXCERPT // 2, len(line) - _LONGEST_EXCERPT))
    shown = line[start : start + _LONGEST_EXCERPT]
    if start + _LONGEST_EXCERPT < len(line):
        shown = f"{shown} ..."
    return (_GAP + shown, column - start + len(_GAP)) if start else (shown, column)


class EsqlProblem(FlowError, InvalidInput):
    """An ESQL text that cannot be used, with everything that was found in it."""

    def __init__(self, mistakes: Sequence[EsqlMistake]) -> None:
        self.mistakes = tuple(sorted(mistakes, key=lambda mistake: (mistake.file, mistake.line, mistake.column)))
        super().__init__("\n".join(str(mistake) for mistake in self.mistakes))

    def __reduce__(self) -> tuple[type["EsqlProblem"], tuple[tuple[EsqlMistake, ...]]]:
        return type(self), (self.mistakes,)


class CompilationError(FlowError, InvalidInput):
    """A program without mistakes that cannot be compiled, such as one whose statements are nested too deep."""


# Running programs.


class EsqlError(FlowError):
    """An error of a running ESQL program.

    `number` and `inserts` (values of ESQL types) are what an exception list shows of it, in a folder named `folder`.
    """

    folder: ClassVar[str] = "RecoverableException"

    def __init__(self, number: int, text: str, inserts: Sequence[Any] = ()) -> None:
        super().__init__(text)
        self.number = number
        self.text = text
        self.inserts = tuple(inserts)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.number, self.text, self.inserts), self.__dict__


class ExpressionError(EsqlError):
    """Operands or arguments that an operator or function cannot work with."""


class ConversionError(EsqlError):
    """A value that cannot become a value of another type."""

    folder = "ConversionException"


class UserError(EsqlError):
    """An exception that the flow itself raises: a THROW statement or a Throw node."""

    folder = "UserException"


class ThrowError(UserError):
    """The exception of a THROW statement, with the severity and the catalogue that it names."""

    severity: int = 1
    catalog: str = BROKER_CATALOG

    @property
    def sql(self) -> tuple[int, str, int, str] | None:
        """SQLCODE, SQLSTATE, SQLNATIVEERROR and SQLERRORTEXT, if the first four values can be these."""
        match self.inserts[:4]:
            case (int(code), str(state), int() | None as native, str(text)):
                return code, state, native or 0, text
        return None


class DatabaseError(EsqlError):
    """An error that a database reported.

    `state` is the SQLSTATE of five characters; `code` and `native` are what SQLCODE and SQLNATIVEERROR show.
    """

    folder = "DatabaseException"

    def __init__(self, text: str, state: str = "HY000", code: int = -1, native: int = 0) -> None:
        super().__init__(DATABASE_ERROR, text, (state, native, text))
        self.state = state
        self.code = code
        self.native = native

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.text, self.state, self.code, self.native), self.__dict__


class StatementError(EsqlError):
    """A statement that failed: where it stands, and why (`reason`, which is its `__cause__`, too)."""

    def __init__(self, file: str, line: int, routine: str, statement: str, reason: Problem) -> None:
        super().__init__(
            STATEMENT_FAILED,
            f"{statement_place(file, line, routine)}: {statement}: {reason}",
            (routine, f"{line}", statement),
        )
        self.file = file
        self.line = line
        self.routine = routine
        self.statement = statement
        self.reason = reason
        self.__cause__ = reason

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.file, self.line, self.routine, self.statement, self.reason)


def statement_place(file: str, line: int, routine: str) -> str:
    """Where a statement stands, for people; declarations outside of routines are in none."""
    return f"{file}:{line}: in {routine}" if routine else f"{file}:{line}"


class DownstreamFailure(FlowError):
    """A failure in the nodes that a PROPAGATE reached; the callback that propagates raises it.

    A handler of the program sees it as the error that it was there. Without a handler it goes on unchanged, as it is no
    failure of this program.
    """

    def __init__(self, text: str, number: int, reason: BaseException | None) -> None:
        super().__init__(text)
        self.text = text
        self.number = number
        self.reason = reason
        """The exception in the node that failed, if it is known."""


# Files of flows.


@dataclass(frozen=True, slots=True)
class Mistake:
    """One thing that is wrong, and where."""

    place: Place
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"


class InvalidFlow(FlowError, InvalidInput):
    """Something in the folder or the settings of a flow is wrong, or does not fit to how the flow is used."""


class DefinitionProblem(InvalidFlow):
    """A flow that cannot be loaded, with everything that is wrong in its files."""

    def __init__(self, mistakes: Iterable[Mistake], warnings: Iterable[Mistake] = ()) -> None:
        self.mistakes = tuple(mistakes)
        self.warnings = tuple(warnings)
        """What would not keep it from running."""
        super().__init__("\n".join(map(str, self.mistakes)))

    def __reduce__(self) -> tuple[type["DefinitionProblem"], tuple[tuple[Mistake, ...], tuple[Mistake, ...]]]:
        return DefinitionProblem, (self.mistakes, self.warnings)


class ModelProblem(FlowError, InvalidInput):
    """A model file that cannot be used: says where, what was expected and what is there."""

    def __init__(self, place: Place | str, text: str) -> None:
        super().__init__(f"{place}: {text}")
        self.place = place
        self.text = text

    def __reduce__(self) -> tuple[type["ModelProblem"], tuple[Place | str, str]]:
        return ModelProblem, (self.place, self.text)


# Messages.

CANNOT_READ = 5009
CANNOT_WRITE = 5010

_LONGEST_SHOWN = 200
"""Characters of what was found, or of a path: a message can be large, what is said about it is for a log."""


def shortened(text: str) -> str:
    """The text, without its middle if it is long."""
    if len(text) <= _LONGEST_SHOWN:
        return text
    half = _LONGEST_SHOWN // 2
    return f"{text[:half]} ... {text[-half:]}"


class FormatProblem(FlowError, InvalidInput):
    """Bytes that a format cannot read, or elements that it cannot write; says what was expected, what came, and where.

    Where is an offset in bytes for binary formats, a line and a column (from 1) for text, and in any case the path of
    the field as far as it is known. `number` is what an exception list shows.
    """

    def __init__(
        self,
        format: str,  # noqa: A002
        expected: str,
        found: str,
        *,
        path: str = "",
        offset: int | None = None,
        line: int | None = None,
        column: int | None = None,
        number: int = CANNOT_READ,
    ) -> None:
        self.format = format
        self.expected = expected
        self.found = found
        self.path = path
        self.offset = offset
        self.line = line
        self.column = column
        self.number = number
        super().__init__(f"{self._where()}: expected {expected}, found {shortened(found)}")

    def _where(self) -> str:
        where = [self.format]
        if self.line is not None:
            where.append(f"line {self.line}" if self.column is None else f"line {self.line}, column {self.column}")
        if self.offset is not None:
            where.append(f"offset {self.offset}")
        if self.path:
            where.append(f"field {shortened(self.path)}")
        return ", ".join(where)

    def __reduce__(self) -> tuple[object, ...]:
        """Problems travel between processes."""
        where = {name: getattr(self, name) for name in ("path", "offset", "line", "column", "number")}
        return partial(type(self), **where), (self.format, self.expected, self.found)


class MessageError(FlowError, InvalidInput):
    """A message that cannot be read or written as a whole: it has no body, or is of an unknown domain."""


class NodeError(FlowError):
    """A node that cannot do its work for this message; the text says what is missing or wrong."""


class EffectRefused(NodeError):
    """The server, or the disk, did not take what an earlier attempt wanted to be done."""

    number = EFFECT_REFUSED


class FlowStopped(FlowError):
    """A flow that cannot run any further in this process, or whose processes die again and again."""
