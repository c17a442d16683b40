"""SELECT and quantified predicates: what is done with the items that were found."""

from collections.abc import Iterable
from typing import Any

from heliograph.flow.language.values.arithmetic import add
from heliograph.flow.language.values.comparison import greater, less
from heliograph.flow.tree import Element


def total(values: Iterable[Any]) -> Any:
    """SUM: NULLs do not count; NULL if there is nothing else."""
    result = None
    for value in values:
        if value is not None:
            result = value if result is None else add(result, value)
    return result


def greatest(values: Iterable[Any]) -> Any:
    """MAX."""
    result = None
    for value in values:
        if value is not None and (result is None or greater(value, result)):
            result = value
    return result


def smallest(values: Iterable[Any]) -> Any:
    """MIN."""
    result = None
    for value in values:
        if value is not None and (result is None or less(value, result)):
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
