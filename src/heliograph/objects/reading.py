"""From the tables of a TOML file to dataclasses, collecting every mistake on the way."""

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import is_dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from heliograph.errors import Problem
from heliograph.objects.attributes import NO_RANGES, Setting, settings
from heliograph.objects.bounds import Range
from heliograph.objects.toml import value_text

T = TypeVar("T")


def parse(path: Path) -> dict[str, Any]:
    """The tables of a TOML file; a file that cannot be read or parsed is a Problem that says where."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise Problem(f"{path}: expected a readable file: {error.strerror}") from None
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line, column = _place(data[: error.start].decode())
        raise Problem(f"{path}:{line}:{column}: expected UTF-8, found the byte 0x{data[error.start]:02x}") from None
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Problem(f"{path}:{_syntax_error(str(error), text)}") from None


def _place(before: str) -> tuple[int, int]:
    """Line and column, from 1, of what comes after this text."""
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def _syntax_error(message: str, text: str) -> str:
    """`line:column: what`, from tomllib's `what (at line 3, column 5)` or `what (at end of document)`."""
    what, _, where = message.removesuffix(")").rpartition(" (at ")
    numbers = [int(word) for word in where.replace(",", "").split() if word.isdigit()]
    line, column = numbers or _place(text.rstrip("\n"))
    return f"{line}:{column}: {what}"


class TableReader:
    """Turns tables into dataclasses. Mistakes gather in `mistakes`, one line each, so that all can be told at once."""

    def __init__(self, base: Path) -> None:
        """Relative paths in the file start from `base`."""
        self._base = base
        self.mistakes: list[str] = []

    def read(
        self, cls: type[T], table: Mapping[str, Any], where: str = "", ranges: Mapping[str, Range] = NO_RANGES
    ) -> T | None:
        """The dataclass that a table describes, or None when there are mistakes in it."""
        before = len(self.mistakes)
        values = self.values(cls, table, where, ranges)
        if len(self.mistakes) > before:
            return None
        try:
            return cls(**values)
        except Problem as problem:  # of a class that looks at its fields itself: a line for each, with the key first
            self.mistakes += [f"{where}{line}" for line in str(problem).splitlines()]
            return None

    def values(
        self, cls: type, table: Mapping[str, Any], where: str = "", ranges: Mapping[str, Range] = NO_RANGES
    ) -> dict[str, Any]:
        """The fields that a table gives values to; a value with mistakes in it is None."""
        known = {setting.key: setting for setting in settings(cls, ranges)}
        for key in table:
            if key not in known:
                self._unknown(f"{where}{key}", key, known)
        return {
            setting.field: self._value(setting, table[key], f"{where}{key}")
            for key, setting in known.items()
            if key in table
        }

    def mistake(self, key: str, expected: str, found: object) -> None:
        """Note that a key holds what it may not."""
        self.mistakes.append(f"{key}: expected {expected}, found {_shown(found)}")

    def _unknown(self, path: str, key: str, known: Mapping[str, Setting]) -> None:
        close = difflib.get_close_matches(key, known, n=1)
        hint = f"did you mean {close[0]}?" if close else f"expected one of {', '.join(known)}"
        self.mistakes.append(f"{path}: unknown key; {hint}")

    def _value(self, setting: Setting, value: Any, where: str) -> Any:
        if is_dataclass(setting.kind):
            return self._tables(setting, value, where)
        if setting.many:
            if isinstance(value, list) and all(isinstance(item, str) for item in value):
                return tuple(value)
            return self.mistake(where, setting.expected, value)
        if setting.kind is dict:
            if isinstance(value, dict) and all(isinstance(item, str) for item in value.values()):
                return value
            return self.mistake(where, setting.expected, value)
        fits, result = self._scalar(setting, value, where)
        if not fits:
            self.mistake(where, setting.expected, value)
        return result

    def _tables(self, setting: Setting, value: Any, where: str) -> Any:
        if setting.many and isinstance(value, list) and all(isinstance(item, dict) for item in value):
            return tuple(
                self.read(setting.kind, item, f"{where}[{n}].", setting.ranges) for n, item in enumerate(value, 1)
            )
        if not setting.many and isinstance(value, dict):
            return self.read(setting.kind, value, f"{where}.", setting.ranges)
        return self.mistake(where, setting.expected, value)

    def _scalar(self, setting: Setting, value: Any, where: str) -> tuple[bool, Any]:
        """Whether the value is of the kind expected, and what it becomes."""
        kind = setting.kind
        if kind is bool:
            return isinstance(value, bool), value
        if kind in {int, float}:
            number = isinstance(value, int if kind is int else int | float) and not isinstance(value, bool)
            fits = number and value in setting.range
            return fits, kind(value) if fits else None
        if not isinstance(value, str):
            return False, None
        if issubclass(kind, StrEnum):
            fits = value in list(kind)
            return fits, kind(value) if fits else None
        if kind is Path:
            return True, self._file(value, where)
        return True, value

    def _file(self, name: str, where: str) -> Path | None:
        if not name:
            return None
        path = self._base / name
        try:
            path.open("rb").close()
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            self.mistakes.append(f"{where}: expected the path of a readable file, found {value_text(name)} ({reason})")
        return path


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "an array"
    return value_text(value) if isinstance(value, bool | int | float | str) else str(value)
