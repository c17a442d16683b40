"""Setting many fields at once does the same as setting them one after the other."""

import pytest

from heliograph.flow.formats import Catalogue
from heliograph.flow.tree import Element
from heliograph.flow.tree.filling import fill, fill_one


def folder(name: str, *children: Element) -> Element:
    element = Element(name)
    for child in children:
        element.append(child)
    return element


def shown(element: Element) -> object:
    return (element.name, element.value, [shown(child) for child in element.children])


ITEMS = [
    ("a", 1),
    ("b", Element("x", "leaf")),
    ("c", folder("y", Element("z", 2))),
    ("a", "again"),
    ("c", Element("w", "no children any more")),
]


@pytest.mark.parametrize(
    "parent", [folder("p"), folder("p", Element("b", "old"), Element("k"))], ids=["new", "not new"]
)
def test_fill_is_one_after_the_other(parent):
    other = parent.copy()
    fill(parent, *(part for item in ITEMS for part in item))
    for name, item in ITEMS:
        fill_one(other, name, item)
    assert shown(parent) == shown(other)
    assert parent.first("c").value == "no children any more"
    assert parent.first("c").children == []


@pytest.mark.parametrize("set_one", [lambda parent: fill(parent, "b", 2), lambda parent: fill_one(parent, "b", 2)])
def test_the_part_is_told(set_one):
    part = Catalogue().part_of("XML", b"<a><b>1</b></a >")
    set_one(part.first("a"))
    assert part.bytes() == b"<a><b>2</b></a>"


def test_what_was_filled_can_be_found():
    parent = Element("p")
    fill(parent, *(part for number in range(50) for part in (f"n{number}", number)))
    assert parent.first("n40").value == 40
    assert parent.children[40].position() == 40
