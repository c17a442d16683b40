"""From tables of values, as TOML, JSON and AMQP have them, to objects, collecting every mistake; and back."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from heliograph.common.suggestions import closest_name
from heliograph.objects.attributes import Attribute, attributes_by_key, attributes_of
from heliograph.objects.errors import InvalidObject
from heliograph.objects.toml import value_text
from heliograph.objects.values import shown_value

T = TypeVar("T")
_LONGEST_KEY = 60
_MOST_UNKNOWN = 10
"""Unknown keys of a table that are reported one by one: clients send tables, too, and finding suggestions takes
time."""


def read_object(cls: type[T], values: Mapping[Any, Any]) -> T:
    """The object that a table describes; InvalidObject with all mistakes if there is none."""
    reader = TableReader()
    instance = reader.read(cls, values)
    if instance is None:
        raise InvalidObject(reader.mistakes)
    return instance


class TableReader:
    """Turns tables into objects. Mistakes gather in `mistakes`, so that all can be reported at once."""

    def __init__(self, base: Path | None = None) -> None:
        """Relative paths start from `base`; without it there can be no files."""
        self._base = base
        self.mistakes: list[tuple[str, str]] = []

    def read(self, cls: type[T], table: Mapping[Any, Any], where: str = "") -> T | None:
        """The object that a table describes, or None when there are mistakes in it."""
        before = len(self.mistakes)
        values = self.values(cls, table, where)
        for key, attribute in attributes_by_key(cls).items():
            if attribute.required and key not in table:
                self.mistake(f"{where}{key}", f"expected {attribute.expected}, found none")
        if len(self.mistakes) > before:
            return None
        try:
            return cls(**values)
        except InvalidObject as invalid:
            self.mistakes += [(f"{where}{key}", mistake) for key, mistake in invalid.mistakes]
            return None

    def values(self, cls: type, table: Mapping[Any, Any], where: str = "") -> dict[str, Any]:
        """The fields that a table gives values to; a value with mistakes in it is None."""
        known = attributes_by_key(cls)
        self._note_unknown([key for key in table if key not in known], known, where)
        return {
            attribute.field: self._value(attribute, table[key], f"{where}{key}")
            for key, attribute in known.items()
            if key in table
        }

    def _note_unknown(self, unknown: Sequence[Any], known: Mapping[str, Attribute], where: str) -> None:
        for number, key in enumerate(unknown):
            if number == _MOST_UNKNOWN:
                self.mistake(f"{where}{_key_text(key)}", f"unknown key, as are {len(unknown) - number - 1} more")
                break
            hint = closest_name(key, known) if isinstance(key, str) else ""
            text = f"did you mean {hint}?" if hint else f"expected one of {', '.join(known)}"
            self.mistake(f"{where}{_key_text(key)}", f"unknown key; {text}")

    def mistake(self, key: str, mistake: str) -> None:
        """Note what is wrong with the value of a key."""
        self.mistakes.append((key, mistake))

    def _value(self, attribute: Attribute, value: Any, where: str) -> Any:
        if attribute.is_table:
            return self._tables(attribute, value, where)
        if mistake := attribute.mistake(value):
            self.mistake(where, mistake)
            return None
        return self._file(value, where) if attribute.type is Path else attribute.convert(value)

    def _tables(self, attribute: Attribute, value: Any, where: str) -> Any:
        if attribute.many and isinstance(value, list) and all(isinstance(item, dict) for item in value):
            return tuple(self.read(attribute.type, item, f"{where}[{n}].") for n, item in enumerate(value, 1))
        if not attribute.many and isinstance(value, dict):
            return self.read(attribute.type, value, f"{where}.")
        self.mistake(where, f"expected {attribute.expected}, found {shown_value(value)}")
        return None

    def _file(self, name: str, where: str) -> Path | None:
        if not name:
            return None
        if self._base is None:
            self.mistake(where, f"expected no file here, found {value_text(name)}")
            return None
        path = self._base / name
        try:
            path.open("rb").close()
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            self.mistake(where, f"expected the path of a readable file, found {value_text(name)} ({reason})")
            return None
        return path


def _key_text(key: Any) -> str:
    return key if isinstance(key, str) and key.isprintable() and len(key) <= _LONGEST_KEY else shown_value(key)


def object_to_values(instance: Any) -> dict[str, Any]:
    """The attributes by their keys; `read_object` makes an equal object of it."""
    return {
        attribute.key: _plain_value(getattr(instance, attribute.field)) for attribute in attributes_of(type(instance))
    }


def _plain_value(value: Any) -> Any:
    match value:
        case str():
            return str(value)  # of an enumeration, too
        case Path():
            return str(value)
        case float() if math.isfinite(value) and value.is_integer():
            return int(value)
        case tuple() | list():
            return [_plain_value(item) for item in value]
        case dict() | bool() | int() | float():
            return value
        case None:
            return ""
    return object_to_values(value)
