"""From dataclasses to the text of a TOML file, with the help of each key as a comment above it."""

import json
import math
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

from heliograph.objects.attributes import NO_RANGES, Setting, settings
from heliograph.objects.bounds import Range

WIDTH = 100


def document(instance: Any) -> str:
    """A TOML file that reads back as an equal instance."""
    return "\n".join(_document_lines(instance)) + "\n"


def value_text(value: bool | float | str | Path | tuple[str, ...] | Mapping[str, str] | None) -> str:
    """A value as TOML writes it; None, which TOML does not know, is the empty string."""
    match value:
        case tuple():
            return f"[{', '.join(map(value_text, value))}]"
        case dict():
            pairs = ", ".join(f"{value_text(key)} = {value_text(item)}" for key, item in value.items())
            return f"{{ {pairs} }}" if pairs else "{}"
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
    for number, line in enumerate(_tables(type(instance), NO_RANGES, instance, "", explain=True)):
        if number or line:  # each table starts with an empty line, but the first one needs none
            yield line


def _tables(cls: type, ranges: Mapping[str, Range], instance: Any, prefix: str, *, explain: bool) -> Iterator[str]:
    """The tables within a table. Those of an array are explained once, and all that is in them with the first."""
    for setting in settings(cls, ranges):
        if not is_dataclass(setting.kind):
            continue
        value = getattr(instance, setting.field)
        name = prefix + setting.key
        for number, table in enumerate(value if setting.many else [value]):
            first = explain and number == 0
            yield ""
            if first:
                yield from _comment(setting.help)
            yield f"[[{name}]]" if setting.many else f"[{name}]"
            yield from _keys(setting, table, first)
            yield from _tables(setting.kind, setting.ranges, table, f"{name}.", explain=first)


def _keys(table_setting: Setting, table: Any, explain: bool) -> Iterator[str]:
    for setting in settings(table_setting.kind, table_setting.ranges):
        if is_dataclass(setting.kind):
            continue
        if explain:
            parts = [setting.help.removesuffix("."), setting.narrowed]
            yield from _comment("; ".join(part for part in parts if part))
        yield f"{setting.key} = {value_text(getattr(table, setting.field))}"


def _comment(text: str) -> Iterator[str]:
    return (f"# {line}" for line in textwrap.wrap(text, WIDTH - 2))
