"""Dataclasses as the schema of a TOML file: what keys there are, what each may hold, and what it means.

A field's type says what its key may hold, `Annotated[..., Range(...)]` narrows a number, and the string below the
field is its help text. Reading, writing and documenting a file all start from `settings(cls)`.
"""

import ast
import inspect
import textwrap
import types
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from heliograph.objects.bounds import Range

NO_RANGES: Mapping[str, Range] = types.MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Ranges:
    """Ranges for the fields of a dataclass that is declared elsewhere and knows nothing of this schema."""

    by_field: Mapping[str, Range]


@dataclass(frozen=True, slots=True)
class Key:
    """The name of a field's key in the file, where it differs from the field's own."""

    name: str


@dataclass(frozen=True, slots=True)
class Setting:
    """One key of a table."""

    key: str
    field: str
    kind: type
    """bool, int, float, str, a StrEnum, Path (an existing file, "" for none), dict (a table of texts with any keys) or
    a dataclass (a table)."""
    many: bool
    """Whether the key is an array: of tables, or of strings."""
    range: Range
    ranges: Mapping[str, Range]
    """For a table: the ranges of its fields."""
    help: str

    @property
    def narrowed(self) -> str:
        """What the key may hold, in words, where its type alone does not say it; otherwise nothing."""
        if issubclass(self.kind, StrEnum):
            return self.expected
        return "" if self.range == Range() else str(self.range)

    @property
    def expected(self) -> str:
        """What the key may hold, in words."""
        if issubclass(self.kind, StrEnum):
            return "one of " + ", ".join(f'"{choice}"' for choice in self.kind)
        if self.kind in {int, float}:
            return f"{'an integer' if self.kind is int else 'a number'} {self.range}"
        if is_dataclass(self.kind):
            return f"tables, each written [[{self.key}]]" if self.many else f"a table, written [{self.key}]"
        if self.many:
            return "an array of strings"
        if self.kind is dict:
            return f'a table of strings, as in {self.key} = {{ name = "value" }}'
        return {bool: "true or false", str: "a string", Path: "the path of a readable file"}[self.kind]


@cache
def _field_docs(cls: type) -> dict[str, str]:
    """The strings that stand below the fields of a class; the language keeps them in the source only."""
    try:
        source = inspect.getsource(cls)
    except OSError:  # installed without sources: a file written then lacks comments, nothing more
        return {}
    (definition,) = ast.parse(textwrap.dedent(source)).body
    assert isinstance(definition, ast.ClassDef)
    docs: dict[str, str] = {}
    for statement, below in pairwise(definition.body):
        match statement, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                docs[name] = inspect.cleandoc(text)
    return docs


def settings(cls: type, ranges: Mapping[str, Range] = NO_RANGES) -> list[Setting]:
    """The keys of the table that this dataclass stands for, in order."""
    assert is_dataclass(cls)
    hints = get_type_hints(cls, include_extras=True)
    docs = _field_docs(cls)
    return [
        _setting(field.name, hints[field.name], ranges.get(field.name), docs.get(field.name, ""))
        for field in fields(cls)
        if field.compare  # the others say where a value came from; they are not part of it
    ]


def _setting(name: str, hint: Any, narrowed: Range | None, doc: str) -> Setting:
    key, range_, ranges = name, narrowed or Range(), NO_RANGES
    if get_origin(hint) is Annotated:
        hint, *notes = get_args(hint)
        for note in notes:
            match note:
                case Key(given):
                    key = given
                case Range():
                    range_ = note
                case Ranges(by_field):
                    ranges = by_field
    many = get_origin(hint) is tuple
    if get_origin(hint) is dict:
        hint = dict
    if many or isinstance(hint, types.UnionType):  # tuple[T, ...] and T | None: T is the first part
        hint = get_args(hint)[0]
    return Setting(key, name, hint, many, range_, ranges, doc)
