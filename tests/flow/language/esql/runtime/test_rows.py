"""Rows and lists: how they are compared, counted and added up."""

from decimal import Decimal
from typing import Any

import pytest

from heliograph.flow.errors import ExpressionError
from heliograph.flow.language.esql.runtime import rows
from heliograph.flow.tree import Element


def _row(**fields: Any) -> Element:
    row = Element()
    for name, value in fields.items():
        row.append(Element(name, value))
    return row


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (_row(a=1, b=2), _row(a=1, b=2), True),
        (_row(a=1, b=2), _row(b=2, a=1), False),
        (_row(a=1), _row(a=2), False),
        (_row(a=1), _row(a=None), None),
        (_row(a=1, b=None), _row(a=2, b=None), False),
        (_row(a=1), _row(), False),
        (None, _row(), None),
    ],
)
def test_rows_are_equal_field_by_field(left: Element | None, right: Element | None, same: bool | None) -> None:
    assert rows.equal_rows(left, right) is same
    assert rows.equal_rows(right, left) is same


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [([1, 2], [1, 2], True), ([1, 2], [2, 1], False), ([1], [1, 2], False), ([1, None], [1, 2], None), ([], [], True)],
)
def test_lists_are_equal_value_by_value(left: list[Any], right: list[Any], same: bool | None) -> None:
    assert rows.equal_lists(left, right) is same


@pytest.mark.parametrize(
    ("values", "total", "greatest", "smallest", "count"),
    [
        ([], None, None, None, 0),
        ([None, None], None, None, None, 0),
        ([3, None, 1], 4, 3, 1, 2),
        ([Decimal("1.5"), 2], Decimal("3.5"), 2, Decimal("1.5"), 2),
    ],
)
def test_null_does_not_count(values: list[Any], total: Any, greatest: Any, smallest: Any, count: int) -> None:
    found = rows.total(values), rows.greatest(values), rows.smallest(values), rows.count(values)
    assert found == (total, greatest, smallest, count)


def test_a_row_with_one_field_is_a_value_in_a_list() -> None:
    assert rows.values_of([1, _row(a=2), Element("a", 3), _row(a=4, b=5)]) == [1, 2, 3, None]
    assert rows.first_value([_row(a=2)]) == 2
    assert rows.first_value([]) is None
    assert rows.the([]) is None


def test_a_value_in_a_row_needs_a_name() -> None:
    assert rows.row_item(1, "a").name == "a"
    with pytest.raises(ExpressionError, match="needs a name"):
        rows.row_item(1, None)


def test_a_field_in_a_row_is_a_copy_that_keeps_its_name() -> None:
    field = Element("a", 1)
    copy = rows.row_item(field, None)
    assert copy is not field
    assert (copy.name, copy.value) == ("a", 1)
    assert rows.row_item(field, "b", "urn:b").namespace == "urn:b"


def test_rows_of_select_are_independent_of_their_source() -> None:
    source = _row(a=1)
    row = rows.copy_of(source)
    rows.insert_fields(row, _row(b=2))
    rows.insert_fields(row, None)
    assert [(child.name, child.value) for child in row.children] == [("a", 1), ("b", 2)]
    assert [child.name for child in source.children] == ["a"]
