"""Walking paths: to what is there, and to what is made on the way.

Functions that look take None for an element that was not found before, and give None again: reading through a path that
does not exist is never an error.
"""

from typing import Any

from heliograph.flow.language.values.errors import ExpressionError
from heliograph.flow.language.values.types import type_of
from heliograph.flow.tree import Element, Step

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
        found = element.first(name)  # mostly it is there
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
