"""Where an element stands in its part, for messages to people."""

from heliograph.flow.tree import Element, Part


def path_of(element: Element) -> str:
    """The path of an element in its part, with the number of each repetition but the first: `Order.Item[2].Price`."""
    names: list[str] = []
    while element.parent is not None and not isinstance(element, Part):
        same = [one for one in element.parent._children or () if one.name == element.name]
        number = next((at for at, one in enumerate(same, 1) if one is element), 1)
        names.append(element.name if number == 1 else f"{element.name}[{number}]")
        element = element.parent
    return ".".join(reversed(names))
