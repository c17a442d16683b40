"""Walking paths: what is not there is None, and what is set is made."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from heliograph.flow.errors import ExpressionError
from heliograph.flow.language.esql.runtime import field_paths
from heliograph.flow.tree import Element, Step


@pytest.fixture
def root() -> Element:
    root = Element("Root")
    folder = root.append(Element("folder"))
    for value in range(3):
        folder.append(Element("a", value))
    return root


@pytest.mark.parametrize(
    "look",
    [
        lambda: field_paths.find(None, "a"),
        lambda: field_paths.nth(None, "a", 1),
        lambda: field_paths.last(None, "a"),
        lambda: field_paths.match(None, Step("a")),
        lambda: field_paths.match_last(None, Step("a")),
        lambda: field_paths.field_name(None),
        lambda: field_paths.field_namespace(None),
        lambda: field_paths.field_type(None),
        lambda: field_paths.field_value(None),
        lambda: field_paths.field_name(field_paths.ABSENT),
    ],
)
def test_below_what_is_not_there_nothing_is_there(look: Callable[[], Any]) -> None:
    assert look() is None


def test_lists_of_what_is_not_there_are_empty() -> None:
    assert field_paths.every(None, "a") == field_paths.match_every(None, Step("a")) == field_paths.siblings(None) == []


def test_children_are_found_by_name_number_and_from_the_end(root: Element) -> None:
    folder = field_paths.find(root, "folder")
    assert [field_paths.field_value(field_paths.nth(folder, "a", number)) for number in (1, 2, 3, 4)] == [0, 1, 2, None]
    assert [field_paths.field_value(field_paths.last(folder, "a", number)) for number in (1, 3, 4)] == [2, 0, None]
    assert field_paths.field_value(field_paths.match(folder, Step(None), 2)) == 1
    assert len(field_paths.every(folder, "a")) == 3


@pytest.mark.parametrize(("index", "number"), [(2, 2), (2.0, 2)])
def test_an_index_may_be_any_whole_number(index: Any, number: int) -> None:
    assert field_paths.index(index) == number


@pytest.mark.parametrize("index", ["1", 1.5, None, Decimal(1), True])
def test_an_index_that_is_no_whole_number_is_an_error(index: Any) -> None:
    with pytest.raises(ExpressionError, match="an index is an INTEGER"):
        field_paths.index(index)


def test_what_is_missing_on_the_way_is_made(root: Element) -> None:
    made = field_paths.ensure(root, "folder", "b", "c")
    assert made.path() == "folder.b.c"
    assert field_paths.ensure(root, "folder", "b", "c") is made


def test_just_the_next_one_of_a_name_is_made(root: Element) -> None:
    folder = field_paths.ensure(root, "folder")
    assert field_paths.ensure_nth(folder, "a", 4).path() == "folder.a[4]"
    with pytest.raises(ExpressionError):
        field_paths.ensure_nth(folder, "a", 6)
    with pytest.raises(ExpressionError):
        field_paths.ensure_match(folder, Step("a"), 6)


def test_the_body_is_the_last_child(root: Element) -> None:
    assert field_paths.last_child(root).name == "folder"
    assert field_paths.last_child(Element()) is field_paths.ABSENT


def test_a_field_is_the_same_as_itself_only(root: Element) -> None:
    assert field_paths.same_field(root, root)
    assert not field_paths.same_field(root, root.copy())
    assert not field_paths.same_field(None, None)
