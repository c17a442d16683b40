"""JSON: `JSON.Data` is the value of the text; an object has its members as children, an array has children `Item`.

Numbers without a fraction are INTEGER, others DECIMAL, so that every digit stays; null is a field whose value is NULL.
Members of the same name are all kept. Dates and times are written as strings such as 2003-04-01, BLOBs in hexadecimal.
"""

import codecs
import json
import re
from collections.abc import Generator, Iterator
from decimal import Decimal, InvalidOperation
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Any, NoReturn

from heliograph.flow.errors import CANNOT_WRITE, FormatProblem
from heliograph.flow.language.values.ccsid import codec
from heliograph.flow.language.values.types import bare_text
from heliograph.flow.tree import Element, Part, Text
from heliograph.flow.tree.element_types import Json

JSON_DATA = "Data"
JSON_ITEM = "Item"

_DEEPEST = 256
_SMALL = 16_384
"""Texts up to this length are taken whole: that is faster than to stop behind each member."""
_STEP = 64
"""The number of members of such a text that are made in one step."""
_MOST = 2**63
_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_blanks = re.compile(r"[ \t\n\r]*").match
_colon = re.compile(r"[ \t\n\r]*:[ \t\n\r]*").match
_between = re.compile(r"[ \t\n\r]*([,}\]]?)[ \t\n\r]*").match
_STRINGS_AND_WORDS = re.compile(r'"(?:[^"\\]|\\.)*"?|[-+.\w]+')
_with_fraction = re.compile(r"[.eE]").search
_MARKS_AND_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"?|[{}\[\],:]')


class JsonFormat:
    """The format of domain JSON."""

    domain = "JSON"

    def read(self, part: Part, data: bytes) -> Iterator[None]:
        """A parser: each step brings some members of the object or array at the top, with all that is in them."""
        text = _decoded(data, part.text)
        top = Element(JSON_DATA)
        top.parent = part
        part.loaded = [top]
        steps = _from_text(text, top) if len(text) > _SMALL else _from_value(text, top)
        for _ in steps:
            top.pending = part
            yield
        top.pending = None
        part.pending = None
        yield

    def write(self, part: Part) -> bytes:
        """The text, without blanks."""
        children = part.children
        if len(children) != 1 or children[0].name != JSON_DATA:
            found = ", ".join(child.name for child in children) or "none"
            raise FormatProblem("JSON", "one field Data", found, number=CANNOT_WRITE)
        name = codec(part.text.ccsid, part.text.encoding)
        try:
            return _Writer(encode_basestring).text(children[0]).encode(name)
        except UnicodeEncodeError:
            return _Writer(encode_basestring_ascii).text(children[0]).encode(name)


# Reading


def _decoded(data: bytes, text: Text) -> str:
    name = codec(text.ccsid, text.encoding)
    if data.startswith(_MARKS) or b"\0" in data[:4]:
        name = json.detect_encoding(data)
    try:
        return data.decode(name)
    except UnicodeDecodeError as error:
        found = f"X'{data[error.start : error.start + 4].hex()}'"
        raise FormatProblem("JSON", f"text in {name}", found, offset=error.start) from None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


# Objects are tuples of members: that keeps members of the same name, and tells objects from arrays.
_DECODER = json.JSONDecoder(object_pairs_hook=tuple, parse_float=Decimal, parse_constant=_refuse)


def _value(text: str, at: int) -> tuple[Any, int]:
    """The value that begins at a place of a text, and where it ends."""
    try:
        return _DECODER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        raise _problem(text, error.pos, _in_words(error.msg)) from None
    except RecursionError:
        raise _too_deep(text) from None
    except (InvalidOperation, ValueError):
        raise _number_problem(text, at) from None


def _problem(text: str, position: int, expected: str, found: str = "") -> FormatProblem:
    if not found:
        found = repr(text[position : position + 10]) if position < len(text) else "the end of the text"
    line, column = text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)
    return FormatProblem("JSON", expected, found, path=_path_at(text, position), line=line, column=column)


def _number_problem(text: str, at: int) -> FormatProblem:
    """Of a number that is none, or too large: the parser does not say where it is, so it is looked for."""
    for found in _STRINGS_AND_WORDS.finditer(text, at):
        word = found[0]
        try:
            if word[0] != '"' and word not in ("true", "false", "null"):
                Decimal(word) if _with_fraction(word) else int(word)
        except (InvalidOperation, ValueError):
            break
    return _problem(text, found.start(), "a number that DECIMAL can hold", word)


def _in_words(message: str) -> str:
    """What was expected, from what the parser says."""
    expected = message.removeprefix("Expecting ")
    return expected if expected != message else f"valid JSON ({message[0].lower()}{message[1:].removesuffix(' at')})"


def _path_at(text: str, position: int) -> str:
    """The path of the field that is being read at this position."""
    path = [JSON_DATA]
    last = ""
    for mark in _MARKS_AND_STRINGS.findall(text[:position]):
        if mark in ("{", "["):
            path.append(JSON_ITEM if mark == "[" else "")
        elif mark in ("}", "]"):
            path.pop()
        elif mark == ":":
            path[-1] = last.strip('"')
        last = mark
    return ".".join(filter(None, path))


def _too_deep(text: str) -> FormatProblem:
    """The first value that is too deep, which is looked for."""
    depth = 0
    for found in _MARKS_AND_STRINGS.finditer(text):
        depth += 1 if found[0] in ("{", "[") else -1 if found[0] in ("}", "]") else 0
        if depth > _DEEPEST:
            break
    return _problem(text, found.start(), f"at most {_DEEPEST} values inside each other", "more")


def _from_value(text: str, top: Element) -> Iterator[None]:
    """Have the fast parser take the whole text, and make elements on demand.

    A text with something wrong is read member by member: what stands before that can still be had.
    """
    try:
        value = _DECODER.decode(text)
    except (ValueError, RecursionError, InvalidOperation):
        yield from _from_text(text, top)
        return
    if isinstance(value, tuple | list):
        top.type, members = _members(value)
        top.loaded = children = []
        for begin in range(0, len(members), _STEP):
            children += _elements(members[begin : begin + _STEP], top, 2, text)
            yield
    else:
        top.type, top.value = Json.VALUE, _scalar(value)


def _from_text(text: str, top: Element) -> Iterator[None]:
    """Read one member at the top after the other."""
    at = _blanks(text, 0).end()  # type: ignore[union-attr]
    if text.startswith(("{", "["), at):
        top.type = Json.OBJECT if text[at] == "{" else Json.ARRAY
        top.loaded = []
        at = yield from _read_members(text, at + 1, top)
    else:
        value, at = _value(text, at)
        top.type, top.value = Json.VALUE, _scalar(value)
    at = _blanks(text, at).end()  # type: ignore[union-attr]
    if at < len(text):
        raise _problem(text, at, "valid JSON (extra data)")


def _read_members(text: str, at: int, top: Element) -> Generator[None, None, int]:
    """Make the members at the top, from behind its first mark; returns the place behind its last."""
    is_array = top.type == Json.ARRAY
    closing, name = "]" if is_array else "}", JSON_ITEM
    children = top.loaded
    assert children is not None
    at = _blanks(text, at).end()  # type: ignore[union-attr]
    if text.startswith(closing, at):
        return at + 1
    while True:
        if not is_array:
            name, at = _member_name(text, at)
        value, at = _value(text, at)
        children += _elements(((name, value),), top, 2, text)
        found = _between(text, at)
        assert found is not None  # it may be empty
        at = found.end()
        if found[1] != ",":
            break
        yield
    if found[1] != closing:
        raise _problem(text, found.start(1), "',' delimiter")
    return at


def _member_name(text: str, at: int) -> tuple[str, int]:
    """The name of a member, and where its value begins."""
    if not text.startswith('"', at):
        raise _problem(text, at, "property name enclosed in double quotes")
    name, at = _value(text, at)
    colon = _colon(text, at)
    if colon is None:
        raise _problem(text, at, "':' delimiter")
    return name, colon.end()


def _members(value: Any) -> tuple[int, Any]:
    """The type of an object or array, and its members with their names."""
    if isinstance(value, tuple):
        return Json.OBJECT, value
    return Json.ARRAY, [(JSON_ITEM, item) for item in value]


def _elements(members: Any, parent: Element, depth: int, text: str) -> list[Element]:
    if depth > _DEEPEST:
        raise _too_deep(text)
    elements = []
    for name, value in members:
        kind = type(value)
        if kind is tuple or kind is list:
            element = Element(name)
            element.type, below = _members(value)
            element.loaded = _elements(below, element, depth + 1, text)
        else:
            element = Element(name, value if kind is str else _scalar(value), Json.VALUE)
        element.parent = parent
        elements.append(element)
    return elements


def _scalar(value: Any) -> Any:
    """The value in ESQL's types: integers have 64 bits."""
    if type(value) is int and not -_MOST <= value < _MOST:
        return Decimal(value)
    return value


# Writing


class _Writer:
    """Writes values; `quoted` makes a string of JSON."""

    def __init__(self, quoted: Any) -> None:
        self._quoted = quoted

    def text(self, element: Element) -> str:
        """This element and everything below it."""
        children = element.children
        kind = element.type
        if kind == Json.ARRAY:
            return f"[{','.join([self.text(child) for child in children])}]"
        if children:
            if element.value is not None:
                raise _cannot_write(element, "a value or fields inside it", "both")
            quoted = self._quoted
            return "{" + ",".join([f"{quoted(child.name)}:{self.text(child)}" for child in children]) + "}"
        value = element.value
        if value is None:
            return "{}" if kind == Json.OBJECT else "null"
        return self._scalar(element, value)

    def _scalar(self, element: Element, value: Any) -> str:
        kind = type(value)
        if kind is str:
            return self._quoted(value)  # type: ignore[no-any-return]
        if kind is bool:
            return "true" if value else "false"
        if kind is int:
            return str(value)
        if kind is float or kind is Decimal:
            if not Decimal(value).is_finite():
                raise _cannot_write(element, "a number", str(value))
            return repr(value) if kind is float else str(value)
        return self._quoted(bare_text(value))  # type: ignore[no-any-return]


def _cannot_write(element: Element, expected: str, found: str) -> FormatProblem:
    return FormatProblem("JSON", expected, found, path=element.path(), number=CANNOT_WRITE)
