"""What is said when bytes do not fit their format, or a tree cannot be written in one."""

from functools import partial

from heliograph.errors import Problem

CANNOT_READ = 5009
CANNOT_WRITE = 5010


LONGEST = 200
"""Characters of what was found, or of a path: a message can be large, what is said about it is for a log."""


def shortened(text: str) -> str:
    """The text, without its middle if it is long."""
    if len(text) <= LONGEST:
        return text
    half = LONGEST // 2
    return f"{text[:half]} ... {text[-half:]}"


class FormatProblem(Problem):
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
