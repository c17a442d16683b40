"""What commands print for people: tables, pairs, times, colours, and a line while somebody waits."""

import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TextIO

from heliograph.common.terminal import on_one_line, steer, visible


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


def pairs(values: dict[str, Any]) -> Iterator[str]:
    """Lines with a name and its value; values stand below each other."""
    width = max(map(len, values), default=0)
    for name, value in values.items():
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


_RESET = "\x1b[0m"
RED, GREEN, YELLOW, CYAN, BOLD = (f"\x1b[{number}m" for number in (31, 32, 33, 36, 1))


def wants_colour(stream: TextIO) -> bool:
    """Whether colours are for this stream."""
    return stream.isatty() and not os.environ.get("NO_COLOR")


def coloured(text: str, colour: str) -> str:
    """The text in a colour, line by line, so that pagers keep it."""
    return "\n".join(f"{colour}{line}{_RESET}" if line else line for line in text.split("\n"))


def coloured_difference(text: str) -> str:
    """A text with differences in it: what is gone red, what is new green."""
    return "\n".join(_coloured_line(line) for line in text.split("\n"))


def _coloured_line(line: str) -> str:
    start = line.lstrip()
    if start.startswith("- ") or (start.startswith("-") and not start.startswith(("--", "->"))):
        return coloured(line, RED)
    if start.startswith("+") and not start.startswith("++"):
        return coloured(line, GREEN)
    if line.startswith("ok "):
        return coloured("ok", GREEN) + line[2:]
    if line.startswith("FAIL"):
        return coloured("FAIL", RED) + line[4:]
    return line


_SILENCE = 1.0
"""Seconds to wait before the line is shown."""
_CLEARED = "\r\x1b[K"


@contextmanager
def showing(what: str) -> Iterator[None]:
    """Say on standard error what takes so long, with the seconds, until it is done; nothing where nobody looks.

    The line is gone at the end, so that it is not among what the command prints.
    """
    if not sys.stderr.isatty():
        yield
        return
    done, began = threading.Event(), time.monotonic()

    def show() -> None:
        while not done.wait(_SILENCE):
            steer(sys.stderr, f"{_CLEARED}{visible(what)} ... {time.monotonic() - began:.0f} s")

    thread = threading.Thread(target=show, name="patience", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        if time.monotonic() - began >= _SILENCE:
            steer(sys.stderr, _CLEARED)
