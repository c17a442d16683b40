"""The declaration of an attribute, the attributes of a class, and checks of values against them."""

import dataclasses
import sys
import types
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, is_dataclass
from enum import Enum, StrEnum
from functools import cache
from pathlib import Path
from typing import Annotated, Any, cast, get_args, get_origin, get_type_hints

from heliograph.objects.errors import InvalidObject
from heliograph.objects.values import is_number, shown_value


@dataclass(frozen=True, slots=True)
class Range:
    """The numbers that something may be, both ends included; nothing here is negative."""

    low: float = 0
    high: float | None = None

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= (sys.float_info.max if self.high is None else self.high)  # so never inf or nan

    def __str__(self) -> str:
        return f"at least {self.low}" if self.high is None else f"from {self.low} to {self.high}"


class Effect(Enum):
    """When a changed attribute takes effect."""

    RELOAD = "reload"
    """When the configuration is read again, or at once if the object is changed by a command."""
    RESTART = "restart"
    """When the server starts again."""
    NEVER = "never"
    """Never: the object has to be deleted and created again."""


@dataclass(frozen=True, slots=True)
class Mqsc:
    """An attribute in MQSC, the language that queue administrators have scripts in."""

    name: str = ""
    synonym: str = ""
    words: Mapping[str, Any] | None = None
    """The values of the attribute by the words for them. Without a name, these words stand alone."""
    per_unit: int = 1
    """What is counted, for each of our units: 10 if MQSC counts tenths of a second."""
    counted: str = ""
    """What is counted, if that is not our unit."""
    zero: str = ""
    """The word for 0."""


@dataclass(frozen=True, slots=True)
class About:
    """What an attribute is, beside its name, type and default, which the dataclass says."""

    description: str
    """One line, with code in backticks."""
    unit: str = ""
    """What a number counts, if the name does not say it: seconds, bytes."""
    range: Range = Range()
    check: Callable[[Any], str] | None = None
    """What is wrong with a value of the right type: `expected ..., found ...`, or nothing."""
    key: str = ""
    """The name in files and messages, where it differs from that of the field."""
    default: str = ""
    """The default in words, where the value alone does not say it."""
    effect: Effect = Effect.RELOAD
    whole: bool = False
    """For tables: whether `effect` is that of all they hold, and not of their number alone."""
    only_for: tuple[str, ...] = ()
    """Kinds of the object that have the attribute; all, if empty."""
    mqsc: Mqsc | None = None


_PLAIN = {bool, str}
"""Types whose values need no further look."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of a class."""

    key: str
    field: str
    type: type
    """bool, int, float, str, a StrEnum, Path (an existing file, None for none), dict (texts by name) or a dataclass."""
    many: bool
    """Whether it is an array: of texts, or of objects."""
    default: Any
    """dataclasses.MISSING if it has none."""
    about: About
    is_table: bool
    """Whether it holds objects."""

    @property
    def required(self) -> bool:
        """Whether there is no default."""
        return self.default is dataclasses.MISSING

    @property
    def narrowed(self) -> str:
        """What it may hold, in words, where its type alone does not say it; otherwise nothing."""
        if issubclass(self.type, StrEnum):
            return self.expected
        return "" if self.about.range == Range() else str(self.about.range)

    @property
    def expected(self) -> str:
        """What it may hold, in words."""
        if issubclass(self.type, StrEnum):
            return "one of " + ", ".join(f'"{choice}"' for choice in self.type)
        if self.type in {int, float}:
            return f"{'an integer' if self.type is int else 'a number'} {self.about.range}"
        if self.is_table:
            return f"tables, each written [[{self.key}]]" if self.many else f"a table, written [{self.key}]"
        if self.many:
            return "an array of strings"
        if self.type is dict:
            return f'a table of strings, as in {self.key} = {{ name = "value" }}'
        return {bool: "true or false", str: "a string", Path: "the path of a readable file"}[self.type]

    def mistake(self, value: Any) -> str:
        """What is wrong with a value, as `expected ..., found ...`; nothing if it can be converted."""
        if not self._fits(value):
            return f"expected {self.expected}, found {shown_value(value)}"
        return self.about.check(value) if self.about.check else ""

    def _fits(self, value: Any) -> bool:
        if type(value) is self.type and self.type in _PLAIN:  # nearly always so
            return not self.many
        if self.many:
            return isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)
        if self.type is dict:
            return isinstance(value, dict) and all(isinstance(text, str) for item in value.items() for text in item)
        if self.type in {int, float}:
            return is_number(value, self.type) and value in self.about.range
        if issubclass(self.type, StrEnum):
            return isinstance(value, str) and value in list(self.type)
        if self.type is Path:
            return isinstance(value, str | Path) or (value is None and self.default is None)
        return isinstance(value, self.type)

    def convert(self, value: Any) -> Any:
        """The value as the field holds it, of one that has no mistake."""
        if self.many:
            return tuple(map(str, value))
        return self.type(value)  # numbers and texts of AMQP, too, are plain ones from here on


def attributes_of(cls: type) -> tuple[Attribute, ...]:
    """The attributes that a dataclass declares, in order."""
    return _in_order(cast("Hashable", cls))


def attributes_by_key(cls: type) -> Mapping[str, Attribute]:
    """The attributes that a dataclass declares, by their keys, in order."""
    return _declared(cast("Hashable", cls))


@cache
def _in_order(cls: Any) -> tuple[Attribute, ...]:
    return tuple(_declared(cls).values())


@cache
def _declared(cls: Any) -> Mapping[str, Attribute]:
    hints = get_type_hints(cls, include_extras=True)
    found = []
    for field in dataclasses.fields(cls):
        hint = hints[field.name]
        if get_origin(hint) is Annotated:
            type_, *notes = get_args(hint)
            found += [_attribute(field, type_, note) for note in notes if isinstance(note, About)]
    return types.MappingProxyType({attribute.key: attribute for attribute in found})


def _attribute(field: dataclasses.Field[Any], hint: Any, about: About) -> Attribute:
    many = get_origin(hint) is tuple
    if get_origin(hint) is dict:
        hint = dict
    if many or isinstance(hint, types.UnionType):  # tuple[T, ...] and T | None: T is the first part
        hint = get_args(hint)[0]
    default = field.default
    if field.default_factory is not dataclasses.MISSING:
        default = field.default_factory()
    return Attribute(about.key or field.name, field.name, hint, many, default, about, is_dataclass(hint))


Mistake = tuple[str, str]
"""The key of an attribute, and what is wrong with it: `expected ..., found ...`."""


def check_object(instance: Any, rules: Iterable[Mistake] = (), what: str = "") -> None:
    """Raise InvalidObject if an attribute has a value that it may not have, or else a rule between them is broken.

    Rules are tried only on values that make sense alone.
    """
    if mistakes := own_mistakes(instance) or list(rules):
        raise InvalidObject(mistakes, what)


def own_mistakes(instance: Any) -> list[Mistake]:
    """What is wrong with attributes, each looked at alone; objects within are their own business."""
    return [
        (attribute.key, mistake)
        for attribute in attributes_of(type(instance))
        if not attribute.is_table and (mistake := attribute.mistake(getattr(instance, attribute.field)))
    ]
