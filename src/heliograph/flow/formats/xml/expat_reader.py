"""The general reader: expat parses the document and reports errors, the builder makes the elements.

It can continue behind elements that another reader has built already: events before that position are ignored.
"""

import codecs
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NoReturn
from xml.parsers import expat

from heliograph.flow.errors import CANNOT_READ, CANNOT_WRITE, FormatProblem
from heliograph.flow.formats.xml.builder import Builder, MalformedDocument
from heliograph.flow.language.values.ccsid import codec
from heliograph.flow.tree import Text

# From bytes to text and back: the byte order mark says how, else the XML declaration, else the CCSID.

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MARKS_BEGIN = frozenset(mark[:1] for mark, _ in _MARKS)
_SAME_AS_ASCII = b"<?xml"
_WIDE = ((b"<\x00", "utf-16-le"), (b"\x00<", "utf-16-be"))
_DECLARED = re.compile(rb"""<\?xml\s[^>]*?encoding\s*=\s*["']([A-Za-z][A-Za-z0-9._-]*)["']""")
_LONGEST_DECLARATION = 256
_MARKUP = re.compile(r"""<!\[CDATA\[.*?\]\]>|<!--.*?-->|<\?.*?\?>|<(?:[^>"]|"[^"]*")*>""", re.DOTALL).findall
_VALUES = re.compile('"[^"]*"').sub


def decode(data: bytes, text: Text, domain: str) -> str:
    """The text of a document, line ends as the standard wants them."""
    name, mark = _codec(data, text, domain)
    try:
        decoded = data[mark:].decode(name) if mark else data.decode(name)
    except UnicodeDecodeError as error:
        found = f"X'{data[mark + error.start : mark + error.start + 4].hex()}'"
        raise FormatProblem(domain, f"text in {name}", found, offset=mark + error.start) from None
    if "\r" in decoded:
        decoded = decoded.replace("\r\n", "\n").replace("\r", "\n")
    return decoded


def encode(document: str, declared: str | None, text: Text, domain: str) -> bytes:
    """The bytes of a document: as its declaration says, else in the CCSID; what that has not is written as a number."""
    name = _known(declared, domain, CANNOT_WRITE) if declared else codec(text.ccsid, text.encoding)
    try:
        return document.encode(name)
    except UnicodeEncodeError:
        _check_markup(document, name, domain)
        return document.encode(name, "xmlcharrefreplace")


def _check_markup(document: str, name: str, domain: str) -> None:
    """Numbers can stand for characters in texts and values of attributes only."""
    for markup in _MARKUP(document):
        try:
            (markup if markup.startswith(("<!", "<?")) else _VALUES("", markup)).encode(name)
        except UnicodeEncodeError as error:
            raise FormatProblem(
                domain,
                f"characters of {name} in names, comments and CDATA sections",
                repr(error.object[error.start]),
                number=CANNOT_WRITE,
            ) from None


def _codec(data: bytes, text: Text, domain: str) -> tuple[str, int]:
    """The codec of these bytes, and how many of them are a byte order mark."""
    if data[:1] in _MARKS_BEGIN:
        for mark, name in _MARKS:
            if data.startswith(mark):
                return name, len(mark)
    for begin, name in _WIDE:
        if data.startswith(begin):
            return name, 0
    if data.startswith(_SAME_AS_ASCII):
        declared = _declared(data[: data.find(b">", 0, _LONGEST_DECLARATION) + 1])
        if declared is not None:
            return _known(declared, domain), 0
    return codec(text.ccsid, text.encoding), 0


@lru_cache(maxsize=256)
def _declared(declaration: bytes) -> str | None:
    found = _DECLARED.match(declaration)
    return found[1].decode() if found else None


@lru_cache(maxsize=64)
def _known(declared: str, domain: str, number: int = CANNOT_READ) -> str:
    """The codec of an encoding that a declaration names."""
    try:
        name = codecs.lookup(declared).name
        "".encode(name)  # codecs that are not for text cannot do this
    except (LookupError, TypeError):
        raise FormatProblem(domain, "the name of an encoding", repr(declared), number=number) from None
    return name


_SHOWN = 20
"""Bytes of what is wrong that a problem shows."""
_CHUNK = 4096
_MISMATCH = expat.errors.codes[expat.errors.XML_ERROR_TAG_MISMATCH]


def read_with_expat(builder: Builder, text: str, begin: int) -> Iterator[None]:
    """Build everything that stands in the text at `begin` (a `<`, or its end) or behind it."""
    events = _Events(builder, len(text[:begin].encode()))
    data = text.encode()
    parse = events.parser.Parse
    try:
        # Passed over in one go: these elements are there already.
        at = events.begin
        parse(data[:at], False)
        while at < len(data):
            parse(data[at : at + _CHUNK], False)
            at += _CHUNK
            if builder.at_rest and at < len(data):
                yield
        parse(b"", True)
    except expat.ExpatError as error:
        if error.code == _MISMATCH:
            events.fail(*_end_tags(data, events.parser.ErrorByteIndex), error.lineno, error.offset)
        there = data[events.parser.ErrorByteIndex :][:_SHOWN].decode(errors="replace")
        found = f"{there!r} ({expat.ErrorString(error.code)})" if there else "the end of the document"
        events.fail("well-formed XML", found, error.lineno, error.offset)
    except MalformedDocument as malformed:
        events.fail(malformed.expected, malformed.found, *events.fault_at)
    builder.part.pending = None
    yield


def _end_tags(data: bytes, at: int) -> tuple[str, str]:
    """The end tag that is missing, and the one whose name stands at this place instead.

    Neither expat nor the builder keeps names as they are written, with prefixes; so the text before is read again.
    """
    names: list[str] = []
    parser = expat.ParserCreate("utf-8")
    parser.StartElementHandler = lambda name, attributes: names.append(name)
    parser.EndElementHandler = lambda name: names.pop()
    parser.Parse(data[:at], False)
    found = data[at : data.index(b">", at)].decode().rstrip()
    return f"</{names[-1]}>", f"</{found}>"


class _Events:
    """Passes the events of expat to a builder."""

    def __init__(self, builder: Builder, begin: int) -> None:
        self.builder = builder
        self.begin = begin
        self.fault_at = (0, 0)
        self._built = len(builder.stack)
        self._depth = 1
        """How deep the passed over events have come, as `_built` counts."""
        self._text: list[str] = []
        # The text is decoded already, so the encoding in its declaration must not count.
        self.parser = parser = expat.ParserCreate("utf-8")
        parser.ordered_attributes = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.StartCdataSectionHandler = self._start_cdata
        parser.EndCdataSectionHandler = self._end_cdata
        parser.CommentHandler = self._comment
        parser.ProcessingInstructionHandler = self._instruction
        parser.XmlDeclHandler = self._declaration
        parser.StartDoctypeDeclHandler = self._refuse

    def fail(self, expected: str, found: str, line: int, column: int) -> NoReturn:
        """Raise the error with its position."""
        builder = self.builder
        raise FormatProblem(
            builder.dialect.domain, expected, found, path=builder.path(), line=line, column=column + 1
        ) from None

    def _is_new(self) -> bool:
        """Whether the builder has not had this event; what came before it is complete now."""
        if self.parser.CurrentByteIndex < self.begin:
            return False
        if self._text:
            text = "".join(self._text)
            self._text.clear()
            self.builder.text(text)
        return True

    def _start(self, name: str, attributes: list[str]) -> None:
        if not self._is_new():
            self._depth += 1
            return
        try:
            self.builder.start(name, list(zip(attributes[::2], attributes[1::2], strict=True)))
        except MalformedDocument:
            self._note_place()
            raise

    def _end(self, name: str) -> None:
        # Expat reports the end of `<a/>` at the position behind it.
        if self.parser.CurrentByteIndex == self.begin and self._depth > self._built:
            self._depth -= 1
        elif self._is_new():
            self.builder.end()
        else:
            self._depth -= 1

    def _note_place(self) -> None:
        self.fault_at = (self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber)

    def _characters(self, text: str) -> None:
        if self.parser.CurrentByteIndex >= self.begin:
            self._text.append(text)

    def _start_cdata(self) -> None:
        self._is_new()

    def _end_cdata(self) -> None:
        if self.parser.CurrentByteIndex >= self.begin:
            text = "".join(self._text)
            self._text.clear()
            self.builder.cdata(text)

    def _comment(self, text: str) -> None:
        if self._is_new():
            self.builder.comment(text)

    def _instruction(self, target: str, data: str) -> None:
        if self._is_new():
            self.builder.instruction(target, data)

    def _declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        if self._is_new():
            self.builder.declaration(version, encoding, None if standalone < 0 else ("no", "yes")[standalone])

    def _refuse(self, *_declared: object) -> None:
        self._note_place()
        raise MalformedDocument("a document without DOCTYPE (its entities are a danger)", "<!DOCTYPE")
