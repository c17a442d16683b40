"""Trees for tests."""

from heliograph.flow.tree import Element


def tree(*names: str) -> Element:
    root = Element("root")
    for number, name in enumerate(names):
        root.append(Element(name, number))
    return root


MANY = ["a", "b", "a", "c"] * 10
