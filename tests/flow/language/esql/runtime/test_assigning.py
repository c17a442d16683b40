"""SET: NULL deletes, a scalar keeps children, a copy replaces all."""

from typing import Any

import pytest

from heliograph.flow.errors import ExpressionError
from heliograph.flow.language.esql.runtime import assigning
from heliograph.flow.language.esql.runtime.field_paths import find
from heliograph.flow.tree import Element, Step


@pytest.fixture
def parent() -> Element:
    parent = Element("parent")
    for value in (1, 2):
        parent.append(Element("a", value)).append(Element("below"))
    return parent


def _said(parent: Element) -> list[tuple[str, Any, int]]:
    return [(child.name, child.value, len(child.children)) for child in parent.children]


def test_a_scalar_keeps_children_and_null_deletes(parent: Element) -> None:
    assigning.set_field(parent, "a", 5)
    assigning.set_nth(parent, "a", 2, 6)
    assigning.set_field(parent, "b", 7)
    assert _said(parent) == [("a", 5, 1), ("a", 6, 1), ("b", 7, 0)]
    assigning.set_field(parent, "a", None)
    assigning.set_nth(parent, "a", 1, None)
    assigning.set_match(parent, Step("b"), 1, None)
    assert _said(parent) == []


def test_the_content_of_a_field_replaces_value_and_children(parent: Element) -> None:
    assigning.copy_field(parent, "a", 5)
    assigning.copy_nth(parent, "a", 2, parent)
    assigning.copy_field(parent, "c", None)
    assert _said(parent) == [("a", 5, 0), ("a", None, 2)]
    assigning.copy_field(parent, "a", None)
    assert _said(parent) == [("a", None, 2)]


def test_what_was_deleted_stays_so(parent: Element) -> None:
    child = parent.children[0]
    assigning.set_here(child, None)
    assigning.set_here(child, 9)
    assert child.deleted
    assert _said(parent) == [("a", 2, 1)]


def test_a_list_takes_the_place_of_all_fields_of_the_name(parent: Element) -> None:
    assigning.set_values(parent, Step("a"), [7, 8, 9])
    assert [child.value for child in parent.children] == [7, 8, 9]
    assigning.set_copies(parent, Step("a"), [parent.children[2], None])
    assert [child.value for child in parent.children] == [9]


@pytest.mark.parametrize(("aspect", "value"), [("TYPE", "x"), ("NAME", 1), ("NAMESPACE", None)])
def test_an_aspect_wants_its_type(aspect: str, value: Any) -> None:
    with pytest.raises(ExpressionError, match=f"{aspect} of a field is"):
        assigning.set_aspect(Element(), aspect, value)


@pytest.mark.parametrize(
    ("aspect", "value"), [("type", 0x03000000), ("name", "b"), ("namespace", "urn:b"), ("value", None)]
)
def test_an_aspect_is_set(aspect: str, value: Any) -> None:
    element = Element("a", 1)
    assigning.set_aspect(element, aspect.upper(), value)
    assert getattr(element, aspect) == value


@pytest.mark.parametrize("children", [False, True], ids=["packed", "one by one"])
def test_fields_together_are_as_fields_one_after_the_other(children: bool) -> None:
    target = Element("t")
    if children:
        target.append(Element("a", 0))
    fields = assigning.Fields(((Step("a"),), (Step("b"), Step("c"))), (0, 1))
    fields.set_in(target, (1, 2))
    assert target.value_of("a") == 1
    assert getattr(find(target, "b", "c"), "value", None) == 2


def test_variables_that_were_not_reached_are_null() -> None:
    variables = assigning.Variables()
    variables.a = 1
    assert (variables.a, variables.b) == (1, None)
