"""The reader for every document: expat finds the pieces and says what is wrong, the builder makes the elements.

It can begin behind what another reader has built already: events from before that place are passed over.
"""

from collections.abc import Iterator
from typing import NoReturn
from xml.parsers import expat

from heliograph.flow.formats.problem import FormatProblem
from heliograph.flow.formats.xml.builder import Builder, Fault

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
        # Passed over in one go: nobody waits for what is there already.
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
    except Fault as fault:
        events.fail(fault.expected, fault.found, *events.fault_at)
    builder.part._open = None
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
    """What expat tells, for a builder."""

    def __init__(self, builder: Builder, begin: int) -> None:
        self.builder = builder
        self.begin = begin
        self.fault_at = (0, 0)
        self._built = len(builder.stack)
        self._depth = 1
        """How deep the passed over events have come, as `_built` counts."""
        self._text: list[str] = []
        # The text was decoded already, whatever its declaration says.
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
        """Say what is wrong, and where."""
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
        except Fault:
            self._note_place()
            raise

    def _end(self, name: str) -> None:
        # The end of `<a/>` is told at the place behind it.
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
        raise Fault("a document without DOCTYPE (its entities are a danger)", "<!DOCTYPE")
