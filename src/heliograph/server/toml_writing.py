"""From dataclasses to the text of a TOML file, with the help of each key as a comment above it."""

import json
import math
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from heliograph.server.schema import Setting, settings

WIDTH = 100


def document(instance: Any) -> str:
    """A TOML file that reads back as an equal instance."""
    return "\n".join(_document_lines(instance)) + "\n"


def value_text(value: bool | float | str | Path | None) -> str:
    """A value as TOML writes it; None, which TOML does not know, is the empty string."""
    match value:
        case None:
            return '""'
        case bool():
            return "true" if value else "false"
        case float() if math.isfinite(value) and value.is_integer():
            return str(int(value))
        case int() | float():
            return repr(value)
    # JSON strings are TOML strings, but for one control character that JSON leaves bare.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _document_lines(instance: Any) -> Iterator[str]:
    for position, setting in enumerate(settings(type(instance))):
        value = getattr(instance, setting.field)
        for number, table in enumerate(value if setting.many else [value]):
            explain = number == 0  # once is enough for an array of tables
            if position or number:
                yield ""
            if explain:
                yield from _comment(setting.help)
            yield f"[[{setting.key}]]" if setting.many else f"[{setting.key}]"
            yield from _table_lines(setting, table, explain)


def _table_lines(table_setting: Setting, table: Any, explain: bool) -> Iterator[str]:
    for setting in settings(table_setting.kind, table_setting.ranges):
        if explain:
            parts = [setting.help.removesuffix("."), setting.narrowed]
            yield from _comment("; ".join(part for part in parts if part))
        yield f"{setting.key} = {value_text(getattr(table, setting.field))}"


def _comment(text: str) -> Iterator[str]:
    return (f"# {line}" for line in textwrap.wrap(text, WIDTH - 2))
