"""The builder interface: parsers give elements their children, and that is no change of the message."""

from collections.abc import Iterator

import pytest

from heliograph.flow.tree import Element, Part, building


class Lines:
    """A format: each line is a field."""

    domain = "LINES"

    def read(self, part: Part, data: bytes) -> Iterator[None]:
        for line in data.decode().split():
            building.attach(part, Element(line))
            yield
        part.pending = None

    def write(self, part: Part) -> bytes:
        return b"written"


def _names(element: Element) -> list[str]:
    return [child.name for child in element.children]


def test_what_is_attached_is_the_last_child_and_has_a_parent() -> None:
    parent = Element("Folder")
    for name in "ab":
        building.attach(parent, Element(name))
    assert _names(parent) == ["a", "b"]
    assert all(child.parent is parent for child in parent.children)


def test_attaching_keeps_the_bytes_of_the_part() -> None:
    part = Part(Lines(), b"a b")
    assert _names(part) == ["a", "b"]
    assert part.bytes() == b"a b"
    part.append(Element("c"))
    assert part.bytes() == b"written"


def test_children_that_are_attached_behind_a_look_up_are_found() -> None:
    parent = Element("Folder")
    for number in range(20):
        building.attach(parent, Element("a", number))
    assert parent.count("a") == 20
    building.attach(parent, Element("a", 20))
    assert parent.count("a") == 21


@pytest.mark.parametrize(("before", "after"), [("", "x"), ("ab", "axb"), ("abcdefghijk", "axbcdefghijk")])
def test_what_is_attached_at_a_position_is_found_there(before: str, after: str) -> None:
    parent = Element("Folder")
    for name in before:
        building.attach(parent, Element(name))
    assert parent.first("x") is None
    building.attach_at(parent, 1, Element("x"))
    assert "".join(_names(parent)) == after
    found = parent.first("x")
    assert found is not None
    assert found.parent is parent


def test_a_complete_element_has_its_children_and_is_closed() -> None:
    part = Part(Lines(), b"a")
    building.complete(part, (Element(name) for name in "xy"))
    assert part.pending is None
    assert _names(part) == ["x", "y"]
    assert all(child.parent is part for child in part.children)


def test_only_the_children_that_are_kept_are_found() -> None:
    parent = Element("Folder")
    for name in "abcdefghijkl":
        building.attach(parent, Element(name))
    assert parent.first("b") is not None
    building.keep(parent, [child for child in parent.children if child.name in "ac"])
    assert parent.first("b") is None
    assert _names(parent) == ["a", "c"]
    building.keep(parent, [])
    assert parent.loaded is None


def test_a_leaf_has_no_children_and_will_have_none() -> None:
    assert building.is_leaf(Element("a"))
    assert not building.is_leaf(Part(Lines(), b"a"))
    parent = Element("Folder")
    building.attach(parent, Element("a"))
    assert not building.is_leaf(parent)
