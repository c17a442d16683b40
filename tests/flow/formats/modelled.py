"""Small models for tests, and trees of messages as plain Python values."""

from typing import Any

from heliograph.flow.formats.model import Models
from heliograph.flow.tree import Element, Part, Text

SET = "m"


class Modelled:
    """One message `M` of a model, in its formats."""

    def __init__(self, source: str, **others: str) -> None:
        self.models = Models({f"{SET}.model.yaml": source, **others})

    def read(self, data: bytes, form: str = "", ccsid: int = 1208) -> Part:
        """A part with these bytes."""
        text = Text(ccsid=ccsid, message_set=SET, message_type="M", message_format=form)
        return Part(self.models.format(text), data, text)

    def new(self, values: Any, form: str = "", ccsid: int = 1208) -> Part:
        """A part with these values and no bytes."""
        text = Text(ccsid=ccsid, message_set=SET, message_type="M", message_format=form)
        part = Part(self.models.format(text), None, text)
        build(part, values)
        return part

    def write(self, values: Any, form: str = "", ccsid: int = 1208) -> bytes:
        """The bytes of these values."""
        return self.new(values, form, ccsid).bytes()

    def source(self, form: str = "") -> str:
        """The generated code."""
        return self.models.codec(Text(message_set=SET, message_type="M", message_format=form)).source


def build(parent: Element, values: list[tuple[str, Any]]) -> None:
    """Append elements: a pair has a name, and a value or a list of pairs."""
    for name, value in values:
        child = parent.append(Element(name, None if isinstance(value, list) else value))
        if isinstance(value, list):
            build(child, value)


def plain(element: Element) -> Any:
    """The children as pairs of name and value, or list of pairs."""
    return [
        (
            child.name,
            plain(child) if child.children or (child.value is None and child.loaded is not None) else child.value,
        )
        for child in element.children
    ]


def rewritten(part: Part) -> bytes:
    """The bytes after everything was read and taken for changed."""
    for element in list(part.descendants()):
        element.touch()
    part.touch()
    return part.bytes()
