"""Attributes as tables in Markdown, and the places in the documentation where they stand."""

import re
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from pathlib import Path

from heliograph.objects.attributes import Attribute, Range, attributes_of
from heliograph.objects.toml import value_text

_PLACE = re.compile(r"(<!-- table: (?P<name>[a-z_]+) -->\n).*?(<!-- end of table -->)", re.DOTALL)


def attribute_table(cls: type) -> str:
    """The attributes of a class."""
    headings = ("key", "value", "default", "changes with", "meaning")
    rows = [
        (f"`{one.key}`", _value(one), _default(one), one.about.effect.value, one.about.description)
        for one in attributes_of(cls)
    ]
    return markdown_table(headings, rows)


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def with_tables(text: str, table: Callable[[str], str]) -> str:
    """A text in Markdown with each `<!-- table: NAME -->` followed by the table of that name as it is now."""
    return _PLACE.sub(lambda place: f"{place[1]}\n{table(place['name'])}\n\n{place[3]}", text)


def _value(attribute: Attribute) -> str:
    """What an attribute may hold."""
    if attribute.is_table:
        return "tables" if attribute.many else "a table"
    if attribute.many:
        return "texts"
    if issubclass(attribute.type, StrEnum):
        return ", ".join(f"`{choice}`" for choice in attribute.type)
    if attribute.type in {int, float}:
        parts = ["integer" if attribute.type is int else "number"]
        if attribute.about.range != Range():
            parts.append(str(attribute.about.range))
        return " ".join(parts) + (f", in {attribute.about.unit}" if attribute.about.unit else "")
    return {bool: "`true`, `false`", str: "text", Path: "file", dict: "texts by name"}[attribute.type]


def _default(attribute: Attribute) -> str:
    if attribute.about.default:
        return attribute.about.default
    if attribute.required:
        return "none (needed)"
    return "none" if attribute.default is None else f"`{value_text(attribute.default)}`"
