"""Giving fields to an element, one at a time or many at once."""

import pytest

from heliograph.flow.formats import Catalogue
from heliograph.flow.tree import Element, Step
from heliograph.flow.tree.filling import fill, fill_one, layout_of


def folder(name: str, *children: Element) -> Element:
    element = Element(name)
    for child in children:
        element.append(child)
    return element


def leaves(*names: str):
    return layout_of(tuple((Step(name),) for name in names))


def shown(element: Element) -> object:
    return (element.name, element.value, element.type, [shown(child) for child in element.children])


@pytest.mark.parametrize(
    "content", ["leaf", Element("x", "leaf"), folder("y", Element("z", 2))], ids=["a leaf", "an element", "a folder"]
)
@pytest.mark.parametrize("old", [None, Element("a", 1), folder("a", Element("b", 2))], ids=["new", "leaf", "folder"])
def test_one_field_gets_all_of_the_content_and_keeps_nothing(old, content):
    parent = folder("p") if old is None else folder("p", old.copy())
    fill_one(parent, "a", content)
    value = content.value if isinstance(content, Element) else content
    children = [shown(child) for child in content.children] if isinstance(content, Element) else []
    assert shown(parent)[3] == [("a", value, Element().type, children)]


def test_many_new_fields_are_as_if_they_were_set_one_after_the_other():
    names, values = tuple(f"n{number}" for number in range(50)), tuple(range(50))
    parent, other = Element("p"), Element("p")
    assert fill(parent, leaves(*names), values)
    for name, value in zip(names, values, strict=True):
        fill_one(other, name, value)
    assert shown(parent) == shown(other)
    assert parent.first("n40").value == 40
    assert parent.children[40].position() == 40


@pytest.mark.parametrize(
    ("parent", "names", "items"),
    [
        (folder("p", Element("a")), ("b",), (1,)),
        (Element("p"), ("a", "b"), (1, None)),
        (Element("p"), ("a", "b"), (1, folder("y"))),
    ],
    ids=["has children", "NULL", "a folder"],
)
def test_only_leaves_of_an_empty_element_are_filled_in_at_once(parent, names, items):
    before = shown(parent)
    assert not fill(parent, leaves(*names), items)
    assert shown(parent) == before


def test_the_part_is_told_of_one():
    part = Catalogue().part_of("XML", b"<a><b>1</b></a >")
    fill_one(part.first("a"), "b", 2)
    assert part.bytes() == b"<a><b>2</b></a>"


def test_the_part_is_told_of_many():
    part = Catalogue().part_of("XML", b"<a><b/></a >")
    assert fill(part.first("a").first("b"), leaves("c", "d"), (1, 2))
    assert part.bytes() == b"<a><b><c>1</c><d>2</d></b></a>"


def test_fields_that_were_filled_in_at_once_get_other_values_at_once():
    parent = Element("p")
    assert fill(parent, leaves("c", "d"), (1, 2))
    copy = parent.copy()
    assert fill(parent, leaves("c", "d"), (3, 4))
    assert [child.value for child in parent.children] == [3, 4]
    assert [child.value for child in copy.children] == [1, 2]


def test_fields_that_may_have_changed_get_their_values_one_by_one():
    parent = Element("p")
    assert fill(parent, leaves("c", "d"), (1, 2))
    parent.first("c").set_name("e")
    assert not fill(parent, leaves("c", "d"), (3, 4))


def test_other_fields_than_those_that_are_there_get_their_values_one_by_one():
    parent = Element("p")
    assert fill(parent, leaves("c", "d"), (1, 2))
    assert not fill(parent, leaves("d", "c"), (3, 4))


def test_who_sets_the_same_fields_shares_their_layout():
    assert leaves("a", "b") is leaves("a", "b")
    assert leaves("a", "a") is None
