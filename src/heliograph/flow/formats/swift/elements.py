"""Elements of a SWIFT message that keep the text they came from until they change.

A sequence or field is taken apart when somebody looks into it, and put together again only if something in it changed.
So each is its own source of children, where other elements have their part's parser.
"""

from typing import Any, Protocol

from heliograph.flow.tree import Element, Part
from heliograph.flow.tree.element_types import NAME
from heliograph.flow.tree.part import part_of


class Reader(Protocol):
    """Takes sequences, fields and blocks of one message apart."""

    def take_apart(self, element: Any) -> None:
        """Give the element its children, and close it."""


class _Kept(Element):
    __slots__ = ("reader",)
    reader: Reader

    def read_all_of(self, element: Element) -> None:
        """Make the children (of this element: it is open by itself)."""
        self.reader.take_apart(self)

    def read_on(self) -> bool:
        """Make the children, all at once."""
        self.reader.take_apart(self)
        return True

    def as_part(self) -> Part | None:
        return part_of(self.parent) if self.parent is not None else None


class Field(_Kept):
    """A field with components, or a header block; `text` is all of it, with the tag for a field."""

    __slots__ = ("form", "text")

    def __init__(self, name: str, text: str, form: Any, parent: Element | None, reader: Reader) -> None:
        # all slots here: there are hundreds of these in a message, and a call of Element's costs as much again
        self.name = name
        self.value = None
        self.type = NAME
        self.namespace = ""
        self.parent = parent
        self.loaded = None
        self.child_index = None
        self.last_position = 0
        self.reader = reader
        self.text: str | None = text
        self.form = form
        """The FieldFormat of the text."""
        self.pending: Any = self

    def changed(self) -> None:
        """The text is out of date, and that of everything above."""
        if self.parent is not None:
            self.parent.touch()
        self.text = None
        self.pending = None  # a value given to a field that nobody looked into replaces its components

    def copy(self) -> Element:
        """A copy, not taken apart if this is not."""
        if self.pending is None:
            return super().copy()
        return Field(self.name, self.text or "", self.form, None, self.reader)


class Sequence(_Kept):
    """The message's text, or a sequence in it; its pieces are those between the two places in the list."""

    __slots__ = ("begin", "end", "line_end", "model", "pieces")

    def __init__(
        self, name: str, pieces: list[str], begin: int, end: int, model: Any, parent: Element | None, reader: Reader
    ) -> None:
        Element.__init__(self, name)
        self.parent = parent
        self.reader = reader
        self.pieces: list[str] | None = pieces
        self.begin = begin
        self.end = end
        self.model = model
        """The SequenceModel."""
        self.line_end = "\r\n"
        self.pending: Any = self

    def changed(self) -> None:
        """The pieces are out of date, and those of everything above."""
        if self.parent is not None:
            self.parent.touch()
        if self.pending is not None:
            self.reader.take_apart(self)
        self.pieces = None

    def copy(self) -> Element:
        """A copy, not taken apart if this is not."""
        if self.pending is None or self.pieces is None:
            return super().copy()
        copy = Sequence(self.name, self.pieces, self.begin, self.end, self.model, None, self.reader)
        copy.line_end = self.line_end
        return copy
