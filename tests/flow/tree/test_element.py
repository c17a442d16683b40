"""Elements: looking, changing, stepping, deleting."""

import pytest

from flow.tree.conftest import MANY, tree
from heliograph.flow.tree import Element, Step
from heliograph.flow.tree.element_types import NAME_VALUE, Xmlnsc


def values(elements: list[Element]) -> list[object]:
    return [element.value for element in elements]


def test_ensure_makes_a_missing_child_once() -> None:
    root = tree(*MANY)
    made = root.ensure("new")
    assert root.ensure("new") is made
    assert root.children[-1] is made


def test_ensure_nth_makes_just_the_next_one() -> None:
    root = tree()
    assert root.ensure_nth("a", 2) is None
    first = root.ensure_nth("a", 1)
    assert root.ensure_nth("a", 2) is not first
    assert root.ensure_nth("a", 4) is None
    assert root.count("a") == 2


def test_ensure_match_makes_what_the_step_says() -> None:
    made = tree().ensure_match(Step("a", "urn:x", Xmlnsc.ATTRIBUTE))
    assert made is not None
    assert (made.name, made.namespace, made.type) == ("a", "urn:x", Xmlnsc.ATTRIBUTE)


@pytest.mark.parametrize("change", ["set_name", "set_namespace"])
def test_other_name_is_found_at_once(change: str) -> None:
    root = tree(*MANY)
    assert root.count("c") == 10
    getattr(root.children[5], change)("c")
    assert root.count("b") == 9
    assert root.count("c") == (11 if change == "set_name" else 10)


def test_other_type_is_found_at_once() -> None:
    root = tree(*MANY)
    step = Step("a", "", NAME_VALUE)
    assert root.match_first(step) is None
    root.children[2].set_type(NAME_VALUE)
    assert root.match_first(step) is root.children[2]


def test_deleted_element_and_everything_below_know_it() -> None:
    root = tree("a", "b")
    below = root.children[0].append(Element("x"))
    root.children[0].delete()
    assert below.deleted
    assert below.next_sibling() is None
    assert not root.children[0].deleted


def test_detached_element_is_not_deleted_and_can_be_put_elsewhere() -> None:
    root = tree("a", "b")
    a = root.children[0].detach()
    assert not a.deleted
    root.append(a)
    assert [child.name for child in root.children] == ["b", "a"]


def test_cleared_children_are_deleted() -> None:
    root = tree("a")
    a = root.children[0]
    root.clear()
    assert a.deleted
    assert root.children == []


def test_copy_is_independent_of_the_original() -> None:
    root = tree("a", "b")
    root.children[0].append(Element("x", 1))
    copy = root.copy()
    root.children[0].children[0].set_value(2)
    assert copy.children[0].children[0].value == 1
    assert copy.children[0].children[0].parent is copy.children[0]
    assert copy.parent is None


def test_taken_content_keeps_the_own_name() -> None:
    target, source = Element("target", 1), tree("a")
    source.set_value("v")
    old = target.append(Element("old"))
    target.take_content(source)
    assert (target.name, target.value, [child.name for child in target.children]) == ("target", "v", ["a"])
    assert old.deleted


def test_element_can_take_the_content_of_one_below_it() -> None:
    root = tree("a")
    root.children[0].append(Element("x", 1))
    root.take_content(root.children[0])
    assert [child.name for child in root.children] == ["x"]
