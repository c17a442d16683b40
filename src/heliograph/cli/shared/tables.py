"""Tables for people: columns as wide as they need to be, numbers to the right."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from heliograph.common.terminal import on_one_line


def table(headings: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """The lines of a table; columns of numbers stand to the right."""
    texts = [[on_one_line(str(cell)) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(headings, *texts, strict=True)]
    numeric = [_is_numeric([row[n] for row in rows]) for n in range(len(headings))]
    for line in (list(headings), *texts):
        cells = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, numeric, strict=True)
        ]
        yield "  ".join(cells).rstrip()


def _is_numeric(column: list[Any]) -> bool:
    """Whether there are numbers only; some may be missing."""
    numbers = [isinstance(cell, int | float) for cell in column]
    return any(numbers) and all(known or cell in {"", "-"} for known, cell in zip(numbers, column, strict=True))


def facts(pairs: dict[str, Any]) -> Iterator[str]:
    """One fact a line, names and values below each other."""
    width = max(map(len, pairs), default=0)
    for name, value in pairs.items():
        yield f"{name:<{width}}  {on_one_line(_text(value))}".rstrip()


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value)


def moment(seconds: float) -> str:
    """A time since 1970, as ISO 8601 has it."""
    try:
        found = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):  # whoever sent or wrote it may have put any number there
        return f"{seconds:.3f} s after 1970"
    return found.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def duration(seconds: float) -> str:
    """A time for people: `0.4 s`, `12 s`, `3 min`, `5 h`, `2 d`; nothing for none."""
    if not seconds:
        return ""
    if seconds < 10:
        return f"{seconds:.1f} s"
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{int(seconds // length)} {unit}"
    return f"{int(seconds)} s"
