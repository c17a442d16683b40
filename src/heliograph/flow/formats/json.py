"""JSON: `JSON.Data` is the value of the text; an object has its members as children, an array has children `Item`.

Numbers without a fraction are INTEGER, others DECIMAL, so that every digit stays; null is a field whose value is NULL.
Members of the same name are all kept.
"""

import codecs
import json
import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Any, NoReturn

from heliograph.flow.formats.problem import CANNOT_WRITE, FormatProblem
from heliograph.flow.tree import Element, Part, Text
from heliograph.flow.tree.types import Json
from heliograph.flow.values.ccsid import codec
from heliograph.flow.values.text import character

DATA = "Data"
ITEM = "Item"

_DEEPEST = 256
_STEP = 64
"""So many members at the top are made in one step."""
_MOST = 2**63
_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_MARKS_AND_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"?|[{}\[\],:]')


class JsonFormat:
    """The format of domain JSON."""

    domain = "JSON"

    def read(self, part: Part, data: bytes) -> Iterator[None]:
        """A parser: the text is looked through at once, elements are made as far as somebody looks."""
        value = _parsed(_decoded(data, part.text))
        top = Element(DATA)
        top.parent = part
        part._children = [top]
        if isinstance(value, tuple | list):
            top.type, members = _members(value)
            top._children = children = []
            top._open = part
            for begin in range(0, len(members), _STEP):
                children.extend(_elements(members[begin : begin + _STEP], top, 2))
                yield
            top._open = None
        else:
            top.type, top.value = Json.VALUE, _scalar(value)
        part._open = None
        yield

    def write(self, part: Part) -> bytes:
        """The text, without blanks."""
        children = part.children
        if len(children) != 1 or children[0].name != DATA:
            found = ", ".join(child.name for child in children) or "none"
            raise FormatProblem("JSON", "one field Data", found, path="JSON", number=CANNOT_WRITE)
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
    raise ValueError(f"a number, found {constant}")


# Objects are tuples of members: that keeps members of the same name, and tells objects from arrays.
_decode = json.JSONDecoder(object_pairs_hook=tuple, parse_float=Decimal, parse_constant=_refuse).decode


def _parsed(text: str) -> Any:
    try:
        return _decode(text)
    except json.JSONDecodeError as error:
        expected, path = _in_words(error.msg), _path_at(text, error.pos)
        found = repr(text[error.pos : error.pos + 10]) if error.pos < len(text) else "the end of the text"
        raise FormatProblem("JSON", expected, found, path=path, line=error.lineno, column=error.colno) from None
    except RecursionError:
        raise _too_deep() from None
    except InvalidOperation:
        raise FormatProblem("JSON", "a number that DECIMAL can hold", "one with a larger exponent") from None
    except ValueError as error:
        expected, _, found = str(error).partition(", found ")
        raise FormatProblem("JSON", "a number", found or expected) from None


def _in_words(message: str) -> str:
    """What was expected, from what the parser says."""
    expected = message.removeprefix("Expecting ")
    return expected if expected != message else f"valid JSON ({message[0].lower()}{message[1:].removesuffix(' at')})"


def _path_at(text: str, position: int) -> str:
    """The path of the field that is being read at this position."""
    path = [DATA]
    last = ""
    for mark in _MARKS_AND_STRINGS.findall(text[:position]):
        if mark in ("{", "["):
            path.append(ITEM if mark == "[" else "")
        elif mark in ("}", "]"):
            path.pop()
        elif mark == ":":
            path[-1] = last.strip('"')
        last = mark
    return ".".join(["JSON", *filter(None, path)])


def _too_deep() -> FormatProblem:
    return FormatProblem("JSON", f"at most {_DEEPEST} values inside each other", "more")


def _members(value: Any) -> tuple[int, Any]:
    """The type of an object or array, and its members with their names."""
    if isinstance(value, tuple):
        return Json.OBJECT, value
    return Json.ARRAY, [(ITEM, item) for item in value]


def _elements(members: Any, parent: Element, depth: int) -> list[Element]:
    if depth > _DEEPEST:
        raise _too_deep()
    elements = []
    for name, value in members:
        kind = type(value)
        if kind is tuple or kind is list:
            element = Element(name)
            element.type, below = _members(value)
            element._children = _elements(below, element, depth + 1)
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
        return self._quoted(character(value))  # type: ignore[no-any-return]


def _cannot_write(element: Element, expected: str, found: str) -> FormatProblem:
    return FormatProblem("JSON", expected, found, path=element.path(), number=CANNOT_WRITE)
