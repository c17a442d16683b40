"""Colours, where somebody looks: on terminals, unless NO_COLOR says otherwise."""

import os
from typing import TextIO

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
