"""Packed children: the values of a message without elements.

Theory of operation. Messages of one kind differ in their values only. Names, types and order of their elements are in a
`Layout`, which all of them share; a message has a tuple of values of its own. The two together (`Packed`) stand for the
children of an element until they are needed as elements: then the element *unpacks* them, one level deep; the children
below stay packed, with the same tuple. Values can be read, copied and written without that, so for most messages no
elements are made below the top.

Layouts and tuples never change, so copies of an element share them. Setting a value makes a new tuple.
"""

from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, Protocol, final

from heliograph.common.bounded_dict import BoundedDict
from heliograph.flow.tree.index import FirstPlaces

_FEW = 8
"""Elements with more children get the places of their names with them."""
_MOST_GETTERS = 256

Getter = Callable[[Sequence[Any]], tuple[Any, ...]]


class PackedField(NamedTuple):
    """What is known of a child without its message."""

    name: str
    type: int
    namespace: str
    value: Any
    """Its value, if that is the same in all messages."""
    place: int
    """Where its value is among the values; -1 if it is not there."""
    below: "Layout | None"
    """Its children."""


class Layout:
    """The children of an element, without their values."""

    __slots__ = ("_getters", "fields", "first_places", "named", "written")

    def __init__(self, fields: Sequence[PackedField]) -> None:
        self.fields = tuple(fields)
        names = [None if field.namespace else field.name for field in self.fields]
        self.first_places = FirstPlaces(names) if len(names) > _FEW else None
        self.named: dict[str, PackedField] = {}
        """The first child of each name without a namespace."""
        for field, name in zip(self.fields, names, strict=True):
            if name is not None:
                self.named.setdefault(name, field)
        self.written: dict[Any, Any] = {}
        """What writers know about it, each under a key of its own."""
        self._getters: BoundedDict[int, tuple[tuple[str, ...], Getter | None]] = BoundedDict(_MOST_GETTERS)

    def getter(self, names: tuple[str, ...]) -> Getter | None:
        """What takes the values of these children from a row of values; None if some are no leaves, or not there."""
        # By identity: programs pass constants, and comparing all names each time takes longer than the rest.
        known = self._getters.get(id(names))
        if known is not None and known[0] is names:
            return known[1]
        fields = [self.named.get(name) for name in names]
        places = [field.place for field in fields if field is not None and field.below is None and field.place >= 0]
        getter = itemgetter(*places) if len(places) == len(names) > 1 else None
        self._getters[id(names)] = (names, getter)
        return getter

    def all_fields(self) -> "Iterator[PackedField]":
        """Everything below, in document order."""
        for field in self.fields:
            yield field
            if field.below is not None:
                yield from field.below.all_fields()


class Unpacking(Protocol):
    """An element that has packed children, and can have them as elements instead."""

    def unpack(self, packed: "Packed") -> None:
        """Make elements of the packed children."""


@final
class Packed:
    """The children of an element, packed. An element has it where others have the part that reads their children."""

    __slots__ = ("layout", "values")

    def __init__(self, layout: Layout, values: Sequence[Any]) -> None:
        self.layout = layout
        self.values = values

    def read_all_of(self, element: Unpacking) -> None:
        """Let the element, which has this, have its children instead."""
        element.unpack(self)
