"""Elements: looking, changing, stepping, deleting."""

import pytest

from heliograph.flow.tree import Element, Step
from heliograph.flow.tree.element_types import NAME, NAME_VALUE, Xmlnsc


def tree(*names: str) -> Element:
    root = Element("root")
    for number, name in enumerate(names):
        root.append(Element(name, number))
    return root


def values(elements: list[Element]) -> list[object]:
    return [element.value for element in elements]


MANY = ["a", "b", "a", "c"] * 10


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


@pytest.mark.parametrize(
    ("wanted", "actual", "expected"),
    [
        (Xmlnsc.FIELD, Xmlnsc.CDATA_FIELD, True),
        (Xmlnsc.CDATA_FIELD, Xmlnsc.FIELD, False),
        (Xmlnsc.ATTRIBUTE, Xmlnsc.SINGLE_ATTRIBUTE, True),
        (Xmlnsc.ATTRIBUTE, Xmlnsc.NAMESPACE_DECL, False),
        (Xmlnsc.COMMENT, Xmlnsc.PI, False),
        (Xmlnsc.FOLDER, Xmlnsc.FIELD, False),
        (NAME_VALUE, NAME, False),
    ],
)
def test_type_of_a_step_means_its_variants_too(wanted: int, actual: int, expected: bool) -> None:
    assert Step(None, None, wanted).matches(Element("e", None, actual)) is expected


def test_found_list_does_not_change_when_children_do() -> None:
    root = tree(*MANY)
    found = root.all("a")
    for element in found:
        element.delete()
    assert len(found) == 20
    assert root.all("a") == []
    assert root.count("b") == 10


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
