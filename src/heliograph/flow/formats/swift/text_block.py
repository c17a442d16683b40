"""Block 4 of a SWIFT message: fields in lines, and sequences between 16R and 16S, taken apart on demand."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol

from heliograph.flow.errors import CANNOT_READ, CANNOT_WRITE, FormatProblem
from heliograph.flow.formats.swift.swift_fields import FIELD_TAG, Content, FieldFormat, plain
from heliograph.flow.tree import Element, Part
from heliograph.flow.tree.element_types import NAME, NAME_VALUE
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
        self.pending = None  # a value given to a field that was not looked into replaces its components

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


START, END = "16R", "16S"
GENERIC = FieldFormat("", ":4!c/[8c]/~", ("Qualifier", "Issuer", "Value"))
"""What most fields look like; for messages without a model."""
ONE_VALUE = FieldFormat("", "~")
DEEPEST = 32
"""Sequences inside each other: real messages have four, and each level is looked through again."""


@dataclass(slots=True)
class SequenceModel:
    """What is known of a sequence; without content anything may be in it."""

    content: Content | None = None
    fields: Mapping[str, FieldFormat] = field(default_factory=dict)
    """By tag."""
    inner: "Mapping[str, SequenceModel]" = field(default_factory=dict)
    """By code."""


UNKNOWN = SequenceModel()


class TextReader:
    """Takes the sequences and fields of one message apart."""

    def __init__(self, title: str, separator: str, first_line: int) -> None:
        self.title = title
        self.separator = separator
        self.first_line = first_line
        self.pieces: list[str] = []

    def block(self, text: str, model: SequenceModel, parent: Element) -> Element:
        """The element of the block, of what stands between its first line end with a colon and its last line end."""
        self.pieces = pieces = text.split(self.separator) if text else []
        block = Sequence("Block4", pieces, 0, len(pieces), model, parent, self)
        block.line_end = self.separator[:-1]
        return block

    def take_apart(self, element: Field | Sequence) -> None:
        """Make the children of a sequence or of a field."""
        if type(element) is Field:
            self._components(element)
        elif type(element) is Sequence:
            self._members(element)

    def _components(self, element: Field) -> None:
        piece = element.text or ""
        tag, _, text = piece.partition(":")
        form = element.form
        children = form.read(element, text)
        if children is None:
            self._fail(element, piece, f"{form.notation} in field {tag}", repr(text))
        element.loaded = children
        element.pending = None

    def _members(self, sequence: Sequence) -> None:
        self._check_depth(sequence)
        pieces, at, last, model = sequence.pieces or [], sequence.begin, sequence.end, sequence.model
        fields = model.fields
        is_generic = GENERIC.fits
        children: list[Element] = []
        names: list[str] = []
        add, name = children.append, names.append
        while at < last:
            piece = pieces[at]
            tag, _, text = piece.partition(":")
            if tag == START:
                end = self._end_of(sequence, at, text, last)
                name(text)
                add(Sequence(text, pieces, at + 1, end, model.inner.get(text, UNKNOWN), sequence, self))
                at = end + 1
                continue
            form = fields.get(tag)
            if form is None:
                self._check_tag(sequence, piece)
                form = GENERIC if is_generic(text) else ONE_VALUE
            name(tag)
            if form.names:
                add(Field("F" + tag, piece, form, sequence, self))
            elif form.fits(text) is None:
                self._fail(sequence, piece, f"{form.notation} in field {tag}", repr(text))
            else:
                add(new_value("F" + tag, text, sequence))
            at += 1
        if model.content is not None and not model.content.fits(names):
            expected, found, place = model.content.misfit(names)
            self._misfit(sequence, children, expected, found, place)
        sequence.loaded = children
        sequence.pending = None

    def _check_depth(self, sequence: Sequence) -> None:
        depth, above = 0, sequence.parent
        while type(above) is Sequence:
            depth, above = depth + 1, above.parent
        if depth > DEEPEST:
            raise self._too_deep(sequence, sequence.begin)

    def _too_deep(self, sequence: Sequence, place: int) -> FormatProblem:
        expected = f"at most {DEEPEST} sequences inside each other"
        return FormatProblem(self.title, expected, "more", path=sequence.path(), line=self.line(place))

    def _check_tag(self, sequence: Sequence, piece: str) -> None:
        tag, colon, _ = piece.partition(":")
        if not colon or FIELD_TAG.fullmatch(tag) is None:
            self._fail(sequence, piece, "a tag such as :20C:", f":{piece[:40]}")
        if tag == END:
            self._fail(sequence, piece, f"a field, or {START}", f":{piece}")

    def _end_of(self, sequence: Sequence, start: int, code: str, last: int) -> int:
        """The place of the piece that ends the sequence that begins here."""
        pieces = self.pieces
        closing, opening = f"{END}:{code}", f"{START}:{code}"
        at, depth = start, 0
        while True:
            try:
                end = pieces.index(closing, at + 1, last)
            except ValueError:
                self._fail(sequence, pieces[start], f":{closing} behind :{opening}", "the end of what is around it")
            depth += pieces[at + 1 : end].count(opening)  # hardly ever one inside itself
            if depth == 0:
                return end
            if depth > DEEPEST:
                raise self._too_deep(sequence, start)
            depth -= 1
            at = end

    def _misfit(self, sequence: Sequence, children: list[Element], expected: str, found: str, place: int) -> NoReturn:
        at = sequence.begin
        for child in children[:place]:
            at = child.end + 1 if type(child) is Sequence else at + 1
        raise FormatProblem(self.title, expected, found, path=sequence.path(), line=self.line(at))

    def _fail(self, element: Element, piece: str, expected: str, found: str) -> NoReturn:
        line = self.line_of(piece, element if type(element) is Sequence else None)
        raise FormatProblem(self.title, expected, found, path=element.path(), line=line, number=CANNOT_READ)

    def line_of(self, piece: str | None, within: Sequence | None) -> int:
        """The line that a piece begins in."""
        first = within.begin if within is not None else 0
        places = (at for at in range(first, len(self.pieces)) if self.pieces[at] is piece)
        return self.line(next(places, first))

    def line(self, place: int) -> int:
        """The line that the piece at this place begins in."""
        return self.first_line + sum(1 + piece.count("\n") for piece in self.pieces[:place])


def new_value(name: str, value: str, parent: Element) -> Element:
    """A field that is one value."""
    element = Element(name, value, NAME_VALUE)
    element.parent = parent
    return element


class TextWriter:
    """Puts a message's text together: what has not changed keeps its own."""

    def __init__(self, title: str, line_end: str) -> None:
        self.title = title
        self.line_end = line_end

    def block(self, block: Element, model: SequenceModel) -> str:
        """The text of the block, with its first line end and its last."""
        pieces: list[str] = []
        self._sequence(block, model, pieces)
        end = self.line_end
        return f"{end}:{f'{end}:'.join(pieces)}{end}" if pieces else end

    def _sequence(self, sequence: Element, model: SequenceModel, out: list[str]) -> None:
        if type(sequence) is Sequence and sequence.pieces is not None:
            out += sequence.pieces[sequence.begin : sequence.end]
            return
        names: list[str] = []
        for child in sequence.children:
            name = child.name
            if type(child) is Field and child.text is not None:
                names.append(name[1:])
                out.append(child.text)
            elif name[0] == "F" and FIELD_TAG.fullmatch(name, 1):
                names.append(name[1:])
                out.append(f"{name[1:]}:{self._field(child, model.fields.get(name[1:]))}")
            else:
                names.append(name)
                out.append(f"{START}:{name}")
                self._sequence(child, model.inner.get(name, UNKNOWN), out)
                out.append(f"{END}:{name}")
        if model.content is not None and not model.content.fits(names):
            expected, found, _ = model.content.misfit(names)
            raise FormatProblem(self.title, expected, found, path=sequence.path(), number=CANNOT_WRITE)

    def _field(self, element: Element, form: FieldFormat | None) -> str:
        children = element.children
        if element.value is not None or not children:
            text = plain(element.value)
        else:
            text = (form or GENERIC).write({child.name: child.value for child in children}, self.line_end)
        checked = form or (GENERIC if children else None)
        if checked is not None and checked.fits(text) is None:
            expected = checked.notation + (f" of {', '.join(checked.names)}" if checked.names else "")
            raise FormatProblem(self.title, expected, repr(text), path=element.path(), number=CANNOT_WRITE)
        return text
