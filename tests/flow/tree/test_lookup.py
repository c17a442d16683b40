"""Finding children by name, number and step, and stepping to siblings."""

import pytest

from flow.tree.conftest import MANY, tree
from heliograph.flow.tree import Element, Step
from heliograph.flow.tree.element_types import NAME, Xmlnsc


@pytest.mark.parametrize("names", [MANY[:4], MANY], ids=["few", "many"])
def test_index_counts_only_children_of_the_name(names: list[str]) -> None:
    root = tree(*names)
    second, last = root.nth("a", 2), root.last("a")
    assert second is not None
    assert second.value == 2
    assert last is not None
    assert last.value == len(names) - 2
    assert root.count("a") == len(names) // 2


@pytest.mark.parametrize("number", [0, -1, 21, 1000])
def test_child_that_is_not_there_is_none(number: int) -> None:
    assert tree(*MANY).nth("a", number) is None
    assert tree(*MANY).last("a", number) is None


@pytest.mark.parametrize("names", [MANY[:4], MANY], ids=["few", "many"])
def test_name_without_namespace_does_not_mean_one_with(names: list[str]) -> None:
    root = tree(*names)
    other = root.append(Element("x", 1, NAME, "urn:x"))
    assert root.first("x") is None
    assert root.match_first(Step("x", "urn:x")) is other
    assert root.match_first(Step("x", None)) is other
    assert root.match_first(Step("x")) is None


@pytest.mark.parametrize("names", [MANY[:4], MANY], ids=["few", "many"])
def test_step_with_type_finds_only_that_type(names: list[str]) -> None:
    root = tree(*names)
    attribute = root.append(Element("a", "v", Xmlnsc.ATTRIBUTE))
    assert root.match_all(Step("a", "", Xmlnsc.ATTRIBUTE)) == [attribute]
    assert root.match_count(Step("a", "", NAME)) == len(names) // 2


def test_found_list_does_not_change_when_children_do() -> None:
    root = tree(*MANY)
    found = root.all("a")
    for element in found:
        element.delete()
    assert len(found) == 20
    assert root.all("a") == []
    assert root.count("b") == 10


def test_siblings_are_stepped_to_both_ways() -> None:
    root = tree(*MANY)
    seen = [element := root.children[0]]
    while (element := element.next_sibling()) is not None:
        seen.append(element)
    assert seen == root.children
    back = [element := root.children[-1]]
    while (element := element.previous_sibling()) is not None:
        back.append(element)
    assert back == root.children[::-1]


def test_step_skips_siblings_that_it_does_not_mean() -> None:
    root = tree(*MANY)
    second = root.children[0].next_sibling(Step("c"))
    assert second is root.children[3]
    assert second.previous_sibling(Step("a")) is root.children[2]
    assert root.children[39].next_sibling(Step("c")) is None


def test_steps_go_on_after_siblings_came_and_went() -> None:
    root = tree("a", "b", "c", "d")
    b = root.children[1]
    assert b.next_sibling() is root.children[2]
    root.children[0].delete()
    assert b.next_sibling() is root.children[1]
    root.insert(0, Element("z"))
    root.insert(0, Element("y"))
    assert b.position() == 2
    assert b.previous_sibling() is root.children[1]
