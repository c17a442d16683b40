"""MQRFH2: a header of folders with named values, before the body; several can follow each other.

Each folder is XML without attributes but `dt` (the type of the value) and `xsi:nil`. Numbers of the header are in the
encoding, and its letters in the character set, that the header *before* it says; it says those of what follows it.
"""

import re
import struct
from collections.abc import Iterator
from functools import lru_cache
from html import escape
from typing import Any, NamedTuple
from xml.parsers import expat

from heliograph.flow.errors import CANNOT_WRITE, FormatProblem
from heliograph.flow.formats.charsets import Charset, charset
from heliograph.flow.formats.message_properties import fill
from heliograph.flow.language.values.types import character
from heliograph.flow.tree import Element, Part, Text, building
from heliograph.flow.tree.element_types import NAME, NAME_VALUE
from heliograph.flow.tree.packed import Layout, Packed, PackedField

STRUCTURE = "RFH "
VERSION = 2
FIXED = struct.calcsize(">4s4i8s2i")
NAME_VALUE_CCSIDS = (1208, 1200, 13488, 17584)
INHERIT = -2
"""CodedCharSetId of a body that has the same character set as the header."""
REVERSED = 2
DEEPEST = 32
"""Elements of a folder inside each other."""
_LITTLE, _BIG = struct.Struct("<i").unpack_from, struct.Struct(">i").unpack_from
FORMAT = "MQHRF2"
"""The Format of the header before."""


class Head(NamedTuple):
    """The fixed fields."""

    length: int
    encoding: int
    ccsid: int
    format: str
    flags: int
    name_value_ccsid: int


DEFAULTS = {
    "Version": VERSION,
    "Format": "",
    "Encoding": 546,
    "CodedCharSetId": INHERIT,
    "Flags": 0,
    "NameValueCCSID": 1208,
}


def _order(text: Text) -> str:
    return "<" if text.encoding & 0xF == REVERSED else ">"


def header_of(data: bytes, encoding: int) -> bytes:
    """The bytes of the header alone, if it says how many that are; all bytes if that cannot be right."""
    if len(data) < FIXED:
        return data
    (length,) = (_LITTLE if encoding & 0xF == REVERSED else _BIG)(data, 8)
    return data[:length] if FIXED <= length <= len(data) and length % 4 == 0 else data


def read_head(data: bytes, text: Text) -> Head:
    """The fixed fields at the beginning of these bytes, all that is needed to find what follows the header."""
    if len(data) < FIXED:
        raise FormatProblem("MQRFH2", f"{FIXED} bytes", f"{len(data)} bytes", offset=0)
    letters, version, length, encoding, ccsid, form, flags, name_value_ccsid = struct.unpack_from(
        _order(text) + "4s4i8s2i", data
    )
    if letters not in (STRUCTURE.encode(), charset(500).encode(STRUCTURE)):
        raise FormatProblem("MQRFH2", f"the letters {STRUCTURE!r}", repr(letters), offset=0)
    if version != VERSION:
        raise FormatProblem("MQRFH2", f"version {VERSION}", str(version), path="Version", offset=4)
    if not FIXED <= length <= len(data) or length % 4:
        expected = f"a multiple of 4 from {FIXED} to {len(data)}"
        raise FormatProblem("MQRFH2", expected, str(length), path="StrucLength", offset=8)
    if name_value_ccsid not in NAME_VALUE_CCSIDS:
        expected = f"one of {', '.join(map(str, NAME_VALUE_CCSIDS))}"
        raise FormatProblem("MQRFH2", expected, str(name_value_ccsid), path="NameValueCCSID", offset=32)
    kind = charset(text.ccsid)
    try:
        name = kind.decode(form).rstrip(" \0")
    except UnicodeError:
        raise FormatProblem("MQRFH2", f"text in {kind.name}", repr(form), path="Format", offset=20) from None
    return Head(length, encoding, ccsid, name, flags, name_value_ccsid)


def folders(data: bytes, head: Head, text: Text) -> Iterator[tuple[int, str]]:
    """The folders as text, each with its offset."""
    order, at = _order(text), FIXED
    kind = charset(head.name_value_ccsid, text.encoding)
    while at < head.length:
        (length,) = struct.unpack_from(order + "i", data, at)
        if length < 0 or at + 4 + length > head.length:
            expected = f"at most {head.length - at - 4} bytes of name and value"
            raise FormatProblem("MQRFH2", expected, str(length), offset=at)
        try:
            yield at + 4, kind.decode(data[at + 4 : at + 4 + length]).rstrip(" \0")
        except UnicodeError as error:
            raise FormatProblem("MQRFH2", f"text in {kind.name}", str(error), offset=at + 4) from None
        at += 4 + length


@lru_cache(256)
def taken_apart(data: bytes, text: Text) -> tuple[Head, tuple[tuple[int, str], ...]]:
    """The fixed fields and the folders of a header. Those of one sender are mostly the same."""
    head = read_head(data, text)
    return head, tuple(folders(data, head, text))


class Mqrfh2:
    """The format of domain MQRFH2."""

    domain = "MQRFH2"

    def read(self, part: Part, data: bytes) -> Iterator[None] | None:
        """The fixed fields, then folder after folder."""
        packed = packed_header(data, part.text)
        if packed is None:
            return self._read(part, data)
        part.pending = packed
        return None

    def _read(self, part: Part, data: bytes) -> Iterator[None]:
        head, texts = taken_apart(data, part.text)
        values = (VERSION, head.format, head.encoding, head.ccsid, head.flags, head.name_value_ccsid)
        fill(part, zip(DEFAULTS, values, strict=True))
        part.pending = part
        yield
        for offset, folder in texts:
            _read_folder(part, folder, offset)
            yield
        part.pending = None

    def write(self, part: Part) -> bytes:
        """The header."""
        values: dict[str, Any] = dict(DEFAULTS)
        written: list[Element] = []
        for child in part.children:
            if child.name in DEFAULTS and not child.children:
                values[child.name] = child.value if child.value is not None else DEFAULTS[child.name]
            elif child.name not in ("StrucId", "StrucLength"):
                written.append(child)
        return _write(values, written, part.text)


MQRFH2 = Mqrfh2()


# Folders of names and values, one below the other, without types, entities or anything else that is not plain.
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_PLAIN = re.compile(rf"<({_NAME})>((?:<({_NAME})>[^<>&]*</\3>)*)</\1>")
_values = re.compile(rf"<({_NAME})>([^<]*)<").findall


@lru_cache(256)
def packed_header(data: bytes, text: Text) -> Packed | None:
    """All fields of a header; None if not all of its folders are plain."""
    head, texts = taken_apart(data, text)
    values: list[Any] = [VERSION, head.format, head.encoding, head.ccsid, head.flags, head.name_value_ccsid]
    names: list[tuple[str, ...]] = []
    for _, folder in texts:
        plain = _PLAIN.fullmatch(folder)
        if plain is None or not folder.isprintable():
            return None
        found = _values(plain[2])
        names.append((plain[1], *(name for name, _ in found)))
        values += [value for _, value in found]
    return Packed(_layout(tuple(names)), tuple(values))


@lru_cache(256)
def _layout(folders: tuple[tuple[str, ...], ...]) -> Layout:
    """That of a header whose folders have these names, each followed by those of its values."""
    fields = [PackedField(name, NAME_VALUE, "", None, place, None) for place, name in enumerate(DEFAULTS)]
    place = len(fields)
    for name, *values in folders:
        if values:
            leaves = [PackedField(value, NAME_VALUE, "", None, at, None) for at, value in enumerate(values, place)]
            fields.append(PackedField(name, NAME, "", None, -1, Layout(leaves)))
            place += len(values)
        else:  # as an empty text
            fields.append(PackedField(name, NAME_VALUE, "", "", -1, None))
    return Layout(fields)


def _read_folder(part: Part, folder: str, offset: int) -> None:
    reader = _FolderReader(part)
    try:
        reader.parser.Parse(f"<_>{folder}</_>", True)
    except (expat.ExpatError, ValueError) as error:
        path = ".".join(reader.path)
        raise FormatProblem("MQRFH2", "a folder in XML", f"{folder!r} ({error})", path=path, offset=offset) from None


class _FolderReader:
    """Makes elements of a folder; typed by `dt`."""

    def __init__(self, part: Part) -> None:
        self.parser = expat.ParserCreate("utf-8")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self._stack: list[tuple[Element, dict[str, str]]] = []
        self._part = part
        self._words: list[str] = []

    @property
    def path(self) -> list[str]:
        """Names from the folder to where the reader is."""
        return [element.name for element, _ in self._stack[1:]]

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if not self._stack:
            self._stack.append((self._part, {}))
            return
        if len(self._stack) > DEEPEST:
            raise ValueError(f"more than {DEEPEST} elements inside each other")
        parent = self._stack[-1][0]
        element = Element(name)
        building.attach(parent, element)
        self._stack.append((element, attributes))
        self._words = []

    def _text(self, text: str) -> None:
        self._words.append(text)

    def _end(self, _: str) -> None:
        element, attributes = self._stack.pop()
        if self._stack and element.loaded is None:
            text = "".join(self._words)
            if attributes.get("xsi:nil") != "true":
                element.value = _typed(attributes.get("dt", "string"), text)
            element.type = NAME_VALUE
        self._words = []


def _typed(kind: str, text: str) -> Any:
    if kind in ("i1", "i2", "i4", "i8", "int", "ui1", "ui2", "ui4"):
        return int(text)
    if kind in ("r4", "r8"):
        return float(text)
    if kind == "boolean":
        return text.strip().lower() in ("1", "true")
    if kind == "bin.hex":
        return bytes.fromhex(text)
    return text


def _write(values: dict[str, Any], written: list[Element], text: Text) -> bytes:
    name_value_ccsid = values["NameValueCCSID"]
    if name_value_ccsid not in NAME_VALUE_CCSIDS:
        known = ", ".join(str(each) for each in NAME_VALUE_CCSIDS)
        path = "NameValueCCSID"
        raise FormatProblem("MQRFH2", f"one of {known}", str(name_value_ccsid), path=path, number=CANNOT_WRITE)
    order, kind, outer = _order(text), charset(name_value_ccsid, text.encoding), charset(text.ccsid)
    body = bytearray()
    for folder in written:
        data = _encoded(_folder_text(folder), kind, folder.name)
        blank = kind.encode(" ")
        data += blank * (-len(data) % 4 // len(blank))
        body += struct.pack(order + "i", len(data)) + data
    try:
        fixed = struct.pack(
            order + "4s4i8s2i",
            outer.encode(STRUCTURE),
            VERSION,
            FIXED + len(body),
            values["Encoding"],
            values["CodedCharSetId"],
            _encoded(str(values["Format"])[:8].ljust(8), outer, "Format"),
            values["Flags"],
            name_value_ccsid,
        )
    except struct.error as error:
        raise FormatProblem("MQRFH2", "integers of 4 bytes", str(error), number=CANNOT_WRITE) from None
    return fixed + bytes(body)


def _encoded(text: str, kind: Charset, path: str) -> bytes:
    try:
        return kind.encode(text)
    except UnicodeError:
        expected = f"text that {kind.name} has characters for"
        raise FormatProblem("MQRFH2", expected, repr(text), path=path, number=CANNOT_WRITE) from None


def _folder_text(element: Element) -> str:
    children = element.children
    if children:
        return f"<{element.name}>{''.join(_folder_text(child) for child in children)}</{element.name}>"
    value = element.value
    if value is None:
        empty = element.type != NAME_VALUE
        return f"<{element.name}></{element.name}>" if empty else f"<{element.name} xsi:nil='true'></{element.name}>"
    kind, text = _untyped(value)
    attribute = f" dt='{kind}'" if kind else ""
    return f"<{element.name}{attribute}>{escape(text, quote=False)}</{element.name}>"


def _untyped(value: Any) -> tuple[str, str]:
    if isinstance(value, str):
        return "", value
    if isinstance(value, bool):
        return "boolean", "1" if value else "0"
    if isinstance(value, int):
        return ("i4" if -(1 << 31) <= value < 1 << 31 else "i8"), str(value)
    if isinstance(value, float):
        return "r8", repr(value)
    if isinstance(value, bytes):
        return "bin.hex", value.hex()
    return "", character(value)
