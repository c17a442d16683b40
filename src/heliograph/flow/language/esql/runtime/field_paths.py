"""Functions that walk field paths, for reading and for creating missing fields.

Functions that search accept None for an element that was not found, and return None then: in ESQL, reading a path that
does not exist is never an error.
"""

from typing import Any

from heliograph.flow.errors import ExpressionError
from heliograph.flow.language.values.types import type_of
from heliograph.flow.tree import Element, Part, Step

# Functions on fields: what a field is called, what type it has, and whether two names mean the same field.


def field_name(element: Element | None) -> str | None:
    """FIELDNAME."""
    return element.name if element is not None and element is not ABSENT else None


def field_namespace(element: Element | None) -> str | None:
    """FIELDNAMESPACE."""
    return element.namespace if element is not None and element is not ABSENT else None


def field_type(element: Element | None) -> int | None:
    """FIELDTYPE."""
    return element.type if element is not None and element is not ABSENT else None


def field_value(element: Element | None) -> Any:
    """FIELDVALUE; also the value of a row where a scalar is needed."""
    return element.value if element is not None else None


def same_field(left: Element | None, right: Element | None) -> bool:
    """SAMEFIELD."""
    return left is not None and left is right


BAD_PATH = 2432
NO_SUCH_INSTANCE = 2433

ABSENT = Element()
"""Stands for a part of a path that was not found: has no value and no children. Never changed."""


def find(element: Element | None, *names: str) -> Element | None:
    """The first children of these names, one below the other."""
    for name in names:
        if element is None:
            return None
        element = element.first(name)
    return element


def nth(element: Element | None, name: str, number: Any) -> Element | None:
    """The child that is the number-th of this name."""
    if element is None:
        return None
    return element.nth(name, number if type(number) is int else index(number))


def last(element: Element | None, name: str, number: Any = 1) -> Element | None:
    """The child that is the number-th of this name, counted from the end."""
    if element is None:
        return None
    return element.last(name, number if type(number) is int else index(number))


def match(element: Element | None, step: Step, number: Any = 1) -> Element | None:
    """The number-th child that the step looks for."""
    if element is None:
        return None
    return element.match_nth(step, number if type(number) is int else index(number))


def match_last(element: Element | None, step: Step, number: Any = 1) -> Element | None:
    """The number-th child that the step looks for, counted from the end."""
    if element is None:
        return None
    return element.match_last(step, number if type(number) is int else index(number))


def every(element: Element | None, name: str) -> list[Element]:
    """All children of this name."""
    return element.all(name) if element is not None else []


def match_every(element: Element | None, step: Step) -> list[Element]:
    """All children that the step looks for."""
    return element.match_all(step) if element is not None else []


def siblings(element: Element | None) -> list[Element]:
    """An element alone, as the list that `name[]` is of a correlation name."""
    return [element] if element is not None else []


def last_child(root: Element) -> Element:
    """The body of a message: the last child of the root, whatever it is."""
    children = root.children
    return children[-1] if children else ABSENT


def ensure(element: Element, *names: str) -> Element:
    """The first children of these names, one below the other, made where they are missing."""
    for name in names:
        found = element.first(name)  # the usual case: it exists
        element = found if found is not None else element.append(element.new_child(name))
    return element


def ensure_nth(element: Element, name: str, number: Any) -> Element:
    """The number-th child of this name; made, if just this one is missing."""
    number = number if type(number) is int else index(number)
    found = element.ensure_nth(name, number)
    if found is None:
        raise too_far(element, name, number)
    return found


def ensure_match(element: Element, step: Step, number: Any = 1) -> Element:
    """The number-th child that the step looks for; made, if just this one is missing."""
    number = number if type(number) is int else index(number)
    found = element.ensure_match(step, number)
    if found is None:
        raise too_far(element, step.name or "*", number)
    return found


def ensure_match_last(element: Element, step: Step, number: Any = 1) -> Element:
    """The number-th child from the end; made, if just this one is missing."""
    number = number if type(number) is int else index(number)
    return element.match_last(step, number) or ensure_match(element, step, number)


def index(value: Any) -> int:
    """An index that is a number, if not an INTEGER."""
    if type(value) is int:
        return value
    if type(value) is float and value == int(value):
        return int(value)
    raise ExpressionError(BAD_PATH, f"an index is an INTEGER, not {type_of(value).value}", (value,))


def name_of(value: Any) -> str:
    """A computed name."""
    if type(value) is str:
        return value
    raise ExpressionError(BAD_PATH, f"a name in braces is CHARACTER, not {type_of(value).value}", (value,))


def type_number(value: Any) -> int:
    """A computed type."""
    if type(value) is int:
        return value
    raise ExpressionError(BAD_PATH, f"the type of a field is an INTEGER, not {type_of(value).value}", (value,))


def too_far(element: Element, name: str, number: int) -> ExpressionError:
    """What is wrong with making a child when more than one are missing."""
    return ExpressionError(
        NO_SUCH_INSTANCE,
        f"{name}[{number}] cannot be made under {element.name or 'the row'}: only one more than there are can",
        (name, number),
    )


# Reference variables, and what happens to them when fields are deleted.
#
# A deleted field is emptied, with all fields below it. A reference that still points to it finds nothing there, and
# assignments through it change no message. So a reference needs no validity check when it is used.

BAD_MOVE = 2435


def discard(element: Element) -> None:
    """Delete a field and all below; the root of a tree is only emptied."""
    if element.parent is None:
        element.clear()
        return
    element.delete()
    _empty(element)


def _empty(element: Element) -> None:
    # A part need not be parsed for this: no reference can point into a part that is not parsed yet.
    if not isinstance(element, Part):
        below = list(element.children)
        element.clear()
        element.value = None
        for child in below:
            _empty(child)


class Reference:
    """A reference variable: the field it points to, and whether its last move went well."""

    __slots__ = ("element", "moved")

    def __init__(self, element: Element, moved: bool = True) -> None:
        self.element = element
        self.moved = moved

    def copy(self) -> "Reference":
        """Another variable that points to the same field."""
        return Reference(self.element, self.moved)

    def last_move(self) -> bool:
        """LASTMOVE."""
        return self.moved and not self.element.deleted

    def to(self, element: Element | None) -> None:
        """MOVE TO: stays where it is if there is no such field."""
        self.moved = element is not None
        if element is not None:
            self.element = element

    def to_parent(self) -> None:
        """MOVE PARENT."""
        self.to(None if self.element.deleted else self.element.parent)

    def to_first_child(self, step: Step) -> None:
        """MOVE FIRSTCHILD."""
        self.to(self.element.match_first(step))

    def to_last_child(self, step: Step) -> None:
        """MOVE LASTCHILD."""
        self.to(self.element.match_last(step))

    def to_next(self, step: Step) -> None:
        """MOVE NEXTSIBLING."""
        self.to(self.element.next_sibling(step))

    def to_previous(self, step: Step) -> None:
        """MOVE PREVIOUSSIBLING."""
        self.to(self.element.previous_sibling(step))

    def like_this(self, by_type: bool, by_name: bool) -> Step:
        """What REPEAT looks for: fields with the type or the name (and namespace) of this one."""
        element = self.element
        return Step(
            element.name if by_name else None,
            element.namespace if by_name else None,
            element.type if by_type else None,
        )


def reference(element: Element | None, root: Element) -> Reference:
    """DECLARE REFERENCE TO: to the field, or if there is none, to the root of its path."""
    return Reference(root, False) if element is None else Reference(element)


def attach(element: Element, target: Element, where: str) -> None:
    """ATTACH: put a detached field beside or under another."""
    if element.parent is not None:
        raise ExpressionError(BAD_MOVE, f"{element.name} is attached already; DETACH it first", (element.name,))
    if target.root() is element:
        raise ExpressionError(BAD_MOVE, f"{element.name} cannot be attached below itself", (element.name,))
    put(element, target, where)


def detach(element: Element) -> None:
    """DETACH: take a field out of its tree, with all below."""
    if element.parent is None:
        raise ExpressionError(BAD_MOVE, f"{element.name} is not attached to anything", (element.name,))
    if not element.deleted:
        element.detach()


def put(element: Element, target: Element, where: str) -> Element:
    """Put a field without a parent at a place relative to the target; beside a deleted one it goes nowhere."""
    if target.deleted:
        return element
    if where == "LASTCHILD":
        return target.append(element)
    if where == "FIRSTCHILD":
        return target.insert(0, element)
    parent = target.parent
    if parent is None:
        raise ExpressionError(BAD_MOVE, f"{target.name} is a root and has no siblings", (target.name,))
    return parent.insert(target.position() + (where == "NEXTSIBLING"), element)


def relative(target: Element | None, where: str) -> Element | None:
    """The field that DELETE FIRSTCHILD OF and its like mean."""
    if target is None:
        return None
    children = target.children if where.endswith("CHILD") else []
    if where == "FIRSTCHILD":
        return children[0] if children else None
    if where == "LASTCHILD":
        return children[-1] if children else None
    if target.parent is None or target.deleted:
        return None
    siblings = target.parent.children
    position = target.position() + (1 if where == "NEXTSIBLING" else -1)
    return siblings[position] if 0 <= position < len(siblings) else None


def delete(element: Element | None) -> None:
    """DELETE FIELD: nothing happens if there is no such field."""
    if element is not None:
        discard(element)
