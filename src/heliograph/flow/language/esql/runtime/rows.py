"""Rows and lists: what SELECT gives."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from heliograph.flow.errors import ExpressionError
from heliograph.flow.language.values.arithmetic import add
from heliograph.flow.language.values.comparison import equal, greater, less
from heliograph.flow.tree import Element

# ROW and LIST: comparing them, and looking at them as lists of values.

BAD_ROW = 2436


def equal_rows(left: Element | None, right: Element | None) -> bool | None:
    """Whether two rows have the same fields: names and values, in order."""
    if left is None or right is None:
        return None
    return _all_true(left.children, right.children, names=True)


def equal_lists(left: Sequence[Any], right: Sequence[Any]) -> bool | None:
    """Whether two lists have the same values, in order; rows in them are compared as rows."""
    return _all_true(left, right, names=False)


def _all_true(left: Sequence[Any], right: Sequence[Any], *, names: bool) -> bool | None:
    if len(left) != len(right):
        return False
    result: bool | None = True
    for one, other in zip(left, right, strict=True):
        if names and (one.name != other.name or one.namespace != other.namespace):
            return False
        same = equal_items(one, other)
        if same is False:
            return False
        if same is None:
            result = None
    return result


def equal_items(one: Any, other: Any) -> bool | None:
    """Whether two items are equal: by their fields if they have some, else by value."""
    first, second = isinstance(one, Element), isinstance(other, Element)
    if first and second and (one.children or other.children):
        if (one.value is not None or other.value is not None) and equal(one.value, other.value) is not True:
            return False
        return _all_true(one.children, other.children, names=True)
    return equal(one.value if first else one, other.value if second else other)


def negated(result: bool | None) -> bool | None:
    """NOT, of what is known to be a truth value."""
    return None if result is None else not result


def values_of(items: Sequence[Any]) -> list[Any]:
    """A list as scalars: rows with one field count as that field's value."""
    return [_value_of(item) if isinstance(item, Element) else item for item in items]


def _value_of(row: Element) -> Any:
    children = row.children
    return children[0].value if row.value is None and len(children) == 1 else row.value


def the(items: Sequence[Any]) -> Any:
    """THE: the first item, or NULL."""
    return items[0] if items else None


def first_value(items: Sequence[Any]) -> Any:
    """The first item as a scalar, or NULL."""
    return values_of(items[:1])[0] if items else None


def scalar_of(item: Any) -> Any:
    """An item as a scalar."""
    return item.value if isinstance(item, Element) else item


def row_item(value: Any, name: str | None, namespace: str = "") -> Element:
    """A field of ROW(...): a copy of a field, or a value; it keeps the field's name, if it is given no other."""
    if isinstance(value, Element):
        copy = value.copy()
        if name is not None:
            copy.name, copy.namespace = name, namespace
        return copy
    if name is None:
        raise ExpressionError(BAD_ROW, "a value in a ROW needs a name: value AS name")
    return Element(name, value, namespace=namespace)


# SELECT and quantified predicates: what is done with the items that were found.


def total(values: Iterable[Any]) -> Any:
    """SUM: NULLs do not count; NULL if there is nothing else."""
    result = None
    for value in values:
        if value is not None:
            result = value if result is None else add(result, value)
    return result


def greatest(values: Iterable[Any]) -> Any:
    """MAX: NULLs do not count."""
    return _first_by(greater, values)


def smallest(values: Iterable[Any]) -> Any:
    """MIN: NULLs do not count."""
    return _first_by(less, values)


def _first_by(comes_before: Callable[[Any, Any], bool | None], values: Iterable[Any]) -> Any:
    result = None
    for value in values:
        if value is not None and (result is None or comes_before(value, result)):
            result = value
    return result


def count(values: Iterable[Any]) -> int:
    """COUNT: NULLs do not count."""
    return sum(1 for value in values if value is not None)


def copy_of(element: Element) -> Element:
    """A row of `SELECT *`: all fields of the source."""
    row = Element()
    row.take_content(element)
    return row


def insert_fields(row: Element, source: Element | None) -> None:
    """`SELECT field INSERT`: the fields of the source go into the row themselves."""
    if source is not None:
        for child in source.children:
            row.append(child.copy())
