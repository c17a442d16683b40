"""Logical messages: fields and groups, whatever bytes they are read from or written to.

Physical formats add their properties to each field and group by the name of the format (`CWF1`, `TDS1`, ...), so that a
message can be read in one format and written in another.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from heliograph.common.documents import Place
from heliograph.errors import Problem

Properties = Mapping[str, Any]
"""Physical properties by name: str, int or bool, checked by the kind of format that they are for."""


class Type(Enum):
    """What a field holds; the values are ESQL's."""

    STRING = "string"
    INTEGER = "integer"
    DECIMAL = "decimal"
    FLOAT = "float"
    BOOLEAN = "boolean"
    BINARY = "binary"
    DATE = "date"
    TIME = "time"
    DATETIME = "dateTime"


class Order(Enum):
    """How the members of a group follow each other."""

    SEQUENCE = "sequence"
    CHOICE = "choice"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Occurs:
    """How often a member may come; `most` None is without limit."""

    least: int = 1
    most: int | None = 1

    @property
    def repeats(self) -> bool:
        """Whether it may come more than once."""
        return self.most != 1


ONCE = Occurs()


@dataclass(frozen=True, slots=True)
class Field:
    """A field with a value."""

    name: str
    type: Type
    place: Place
    occurs: Occurs = ONCE
    default: Any = None
    """The value that is written when the field is missing."""
    nillable: bool = False
    values: tuple[Any, ...] = ()
    """The values that are allowed; any if empty."""
    namespace: str = ""
    physical: Mapping[str, Properties] = field(default_factory=dict)
    """By name of the format."""


@dataclass(frozen=True, slots=True)
class Group:
    """Members in a sequence, a choice or any order. Without a name they stand in the tree where the group would."""

    name: str
    order: Order
    members: "tuple[Field | Group, ...]"
    place: Place
    occurs: Occurs = ONCE
    namespace: str = ""
    physical: Mapping[str, Properties] = field(default_factory=dict)
    nillable: bool = False

    def fields(self) -> Iterator[Field]:
        """All fields below, in order."""
        for member in self.members:
            if isinstance(member, Field):
                yield member
            else:
                yield from member.fields()


Member = Field | Group


@dataclass(frozen=True, slots=True)
class Message:
    """A message: its members stand directly under the part."""

    name: str
    content: Group
    """The group of its members; its name is the message's, which XML needs and others leave out."""


@dataclass(frozen=True, slots=True)
class PhysicalFormat:
    """One way to write all messages of a model as bytes."""

    name: str
    kind: str
    """CWF, TDS, XML, ..."""
    place: Place
    properties: Properties = field(default_factory=dict)
    """What holds for all members that do not say otherwise."""


@dataclass(frozen=True, slots=True)
class Model:
    """A message set."""

    name: str
    messages: Mapping[str, Message]
    formats: Mapping[str, PhysicalFormat]
    file: str
    refused: Mapping[str, Problem] = field(default_factory=dict)
    """What an imported file has but no model can, by name, and why."""
