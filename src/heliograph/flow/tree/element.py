"""Elements: a type, a namespace, a name, a value, and children in order.

Theory of operation. The children of an element are in one of these states, which `pending` tells:

- complete (`pending` is None): `loaded` has all of them.
- open (`pending` is a `Source`, as a rule the part): `loaded` has those that the parser has reached. A look-up that
  does not find its child reads on, only until the child is there.
- packed (`pending` is `Packed`): the children are a layout and a tuple of values (`packed.py`). They become elements
  (`unpack`), one level deep, when one of them is needed as an element. Reading and setting values needs none.

Open and packed elements become complete. An element without children, or with packed ones, can be given packed children
(`pack`), and `clear` makes any element complete, with no children. Callers see no difference between the states.

Every change goes through a method of `Element`, and tells the part above before it happens (`touch`), so that the part
can drop its bytes and let its unread copies take what they need. Parsing is no change: see `building.py`.

Look-ups are in `lookup.py`. Some methods here repeat code of others without the calls: a program spends most of its
time in `first`, `append` and `ensure_nth`.
"""

from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Protocol, Self

from heliograph.flow.tree.element_types import NAME
from heliograph.flow.tree.index import NONE, ChildIndex, FirstPlaces, Step
from heliograph.flow.tree.lookup import FEW, Lookup
from heliograph.flow.tree.packed import Packed

Value = bool | int | float | Decimal | str | bytes | date | time | datetime | Any | None
"""What an element can hold: the values of ESQL (`flow.values`); None is NULL."""

_GROWING = 3
"""From this number of children of one name on, an index is made: a loop that makes three usually makes more."""


class Source(Protocol):
    """What reads the children of an open element: the part whose format has not read all of them yet."""

    def read_on(self) -> bool:
        """Read one step further; False at the end."""

    def read_all_of(self, element: "Element") -> None:
        """Read on until this element has all its children."""


class OwningPart(Protocol):
    """The part that an element belongs to, as far as elements know it (`part.Part`)."""

    @property
    def domain(self) -> str:
        """The name of its format."""

    def adopt(self, elements: "list[Element]", domain: str) -> None:
        """Give elements that came from another domain the types that say the same in this one."""


class Element(Lookup["Element"]):
    """One node of the tree.

    Change it through its methods: they tell the part it belongs to, and keep what makes look-ups fast.
    """

    # Slots: creating an element is as fast as with defaults in the class, and reading attributes is faster.
    __slots__ = ("pending", "value")

    def __init__(self, name: str = "", value: Value = None, type: int = NAME, namespace: str = "") -> None:  # noqa: A002
        self.name = name
        self.value = value
        self.type = type
        self.namespace = namespace
        self.parent: Element | None = None
        # The builder interface (`building.py`): for parsers and the modules of the tree, not for those who use a tree.
        self.loaded: list[Element] | None = None
        self.pending: Source | Packed | None = None
        """What brings the children that are not loaded: the part that is still being parsed, or all of them packed.

        None: `loaded` is complete."""
        self.child_index: ChildIndex[Element] | FirstPlaces | None = None
        self.last_position = 0

    # Looking

    @property
    def children(self) -> "list[Element]":
        """All children, in order. Not to be changed by the caller."""
        if self.pending is not None:
            self.pending.read_all_of(self)
        children = self.loaded
        return children if children is not None else []

    def first(self, name: str) -> "Element | None":
        """The first child of this name without a namespace."""
        # The most frequent operation of a flow: it uses the index directly to save calls.
        children = self.loaded
        if children is not None:
            index = self.child_index
            if index is None:
                for child in children if len(children) <= FEW else children[:FEW]:
                    if child.name == name and not child.namespace:
                        return child
                found = self._named(name) if len(children) > FEW else None
            elif isinstance(index, FirstPlaces):
                at = index.get(name)
                if at is not None:
                    return children[at]
                found = self._named(name) if len(children) > index.covered else None
            elif index.covered == len(children):
                found = index.by_name.get(name)
            else:
                found = self._named(name)
            if found:
                return found[0]
        source = self.pending
        if source is None:
            return None
        if type(source) is Packed:
            if name not in source.layout.named:
                return None
            self.unpack(source)
            return self.first(name)
        if children is None and self.read_more():
            return self.first(name)
        return self.nth(name, 1)

    def value_of(self, name: str) -> Value:
        """The value of the first child of this name without a namespace; NULL if there is none."""
        packed = self.pending
        if type(packed) is Packed:
            field = packed.layout.named.get(name)
            if field is None:
                return None
            return packed.values[field.place] if field.place >= 0 else field.value
        child = self.first(name)
        return child.value if child is not None else None

    def content(self, name: str) -> "Value | Element":
        """What a copy of the first child of this name has to take: a value if that is all it has, else the element.

        None if there is no such child.
        """
        packed = self.pending
        if type(packed) is Packed:
            field = packed.layout.named.get(name)
            if field is None:
                return None
            if field.place >= 0 and field.below is None:
                return packed.values[field.place]
        child = self.first(name)
        if type(child) is not Element or child.value is None or child.loaded is not None or child.pending is not None:
            return child
        return child.value

    def contents(self, names: tuple[str, ...]) -> "tuple[Value | Element, ...]":
        """The content of several children."""
        packed = self.pending
        if type(packed) is Packed:
            getter = packed.layout.getter(names)
            if getter is not None:
                return getter(packed.values)
        return tuple([self.content(name) for name in names])

    def root(self) -> "Element":
        """The topmost element above, or this one."""
        element = self
        while element.parent is not None:
            element = element.parent
        return element

    def owning_part(self) -> "OwningPart | None":
        """The part it belongs to, or is; `part.part_of` knows more of it."""
        element: Element | None = self
        while element is not None:
            if type(element) is not Element:
                return element.as_part()
            element = element.parent
        return None

    @property
    def deleted(self) -> bool:
        """Whether it, or something above it, has been deleted: what still refers to it is to do nothing."""
        return self.root() is _DELETED

    def read_more(self) -> bool:
        """Read on until there is another child; False if there is none."""
        source = self.pending
        before = len(self.loaded) if self.loaded is not None else 0
        while source is not None:
            if type(source) is Packed:
                self.unpack(source)
                break
            if not source.read_on():
                if type(self.pending) is not Packed:
                    break
            elif self.loaded is not None and len(self.loaded) > before:
                return True
            source = self.pending
        return self.loaded is not None and len(self.loaded) > before

    def unpack(self, packed: Packed) -> None:
        """Make elements of packed children; those below them stay packed."""
        values = packed.values
        new = Element.__new__
        children = []
        for name, kind, namespace, value, place, below in packed.layout.fields:
            element = new(Element)  # without a call of `__init__`: this loop is most of the cost of parsing
            element.name = name
            element.value = values[place] if place >= 0 else value
            element.type = kind
            element.namespace = namespace
            element.parent = self
            element.loaded = None
            element.pending = Packed(below, values) if below is not None else None
            element.child_index = None
            element.last_position = 0
            children.append(element)
        self.loaded = children or None
        self.child_index = packed.layout.first_places
        self.pending = None

    def pack(self, packed: Packed) -> None:
        """Give it these children, packed, in the place of packed ones or of none."""
        self.touch()
        self.pending = packed

    def as_part(self) -> "OwningPart | None":
        """Itself, if it is a part."""
        return None

    # Changing: whatever is about to change tells the part it belongs to, whose bytes are then out of date

    def touch(self) -> None:
        """Say that this element is about to change."""
        element: Element | None = self
        while type(element) is Element:
            element = element.parent
        if element is not None:
            element.changed()

    def changed(self) -> None:
        """Called before this element or one below changes; parts forget their bytes here."""

    def set_value(self, value: Value) -> None:
        """Give it another value; children stay."""
        element: Element | None = self
        while type(element) is Element:  # as `touch`, without the call
            element = element.parent
        if element is not None:
            element.changed()
        self.value = value

    def set_value_of(self, name: str, value: Value) -> None:
        """Give the first child of this name, made as the last child if there is none, another value."""
        packed = self.pending
        if type(packed) is Packed:
            field = packed.layout.named.get(name)
            if field is not None and field.place >= 0 and value is not None:
                values = list(packed.values)
                values[field.place] = value
                self.touch()
                self.pending = Packed(packed.layout, values)
                return
        child = self.first(name)
        if child is not None:
            child.set_value(value)
        elif type(self) is Element:
            self.append(Element(name, value))  # made with its value, so that the part is told of one change only
        else:
            self.ensure(name).set_value(value)

    def set_name(self, name: str) -> None:
        """Give it another name."""
        self._rename()
        self.name = name

    def set_namespace(self, namespace: str) -> None:
        """Put its name into another namespace; an empty one is none."""
        self._rename()
        self.namespace = namespace

    def set_type(self, type: int) -> None:  # noqa: A002
        """Give it another type."""
        self._rename()
        self.type = type

    def _rename(self) -> None:
        self.touch()
        if self.parent is not None:
            self.parent.child_index = None

    def new_child(self, name: str) -> "Element":
        """An element of this name that can become a child."""
        return Element(name)

    def ensure(self, name: str) -> "Element":
        """The first child of this name, made as the last child if there is none."""
        return self.first(name) or self.append(self.new_child(name))

    def ensure_nth(self, name: str, number: int, packed: Packed | None = None) -> "Element | None":
        """The number-th child of this name, made (with these children) if just one is missing; None if more are."""
        if self.pending is not None:
            found = self.nth(name, number)
            if found is not None:
                return found
        index, children = self.child_index, self.loaded
        if type(index) is ChildIndex and children is not None and index.covered == len(children):
            # A loop makes one after the other: as below, without the calls.
            named = index.by_name.get(name, NONE)
            if named and number == len(named) + 1 and self.pending is None:
                element: Element | None = self
                while type(element) is Element:
                    element = element.parent
                if element is not None:
                    element.changed()
                child = Element(name)
                child.pending = packed
                child.parent = self
                child.last_position = len(children)
                children.append(child)
                named.append(child)
                index.covered += 1
                return child
        named = self._named(name) if number < _GROWING else self._full_index().named(name, children or [])
        count = len(named)
        if number != count + 1:
            return named[number - 1] if 1 <= number <= count else None
        child = Element(name)
        child.pending = packed
        return self.append(child)

    def ensure_match(self, step: Step, number: int = 1) -> "Element | None":
        """The number-th child that the step looks for, made if just one is missing; None if more are."""
        found = self.match_nth(step, number)
        if found is not None:
            return found
        if number != len(self._matching(step)) + 1:
            return None
        return self.append(
            Element(step.name or "", None, NAME if step.type is None else step.type, step.namespace or "")
        )

    def append(self, child: "Element") -> "Element":
        """Put a new child (that has no parent) behind the others, and return it."""
        if self.pending is not None:
            self.pending.read_all_of(self)
        element: Element | None = self
        while type(element) is Element:  # as `touch`, without the call
            element = element.parent
        if element is not None:
            element.changed()
        children = self.loaded
        if children is None:
            self.loaded = [child]
        else:
            index = self.child_index
            if type(index) is ChildIndex and index.covered == len(children):
                index.add(child)
            child.last_position = len(children)
            children.append(child)
        child.parent = self
        return child

    def insert(self, position: int, child: "Element") -> "Element":
        """Put a new child (that has no parent) at this position, and return it."""
        if position >= len(self.children):
            return self.append(child)
        self.touch()
        if self.loaded is not None:
            self.loaded.insert(position, child)
        child.last_position = position
        child.parent = self
        self.child_index = None
        return child

    def detach(self) -> Self:
        """Take it out of its parent, with everything below; it can be put elsewhere."""
        self._leave(None)
        return self

    def delete(self) -> None:
        """Take it out of its parent for good: it, and everything below, is `deleted` from now on."""
        self._leave(_DELETED)

    def _leave(self, parent: "Element | None") -> None:
        old = self.parent
        if old is not None and old.loaded is not None:
            old.touch()
            if type(old.child_index) is ChildIndex:
                old.child_index.remove(self)
            else:
                old.child_index = None
            del old.loaded[self.position()]
        self.parent = parent

    def clear(self) -> None:
        """Delete all children."""
        children = self.children
        self.touch()
        self._drop(children)

    def _drop(self, children: "list[Element]") -> None:
        for child in children:
            child.parent = _DELETED
        self.loaded = None
        self.child_index = None

    def copy(self) -> "Element":
        """A copy with everything below, without a parent."""
        copy = Element(self.name, self.value, self.type, self.namespace)
        if type(self.pending) is Packed:
            copy.pending = self.pending
        elif children := self.children:
            copy.loaded = copies(children, copy)
        return copy

    def take_content(self, source: "Element") -> None:
        """Become a copy of the source, value and children, but keep the own name (and type).

        Between parts of different domains, every element gets the type that says the same in the domain of this one.
        """
        value, packed = source.value, source.pending
        if (
            (self.parent is None and source.parent is None)
            and not (self.is_part or source.is_part)
            and (self.loaded is None and self.pending is None and packed is None)
        ):
            # Usually roots of messages: neither is in a part, and the new one is empty.
            self.loaded = copies(source.loaded, self) if source.loaded else None
            self.value = value
            return
        ours, theirs = self.owning_part(), source.owning_part()
        converts = ours is not None and theirs is not None and ours.domain != theirs.domain
        if type(packed) is Packed and not converts:
            self.clear()
            self.pending = packed
        else:
            children = copies(source.children, self)
            if ours is not None and theirs is not None and converts:
                ours.adopt(children, theirs.domain)
            self.clear()
            self.loaded = children or None
        self.value = value

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name} = {self.value!r}>"


_DELETED = Element("deleted")
"""Stands above everything that was deleted. Has no children, and never changes."""


def copies(children: list[Element], parent: Element) -> list[Element]:
    """Copies of these elements with everything below, for another parent."""
    result = []
    for child in children:
        if type(child) is not Element:
            copy = child.copy()
        else:
            copy = Element(child.name, child.value, child.type, child.namespace)
            if type(child.pending) is Packed:
                copy.pending = child.pending
            else:
                below = child.loaded if child.pending is None else child.children
                if below:
                    copy.loaded = copies(below, copy)
        copy.parent = parent
        result.append(copy)
    return result
