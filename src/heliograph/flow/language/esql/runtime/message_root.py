"""The root of a message that is being built: its children are parts."""

from heliograph.flow.formats.catalogue import FORMATS, Catalogue
from heliograph.flow.tree import Element, Part, Step
from heliograph.flow.tree.packed import Packed


class MessageRoot(Element):
    """A root whose new children become parts if they are named like a domain: `SET OutputRoot.XMLNSC.a = 1`."""

    __slots__ = ("_catalogue",)

    def __init__(self, catalogue: Catalogue) -> None:
        super().__init__("Root")
        self._catalogue = catalogue

    def ensure_nth(self, name: str, number: int, packed: Packed | None = None) -> Element | None:
        """The number-th part of this name, made (empty) if just one is missing; None if more are."""
        found = self.all(name)
        if 1 <= number <= len(found):
            return found[number - 1]
        return self.append(self.new_child(name)) if number == len(found) + 1 else None

    def ensure_match(self, step: Step, number: int = 1) -> Element | None:
        """The number-th child that the step looks for, made if just one is missing; None if more are."""
        if step.name is None or step.namespace or step.type is not None:
            return super().ensure_match(step, number)
        return self.ensure_nth(step.name, number)

    def new_child(self, name: str) -> Element:
        """An element that can become a child: a part, if the name is a domain's."""
        known = FORMATS.get(name)
        if known is not None:
            return Part(known)
        return self._catalogue.new_part(name) if self._catalogue.knows(name) else Element(name)

    def copy(self) -> Element:
        """A root with copies of all parts."""
        copy = MessageRoot(self._catalogue)
        for child in self.children:
            copy.append(child.copy())
        return copy
