"""Single values: numbers and texts that are checked, and how an error shows what was found."""

import json
from typing import Any

_SHOWN = 60


def is_number(value: Any, kind: type) -> bool:
    """Whether this is a number of a kind; a float may be given as an integer, and true and false are no numbers."""
    return isinstance(value, int if kind is int else int | float) and not isinstance(value, bool)


def text_mistake(text: Any, longest: int) -> str:
    """What is wrong with a text, which is empty or of any characters that UTF-8 has."""
    if not isinstance(text, str):
        return f"expected a string, found {shown_value(text)}"
    if len(text) > longest:
        return f"expected at most {longest} characters, found {len(text)}: {shown_value(text)}"
    if "\0" in text or not _has_utf8(text):
        return f"expected text that UTF-8 has, without U+0000, found {shown_value(text)}"
    return ""


def shown_value(value: Any) -> str:
    """A value as an error shows it: not too long, always printable, and as TOML and JSON write it."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            text = json.dumps(value[:_SHOWN], ensure_ascii=False) + ("..." if len(value) > _SHOWN else "")
            return text.encode("utf-8", "backslashreplace").decode()
        case int() if value.bit_length() > 256:
            return "a number with too many digits to show"
        case dict():
            return "a table"
        case list() | tuple():
            return "an array"
    return str(value)[:_SHOWN]


def _has_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can write
        return False
    return True


def without_markdown(text: str) -> str:
    """A description without the marks of Markdown."""
    return text.replace("`", "")
