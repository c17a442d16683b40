"""The quick way to read usual documents: elements without attributes, text without references, as the model wants it.

It knows every tag beforehand, so a leaf is two look-ups. At anything unusual, right or wrong, it gives up, and the
other way reads the document from its beginning and says what is wrong.
"""

import re
from collections.abc import Callable, Generator
from typing import Any, NamedTuple

from heliograph.flow.formats.mrm_xml.shapes import Content, Document
from heliograph.flow.tree import Element
from heliograph.flow.tree.types import NAME, NAME_VALUE

_BLANKS = " \t\n\r"
_FORBIDDEN = bytes((*range(9), 11, 12, *range(14, 32)))
_DECLARATION = re.compile(
    r"""<\?xml version=(["'])1\.[0-9]+\1(?: encoding=(["'])[A-Za-z][A-Za-z0-9._-]*\2)?"""
    r"""(?: standalone=(["'])(?:yes|no)\3)?\s*\?>\s*"""
).match


PAUSE = 8
"""Members of the message after which the reader stops, if nobody wants more."""


class _Unusual(Exception):
    """Something for the other way."""


class _Table(NamedTuple):
    """What may be in an element."""

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
        """Add the members of the message, some with each step; False if something is not usual."""
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
    """Add the next members of an element; the place behind them, the codes of all so far, and whether it has ended.

    At most so many in one go; a most of 0 is for all.
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
            child._children = inside
            at, _, _ = _members(pieces, at + 1, inner, child, end, inside, "", 0)
        child.parent = parent
        children.append(child)
        codes += code
        count += 1
        if count == most:
            return at, codes, False


def _table(content: Content, namespace: str) -> _Table | None:
    """The table of a group; None if it has members that need the other way."""
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
