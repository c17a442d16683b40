"""Reads modelled XML.

There are two ways. `QuickReader` reads usual documents with string operations only. The other way (`_Typing`) reads any
document: the XMLNSC reader makes elements of it, which then get the model's types and are checked. When the quick way
meets something unusual, the other way parses the document again from its beginning, and skips as many members as the
part has already (`known`): a flow may hold references to them, so they must not be replaced."""

import re
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple
from xml.parsers import expat

from heliograph.flow.errors import FormatProblem
from heliograph.flow.formats.mrm_xml.mrm_xml_shapes import XSI, Content, Document, Shape
from heliograph.flow.formats.xml.dialect import XMLNSC
from heliograph.flow.formats.xml.expat_reader import decode
from heliograph.flow.formats.xml.reader import read_document
from heliograph.flow.tree import Element, Part, building
from heliograph.flow.tree.element_types import NAME, NAME_VALUE, VALUE, Xmlnsc

# The quick way: elements without attributes, text without references, in the order of the model.
#
# The document is split at `<`. Each piece is then a tag and the text behind it, and the tag is a key of the table of
# its
# group: a leaf costs one lookup and one comparison with its end tag. At anything unusual, valid or not, this raises
# `_Unusual`; it never reports errors itself.

_BLANKS = " \t\n\r"
_FORBIDDEN = bytes((*range(9), 11, 12, *range(14, 32)))
_DECLARATION = re.compile(
    r"""<\?xml version=(["'])1\.[0-9]+\1(?: encoding=(["'])[A-Za-z][A-Za-z0-9._-]*\2)?"""
    r"""(?: standalone=(["'])(?:yes|no)\3)?\s*\?>\s*"""
).match


PAUSE = 8
"""Members of the message after which the reader yields."""


class _Unusual(Exception):
    """The quick way cannot read this document."""


class _Table(NamedTuple):
    """The members of an element."""

    known: dict[str, tuple[str, str, Callable[[str], Any] | None, "_Table | None", str, str]]
    """By tag: the end tag without its `<`, name, parser, table of a group, code, namespace."""
    fits: Callable[[str], Any]


class QuickReader:
    """Reads usual documents of one message."""

    def __init__(self, document: Document) -> None:
        self._table = _table(document.content, document.namespace)
        self._closing = f"/{document.tag}>"
        declared = f' xmlns="{document.namespace}"' if document.namespace else ""
        self._opening = f"{document.tag}{declared}"

    def read(self, text: str, parent: Element, children: list[Element]) -> Generator[None, None, bool]:
        """Add the members of the message, a few before each yield. Return False if the document is unusual."""
        if self._table is None or "&" in text or "]]>" in text or not text.isascii():
            return False
        data = text.encode()
        if len(data.translate(None, _FORBIDDEN)) != len(data):
            return False
        declaration = _DECLARATION(text)
        before, *pieces = (text[declaration.end() :] if declaration is not None else text).split("<")
        try:
            opening, _, blank = pieces[0].partition(">")
            if before or opening != self._opening or blank.strip(_BLANKS):
                return False
            at, codes = 1, ""
            while True:
                at, codes, ended = _members(pieces, at, self._table, parent, self._closing, children, codes, PAUSE)
                if ended:
                    return at == len(pieces)
                yield
        except (_Unusual, ValueError, IndexError):
            return False


def _members(
    pieces: list[str],
    at: int,
    table: _Table,
    parent: Element,
    closing: str,
    children: list[Element],
    codes: str,
    most: int,
) -> tuple[int, str, bool]:
    """Add the next members of an element, at most `most` (0: no limit).

    Return the index of the next piece, the codes of all members so far, and whether the element has ended.
    """
    known, fits = table
    count = 0
    while True:
        tag, _, text = pieces[at].partition(">")
        entry = known.get(tag)
        if entry is None:
            if not pieces[at].startswith(closing) or text.strip(_BLANKS) or fits(codes) is None:
                raise _Unusual
            return at + 1, codes, True
        end, name, parse, inner, code, namespace = entry
        if inner is None:
            following = pieces[at + 1]
            if following != end and (not following.startswith(end) or following[len(end) :].strip(_BLANKS)):
                raise _Unusual
            if not text:
                raise _Unusual
            child = Element(name, text if parse is None else parse(text), NAME_VALUE, namespace)
            at += 2
        else:
            if text.strip(_BLANKS):
                raise _Unusual
            child = Element(name, None, NAME, namespace)
            inside: list[Element] = []
            child.loaded = inside
            at, _, _ = _members(pieces, at + 1, inner, child, end, inside, "", 0)
        child.parent = parent
        children.append(child)
        codes += code
        count += 1
        if count == most:
            return at, codes, False


def _table(content: Content, namespace: str) -> _Table | None:
    """Return the table of a group; None if it has members that the quick way cannot read."""
    if content.attributes or content.value is not None or content.counted:
        return None
    known = {}
    for shape in content.elements.values():
        if shape.namespace != namespace:
            return None
        inner = _table(shape.inner, namespace) if shape.inner is not None else None
        if shape.inner is not None and inner is None:
            continue  # its tag is not known here, so documents that have it are unusual
        parse = shape.values.parse if shape.values is not None else None
        known[shape.tag] = (f"/{shape.tag}>", shape.name, parse, inner, shape.code, namespace)
    return _Table(known, content.order.surely)


_ELEMENTS = frozenset((NAME, NAME_VALUE, Xmlnsc.CDATA_FIELD))
_ATTRIBUTES = frozenset((Xmlnsc.ATTRIBUTE, Xmlnsc.SINGLE_ATTRIBUTE))
_TRUE = ("true", "1")


class Reader:
    """Reads documents of one message."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.dialect = replace(XMLNSC, domain=document.title)
        self._quick = QuickReader(document)

    def read(self, part: Part, data: bytes) -> Iterator[None]:
        """Read members one by one; that none is missing is checked at the end of the document."""
        text = decode(data, part.text, self.document.title)
        children: list[Element] = []
        part.loaded = children
        whole = yield from self._quick.read(text, part, children)
        if not whole:
            yield from self._read(part, text, len(children))
        part.pending = None
        yield

    def _read(self, part: Part, text: str, known: int) -> Iterator[None]:
        """Read the document the other way; the part has `known` members already."""
        apart = Part(part.format, None, part.text)
        typing = _Typing(self.document, part, text)
        for _ in read_document(apart, self.dialect, text):
            root = _root_of(apart)
            if root is not None and root.loaded:
                yield from typing.members(root, root.loaded[:-1], known)  # the last one may not be complete yet
        root = _root_of(apart)
        assert root is not None
        yield from typing.members(root, root.children, known)
        typing.end(root)


class _Typing:
    """Gives the elements of one document their types and checks them."""

    def __init__(self, document: Document, part: Part, text: str) -> None:
        self.document = document
        self.part = part
        self.text = text
        self._attributes: set[int] = set()
        """Identities of the tree's elements that are attributes in the document."""
        self._seen = 0
        self._codes: list[str] = []

    def members(self, root: Element, children: list[Element], known: int) -> Iterator[None]:
        """Add the members that the part does not have yet; the first `known` were added by the quick way."""
        document, part = self.document, self.part
        if root.name != document.tag or root.namespace != document.namespace:
            raise self._problem(part, f"element {_named(document.tag, document.namespace)}", _found(root))
        kept = part.loaded
        assert kept is not None
        for child in children[self._seen :]:
            self._seen += 1
            if len(self._codes) < known and child.type in _ELEMENTS:
                self._codes.append(document.content.elements[child.name].code)
                continue
            child.parent = part
            kept.append(child)
            stays = False
            try:
                stays = self._member(part, document.content, child, self._codes)
            finally:
                if not stays:
                    kept.pop()
            yield

    def end(self, root: Element) -> None:
        """Check the message when all members are read."""
        part, content = self.part, self.document.content
        part.value, part.type = root.value, root.type
        self._check_text(part, content, root.children)
        self._finish(part, content, self._codes, part.loaded or [], null=False)

    def _content(self, element: Element, content: Content) -> None:
        codes: list[str] = []
        children = element.children
        self._check_text(element, content, children)
        null = _is_null(element)
        kept = [child for child in children if self._member(element, content, child, codes)]
        self._finish(element, content, codes, kept, null)

    def _check_text(self, element: Element, content: Content, children: list[Element]) -> None:
        if content.elements and element.type != NAME and not children and str(element.value or "").strip():
            raise self._problem(element, f"elements {', '.join(content.known())}", repr(element.value))

    def _member(self, element: Element, content: Content, child: Element, codes: list[str]) -> bool:
        """Give a member its type; return whether it stays in the tree."""
        shape = content.elements.get(child.name)
        if shape is None or child.type not in _ELEMENTS or child.namespace != shape.namespace:
            if not self._other(element, content, child):
                return False
            self._attributes.add(id(child))
            child.type = NAME_VALUE
            return True
        codes.append(shape.code)
        if shape.inner is not None:
            child.name = shape.name
            self._content(child, shape.inner)
        elif not building.is_leaf(child) or child.value == "":
            self._unusual(child, shape)
        else:
            parse = shape.values.parse  # type: ignore[union-attr]
            if parse is not None:
                try:
                    child.value = parse(child.value)  # type: ignore[arg-type]
                except ValueError:
                    raise self._value_problem(child, shape) from None
            child.type = NAME_VALUE
            child.name = shape.name
        return True

    def _finish(self, element: Element, content: Content, codes: list[str], kept: list[Element], null: bool) -> None:
        """Finish an element whose members all have their types: check order, attributes and null."""
        if null:
            self._check_null(element, content, codes)
        elif content.counted or content.order.surely("".join(codes)) is None:
            self._check_order(element, content, codes)
        if content.attributes:
            self._check_attributes(element, content, kept)
        if content.value is not None:
            self._own_value(element, content.value)
        else:
            element.type = NAME
            element.value = None
        building.keep(element, kept)

    def _own_value(self, element: Element, shape: Shape) -> None:
        assert shape.values is not None
        element.type = NAME_VALUE
        if shape.values.parse is not None:
            try:
                element.value = shape.values.parse(str(element.value or ""))
            except ValueError:
                raise self._value_problem(element, shape) from None

    def _other(self, element: Element, content: Content, child: Element) -> bool:
        """Handle a child that is no element of the model: True means an attribute of the model, False that it is
        ignored; anything else is an error."""
        if child.type in _ATTRIBUTES:
            if child.namespace == XSI:
                return child.name in ("type", "nil") and element is not self.part
            shape = content.attributes.get(child.name)
            if shape is None or child.namespace != shape.namespace:
                known = ", ".join(content.attributes) or "no attribute"
                raise self._problem(element, known, f"attribute {_named(child.name, child.namespace)}")
            assert shape.values is not None
            if shape.values.parse is not None:
                try:
                    child.value = shape.values.parse(str(child.value))
                except ValueError:
                    raise self._value_problem(child, shape, element) from None
            child.name = shape.name
            return True
        if child.type in _ELEMENTS:
            expected = ", ".join(content.elements) or "no element"
            raise self._problem(child, f"one of {expected}" if content.elements else expected, _found(child))
        if child.type & 0x03000000 == VALUE:
            raise self._problem(element, f"elements {', '.join(content.elements)}", f"text {child.value!r}")
        return False

    def _unusual(self, child: Element, shape: Shape) -> None:
        """Handle a field that is empty, is null or has attributes."""
        values = shape.values
        assert values is not None
        null = False
        kept: list[Element] = []
        for aside in child.children:
            if aside.type in _ATTRIBUTES and aside.namespace == XSI:
                null = null or (aside.name == "nil" and aside.value in _TRUE)
                if aside.name == "type":
                    aside.type = NAME_VALUE
                    kept.append(aside)
            elif aside.type in _ATTRIBUTES:
                raise self._problem(child, "no attribute", f"attribute {_named(aside.name, aside.namespace)}")
            elif aside.type in _ELEMENTS or aside.type & 0x03000000 == VALUE:
                raise self._problem(child, values.expected, _found(aside))
        building.keep(child, kept)
        if null:
            if not shape.nillable or child.value:
                expected = "no value beside xsi:nil" if shape.nillable else "an element that is not null"
                raise self._problem(child, expected, "xsi:nil")
            child.value = None
        elif child.value == "" and shape.default is not None:
            child.value = shape.default
        elif values.parse is not None:
            try:
                child.value = values.parse(str(child.value))
            except ValueError:
                raise self._value_problem(child, shape) from None
        child.type = NAME_VALUE
        child.name = shape.name

    def _check_null(self, element: Element, content: Content, codes: list[str]) -> None:
        if not content.group.nillable or codes:
            expected = "no elements beside xsi:nil" if content.group.nillable else "an element that is not null"
            raise self._problem(element, expected, "xsi:nil")

    def _check_order(self, element: Element, content: Content, codes: list[str]) -> None:
        counts = {shape.tag: codes.count(shape.code) for shape in content.elements.values()}
        for shape, least, most in content.to_count(codes):
            count = counts[shape.tag]
            if count < least and shape.default is None:
                raise self._problem(element, f"element {shape.tag}", "none")
            if most is not None and count > most:
                raise self._problem(element, f"at most {most} {shape.tag}", str(count))
        if content.order.fits("".join(codes)):
            return
        tags = {shape.code: shape.tag for shape in content.elements.values()}
        expected = _expected(content, codes)
        raise self._problem(element, expected, ", ".join(tags[code] for code in codes) or "nothing")

    def _check_attributes(self, element: Element, content: Content, kept: list[Element]) -> None:
        present = {child.name for child in kept}
        for shape in content.attributes.values():
            if shape.name not in present:
                if shape.default is not None:
                    made = Element(shape.name, shape.default, NAME_VALUE, shape.namespace)
                    made.parent = element
                    kept.insert(0, made)
                    self._attributes.add(id(made))
                elif shape.member.occurs.least:
                    raise self._problem(element, f"attribute {shape.tag}", "none")

    def _value_problem(self, child: Element, shape: Shape, owner: Element | None = None) -> FormatProblem:
        assert shape.values is not None
        problem = self._problem(owner or child, shape.values.expected, repr(child.value))
        if owner is None:
            return problem
        path = f"{problem.path}.{child.name}" if problem.path else child.name
        return FormatProblem(problem.format, problem.expected, problem.found, path=path, line=problem.line)

    def _problem(self, element: Element, expected: str, found: str) -> FormatProblem:
        line = _line_of(self.text, element, self._attributes)
        return FormatProblem(self.document.title, expected, found, path=element.path(), line=line)


def _expected(content: Content, codes: list[str]) -> str:
    for shape in content.elements.values():
        if not shape.direct:
            continue  # its group may occur several times, or not at all
        occurs = shape.member.occurs
        count = codes.count(shape.code)
        if occurs.most is not None and count > occurs.most:
            return f"at most {occurs.most} {shape.tag}"
        if not count and occurs.least and shape.default is None:
            return f"element {shape.tag}"
    return f"elements in the order of {', '.join(content.elements)}"


def _root_of(part: Part) -> Element | None:
    return next((child for child in part.loaded or () if child.type in _ELEMENTS), None)


def _is_null(element: Element) -> bool:
    return any(child.name == "nil" and child.namespace == XSI and child.value in _TRUE for child in element.children)


def _named(name: str, namespace: str) -> str:
    return f"{name} of namespace {namespace}" if namespace else name


def _found(element: Element) -> str:
    return f"element {_named(element.name, element.namespace)}"


def _line_of(text: str, element: Element, attributes: set[int]) -> int:
    """Return the line of an element's start tag. The document is parsed again for this, since only errors need it."""
    places: list[int] = []
    while element.parent is not None and not element.is_part:
        siblings = element.parent.loaded or []
        before = siblings[: next((at for at, one in enumerate(siblings) if one is element), 0)]
        places.append(sum(1 for one in before if one.type in _ELEMENTS and id(one) not in attributes))
        element = element.parent
    places.append(0)  # the root, which the part stands for
    places.reverse()
    counts = [0]
    line = 1
    reached = False
    parser = expat.ParserCreate("utf-8")

    def start(_name: str, _attributes: object) -> None:
        nonlocal line, reached
        if not reached and counts == places[: len(counts)]:
            line = parser.CurrentLineNumber
            reached = len(counts) == len(places)
        counts.append(0)

    def end(_name: str) -> None:
        counts.pop()
        counts[-1] += 1

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    with suppress(expat.ExpatError):  # a document is parsed on demand, so it may be malformed behind this element
        parser.Parse(text.encode(), True)
    return line
