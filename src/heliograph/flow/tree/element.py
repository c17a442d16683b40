"""Elements: a type, a namespace, a name, a value, and children in order.

Children may still be in the message's bytes: an element whose format has not read all of them yet is *open*, and reads
on when somebody looks for a child that it does not have. A caller never sees the difference.
"""

from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from heliograph.flow.tree.types import NAME

if TYPE_CHECKING:
    from heliograph.flow.tree.part import Part

Value = bool | int | float | Decimal | str | bytes | date | time | datetime | Any | None
"""What an element can hold: the values of ESQL (`flow.values`); None is NULL."""


class Step(NamedTuple):
    """What one element of a path looks for; None stands for anything."""

    name: str | None
    namespace: str | None = ""
    type: int | None = None

    def matches(self, element: "Element") -> bool:
        """Whether this element is one that the step looks for."""
        return (
            (self.name is None or self.name == element.name)
            and (self.namespace is None or self.namespace == element.namespace)
            and (self.type is None or self.type == element.type)
        )


class Element:
    """One node of the tree.

    Attributes that most elements do not need have their defaults in the class and are set only where they differ:
    making elements is the larger part of parsing.
    """

    type: int = NAME
    namespace: str = ""
    name: str = ""
    value: Value = None
    parent: "Element | None" = None

    _children: "list[Element] | None" = None
    _open: "Part | None" = None
    """The part whose parser may still bring children."""
    _index: "dict[str, list[Element]] | None" = None
    """Children by name, in order; made when a name is first looked up among many."""

    def __init__(self, name: str = "", value: Value = None, type: int = NAME, namespace: str = "") -> None:  # noqa: A002
        self.name = name
        if value is not None:
            self.value = value
        if type != NAME:
            self.type = type
        if namespace:
            self.namespace = namespace

    # Looking

    @property
    def children(self) -> "list[Element]":
        """All children, in order. Not to be changed by the caller."""
        if self._open is not None:
            self._open.read_all_of(self)
        children = self._children
        return children if children is not None else []

    def first(self, name: str) -> "Element | None":
        """The first child of this name without a namespace."""
        return self.nth(name, 1)

    def nth(self, name: str, number: int) -> "Element | None":
        """The child that is the number-th (from 1) of this name without a namespace."""
        found = self.all(name)
        return found[number - 1] if 1 <= number <= len(found) else None

    def last(self, name: str, number: int = 1) -> "Element | None":
        """The child that is the number-th from the end (1 is the last) of this name without a namespace."""
        found = self.all(name)
        return found[-number] if 1 <= number <= len(found) else None

    def all(self, name: str) -> "list[Element]":
        """All children of this name without a namespace. Not to be changed by the caller."""
        return [child for child in self.children if child.name == name and not child.namespace]

    def match_first(self, step: Step) -> "Element | None":
        """The first child that the step looks for."""
        return self.match_nth(step, 1)

    def match_nth(self, step: Step, number: int) -> "Element | None":
        """The number-th child (from 1) of those that the step looks for."""
        found = self.match_all(step)
        return found[number - 1] if 1 <= number <= len(found) else None

    def match_last(self, step: Step, number: int = 1) -> "Element | None":
        """The number-th child from the end (1 is the last) of those that the step looks for."""
        found = self.match_all(step)
        return found[-number] if 1 <= number <= len(found) else None

    def match_all(self, step: Step) -> "list[Element]":
        """All children that the step looks for. Not to be changed by the caller."""
        return [child for child in self.children if step.matches(child)]

    def descendants(self) -> "Iterator[Element]":
        """Everything below, in document order."""
        for child in self.children:
            yield child
            yield from child.descendants()

    def root(self) -> "Element":
        """The topmost element above, or this one."""
        element = self
        while element.parent is not None:
            element = element.parent
        return element

    # Changing: whatever changes tells the part it belongs to, whose bytes are then out of date

    def touch(self) -> None:
        """Say that this element has changed."""
        element: Element | None = self
        while element is not None:
            element.changed()
            element = element.parent

    def changed(self) -> None:
        """Called when this element or one below has changed; parts forget their bytes here."""

    def set_value(self, value: Value) -> None:
        """Give it another value; children stay."""
        self.value = value
        self.touch()

    def ensure(self, name: str) -> "Element":
        """The first child of this name, made as the last child if there is none."""
        return self.first(name) or self.append(Element(name))

    def ensure_nth(self, name: str, number: int) -> "Element | None":
        """The number-th child of this name, made if just one is missing; None if more are."""
        return self.ensure_match(Step(name), number)

    def ensure_match(self, step: Step, number: int = 1) -> "Element | None":
        """The number-th child that the step looks for, made if just one is missing; None if more are."""
        found = self.match_all(step)
        if 1 <= number <= len(found):
            return found[number - 1]
        if number != len(found) + 1:
            return None
        return self.append(
            Element(step.name or "", None, NAME if step.type is None else step.type, step.namespace or "")
        )

    def append(self, child: "Element") -> "Element":
        """Put a new child behind the others, and return it."""
        return self.insert(len(self.children), child)

    def insert(self, position: int, child: "Element") -> "Element":
        """Put a new child (that has no parent) at this position, and return it."""
        _ = self.children  # reads what is still in the bytes
        if self._children is None:
            self._children = []
        self._children.insert(position, child)
        child.parent = self
        self._index = None
        self.touch()
        return child

    def detach(self) -> Self:
        """Take it out of its parent, with everything below."""
        if self.parent is not None:
            self.parent.touch()
            siblings = self.parent.children
            del siblings[self.position()]
            self.parent._index = None
            self.parent = None
        return self

    def position(self) -> int:
        """Its place among its parent's children, from 0."""
        if self.parent is None:
            return 0
        return next(at for at, sibling in enumerate(self.parent.children) if sibling is self)

    def clear(self) -> None:
        """Remove all children."""
        for child in self.children:
            child.parent = None
        self._children = None
        self._index = None
        self.touch()

    def copy(self) -> "Element":
        """A copy with everything below, without a parent."""
        copy = Element(self.name, self.value, self.type, self.namespace)
        children = [child.copy() for child in self.children]
        for child in children:
            child.parent = copy
        if children:
            copy._children = children
        return copy

    def take_content(self, source: "Element") -> None:
        """Become a copy of the source, value and children, but keep the own name (and type)."""
        children = [child.copy() for child in source.children]
        self.clear()
        self.value = source.value
        for child in children:
            self.append(child)
        self.touch()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name} = {self.value!r}>"
