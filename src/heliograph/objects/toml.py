"""TOML files: their tables read, and objects written as a file with the description of each key as a comment."""

import json
import math
import textwrap
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from heliograph.objects.attributes import Attribute, attributes_of
from heliograph.objects.errors import MalformedFile, UnreadableFile
from heliograph.objects.values import without_markdown

_WIDTH = 100


def parse_toml_file(path: Path) -> dict[str, Any]:
    """The tables of a TOML file; UnreadableFile or MalformedFile say what is wrong, and where."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UnreadableFile(f"{path}: expected a readable file: {error.strerror}") from None
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line, column = _place(data[: error.start].decode())
        raise MalformedFile(
            f"{path}:{line}:{column}: expected UTF-8, found the byte 0x{data[error.start]:02x}"
        ) from None
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise MalformedFile(f"{path}:{_syntax_error(str(error), text)}") from None


def _place(before: str) -> tuple[int, int]:
    """Line and column, from 1, of what comes after this text."""
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def _syntax_error(message: str, text: str) -> str:
    """`line:column: what`, from tomllib's `what (at line 3, column 5)` or `what (at end of document)`."""
    what, _, where = message.removesuffix(")").rpartition(" (at ")
    numbers = [int(word) for word in where.replace(",", "").split() if word.isdigit()]
    line, column = numbers or _place(text.rstrip("\n"))
    return f"{line}:{column}: {what}"


def toml_document(instance: Any) -> str:
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
    for number, line in enumerate(_tables(instance, "", explain=True)):
        if number or line:  # each table starts with an empty line, but the first one needs none
            yield line


def _tables(instance: Any, prefix: str, *, explain: bool) -> Iterator[str]:
    """The tables within a table. Those of an array are explained once, and all that is in them with the first."""
    for attribute in attributes_of(type(instance)):
        if not attribute.is_table:
            continue
        value = getattr(instance, attribute.field)
        name = prefix + attribute.key
        for number, table in enumerate(value if attribute.many else [value]):
            first = explain and number == 0
            yield ""
            if first:
                yield from _comment(without_markdown(attribute.about.description))
            yield f"[[{name}]]" if attribute.many else f"[{name}]"
            yield from _keys(table, explain=first)
            yield from _tables(table, f"{name}.", explain=first)


def _keys(table: Any, *, explain: bool) -> Iterator[str]:
    for attribute in attributes_of(type(table)):
        if attribute.is_table:
            continue
        if explain:
            yield from _comment(_explanation(attribute))
        yield f"{attribute.key} = {value_text(getattr(table, attribute.field))}"


def _explanation(attribute: Attribute) -> str:
    about = attribute.about
    values = [f"in {about.unit}" if about.unit else "", attribute.narrowed]
    parts = [without_markdown(about.description).removesuffix("."), ", ".join(value for value in values if value)]
    if about.default:
        parts.append(f"default: {without_markdown(about.default)}")
    return "; ".join(part for part in parts if part)


def _comment(text: str) -> Iterator[str]:
    return (f"# {line}" for line in textwrap.wrap(text, _WIDTH - 2))
