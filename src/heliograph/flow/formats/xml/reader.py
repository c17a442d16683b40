"""The fast reader for usual documents: splits the text at `<` and handles one tag with the text behind it at a time.

It handles only constructs that it can parse without doubt. At anything else (a comment, a CDATA section, a name that is
not ASCII, an error) it hands over to `expat_reader`, which goes on in the same tree from that position. Documents with
the same tags as an earlier one are not parsed piece by piece at all (`xml_shapes`).
"""

import re
from collections.abc import Generator, Iterator

from heliograph.flow.errors import FormatProblem
from heliograph.flow.formats.xml.builder import DEEPEST, Builder, MalformedDocument
from heliograph.flow.formats.xml.dialect import Dialect, ascii_name, has_any
from heliograph.flow.formats.xml.expat_reader import read_with_expat
from heliograph.flow.formats.xml.xml_shapes import Cut, Likely, Shape, cut, likely_shapes, shape_of
from heliograph.flow.tree import Element, Part
from heliograph.flow.tree.packed import Layout, Packed

_FIRST_WINDOW, _WINDOW = 256, 4096
"""So much text is looked at in the first step, each time twice as much, at most so much."""
_BLANKS = " \t\n\r"
_FORBIDDEN = bytes((*range(9), 11, 12, *range(14, 32)))

_DECLARATION = re.compile(
    r"""<\?xml version=(["'])(1\.[0-9]+)\1(?: encoding=(["'])([A-Za-z][A-Za-z0-9._-]*)\3)?"""
    r"""(?: standalone=(["'])(yes|no)\5)?\s*\?>"""
).match
_TAG = re.compile(
    r"""([A-Za-z_:][\w:.-]*)((?:\s+[A-Za-z_:][\w:.-]*\s*=\s*(?:"[^"]*"|'[^']*'))*)\s*(/?)>""", re.ASCII
).match
_ATTRIBUTES = re.compile(r"""([A-Za-z_:][\w:.-]*)\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.ASCII).findall
_NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_NUMBER = re.compile(r"#(?:x([0-9a-fA-F]{1,6})|([0-9]{1,7}))").fullmatch


class _Unsure(Exception):
    """Expat must parse this."""


def packed_document(part: Part, dialect: Dialect, text: str) -> Packed | None:
    """All elements of a document, if its tags have come before; None, too, if something in it may be wrong."""
    likely = likely_shapes(dialect.domain, text)
    found = likely.find(text) if likely is not None else None
    if found is None:
        found = _shaped(likely, part, dialect, text)
    if found is None or not _is_sound(text):
        return None
    layout, values = found
    try:
        return Packed(layout, tuple(map(_resolved, values)) if "&" in text else values)
    except _Unsure:
        return None


def read_document(part: Part, dialect: Dialect, text: str) -> Iterator[None]:
    """Build the whole document, step by step."""
    return _read(Builder(part, dialect), text)


def _shaped(likely: Likely | None, part: Part, dialect: Dialect, text: str) -> tuple[Layout, tuple[str, ...]] | None:
    """The layout of a document and its values, if its tags have come before."""
    pieces = cut(text)
    if pieces is None:
        return None
    shape = shape_of(dialect.domain, pieces.tags)
    if shape.layout is None and shape.is_due():
        _learn(shape, part, dialect, text, pieces)
    values = shape.values(pieces.texts)
    if values is None or shape.layout is None:
        return None
    if likely is not None:
        likely.add(shape)
    return shape.layout, values


def _learn(shape: Shape, part: Part, dialect: Dialect, text: str, pieces: Cut) -> None:
    apart = Part(part.format, None, part.text)
    try:
        for _ in _read(Builder(apart, dialect), text):
            pass
    except FormatProblem:
        return  # the reader of that place of the document finds it again
    shape.learn(apart.children, dialect, pieces)


def _read(builder: Builder, text: str) -> Iterator[None]:
    handed_over = yield from _read_usual(builder, text)
    if handed_over is not None:
        yield from read_with_expat(builder, text, handed_over)


def _read_usual(builder: Builder, text: str) -> Generator[None, None, int | None]:
    """Build as much as is usual; the place of what is not, or None if all was."""
    at = _read_declaration(builder, text)
    size = len(text)
    reach = _FIRST_WINDOW
    closings: list[str] = []
    while at < size:
        stop = text.find("<", at + reach)
        # The end of a leaf belongs to its beginning: behind it the reader is at rest.
        closes = text.startswith("</", stop) if stop >= 0 else False
        if closes:
            stop = text.find("<", stop + 1)
        if stop < 0:
            stop = size
        window = text[at:stop]
        if not _is_sound(window):
            return at
        # A long text at the end of the window is not split: `split` looks at each character, and `find` does not.
        last = window.rfind("<", 0, reach)
        reach = min(2 * reach, _WINDOW)
        pieces = window[:last].split("<")
        pieces += window[last + 1 :].rsplit("<", 1) if closes else [window[last + 1 :]]
        done = _read_pieces(builder, pieces, closings, "&" in window)
        if done < len(pieces):
            return at + sum(map(len, pieces[:done])) + done - 1
        at = stop
        if at < size and builder.at_rest:
            yield
    if closings or not builder.rooted:
        return size
    builder.part.pending = None
    yield
    return None


def _read_declaration(builder: Builder, text: str) -> int:
    """Where the first `<` behind a usual XML declaration is, or that of an unusual one."""
    found = _DECLARATION(text)
    end = found.end() if found is not None else 0
    at = text.find("<", end)
    if at < 0 or text[end:at].strip(_BLANKS):
        return 0 if text.startswith("<") else len(text)
    if found is not None:
        builder.declaration(found[2], found[4], found[6])
    return at


def _is_sound(window: str) -> bool:
    """Whether all characters are such as may be in XML, and no `]]>` is in it."""
    if "]" in window and "]]>" in window:
        return False
    if has_any(window, _FORBIDDEN):
        return False
    return window.isascii() or ("\ufffe" not in window and "\uffff" not in window)


def _read_pieces(builder: Builder, pieces: list[str], closings: list[str], references: bool) -> int:
    """Build what the pieces say, each a tag without its `<` and the text behind it; the number of those done.

    The usual leaf, `<name>text</name>`, is two pieces and is built here in one go: this loop is what reading costs.
    Everything else goes through the builder.
    """
    part, stack = builder.part, builder.stack
    leaf_type, namespaces = builder.dialect.leaf, builder.dialect.namespaces
    at, count = 1, len(pieces)
    try:
        while at < count:
            piece = pieces[at]
            tag, _, text = piece.partition(">")
            name = ascii_name(tag)
            if name is None:
                _read_other(builder, piece, closings)
                at += 1
                continue
            parent = stack[-1]
            closing = name.closing
            following = pieces[at + 1] if at + 1 < count and parent is not part else ""
            if following == closing or following.startswith(closing):
                behind = following[len(closing) :]
                if references:
                    text, behind = _resolved(text), _resolved(behind)
                if namespaces:
                    namespace = builder.prefixes.get(name.prefix)  # type: ignore[arg-type]
                    if namespace is None:
                        return at
                    element = Element(name.local, text, leaf_type, namespace)
                else:
                    element = Element(tag, text, leaf_type)
                if builder.leaf:
                    if len(stack) > DEEPEST:
                        return at
                    builder.make_folder(parent)
                element.parent = parent
                if parent.loaded is None:
                    parent.loaded = [element]
                else:
                    parent.loaded.append(element)
                if behind:
                    builder.text(behind)
                at += 2
                continue
            if len(tag) == len(piece) or (builder.rooted and parent is part):
                return at
            text = _resolved(text)
            builder.start(tag, [])
            closings.append(closing)
            if text:
                builder.text(text)
            at += 1
    except (_Unsure, MalformedDocument):
        return at
    return at


def _read_other(builder: Builder, piece: str, closings: list[str]) -> None:
    """A piece that is not just a name and text: an end tag, or a tag with attributes or without content."""
    inside = len(builder.stack) > 1
    if piece[:1] == "/":
        if not closings or not piece.startswith(closings[-1]):
            raise _Unsure
        text = _resolved(piece[len(closings[-1]) :])
        if len(closings) == 1 and text.strip(_BLANKS):
            raise _Unsure
        closings.pop()
        builder.end()
        if text and len(builder.stack) > 1:
            builder.text(text)
        return
    found = _TAG(piece)
    if found is None or (builder.rooted and not inside):
        raise _Unsure
    name, attributes, slash = found.groups()
    text = _resolved(piece[found.end() :])
    if slash and not inside and text.strip(_BLANKS):
        raise _Unsure
    builder.start(name, _attributes(attributes))
    if slash:
        builder.end()
    else:
        closings.append(f"/{name}>")
    if text and len(builder.stack) > 1:
        builder.text(text)


def _attributes(text: str) -> list[tuple[str, str]]:
    attributes: dict[str, str] = {}
    for name, double, single in _ATTRIBUTES(text):
        value = double or single
        if "\n" in value or "\t" in value:
            value = value.replace("\n", " ").replace("\t", " ")
        if name in attributes:
            raise _Unsure
        attributes[name] = _resolved(value)
    return list(attributes.items())


def _resolved(text: str) -> str:
    """The text with characters in the place of references."""
    if "&" not in text:
        return text
    first, *rest = text.split("&")
    resolved = [first]
    for piece in rest:
        reference, semicolon, behind = piece.partition(";")
        if not semicolon:
            raise _Unsure
        resolved.append(_NAMED.get(reference) or _numbered(reference))
        resolved.append(behind)
    return "".join(resolved)


def _numbered(reference: str) -> str:
    found = _NUMBER(reference)
    if found is None:
        raise _Unsure
    number = int(found[1], 16) if found[1] else int(found[2])
    if number < 0x20:
        allowed = number in (9, 10, 13)
    else:
        allowed = number < 0xD800 or 0xE000 <= number < 0xFFFE or 0x10000 <= number < 0x110000
    if not allowed:
        raise _Unsure
    return chr(number)
