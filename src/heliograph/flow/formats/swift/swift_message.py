"""A SWIFT message as a whole: blocks one after the other, each taken apart on demand."""

import re
from collections.abc import Iterator

from heliograph.flow.errors import CANNOT_WRITE, FormatProblem
from heliograph.flow.formats.swift.swift_fields import FieldFormat, plain
from heliograph.flow.formats.swift.text_block import Field, Sequence, SequenceModel, TextReader, TextWriter, new_value
from heliograph.flow.tree import Element, Part

# The blocks around a SWIFT message's text: basic header, application header, user header, trailers.

TEXT_BLOCK = "4"

BASIC_HEADER = FieldFormat(
    "1", "1!a2!n12!c4!n6!n", ("ApplicationId", "ServiceId", "LogicalTerminal", "SessionNumber", "SequenceNumber")
)
INPUT_HEADER = FieldFormat(
    "2",
    "{I}3!n12!c[1!a[1!n[3!n]]]",
    ("Direction", "MessageType", "Receiver", "Priority", "DeliveryMonitoring", "ObsolescencePeriod"),
)
OUTPUT_HEADER = FieldFormat(
    "2",
    "{O}3!n4!n6!n12!c4!n6!n6!n4!n[1!a]",
    (
        "Direction",
        "MessageType",
        "InputTime",
        "InputDate",
        "Sender",
        "InputSessionNumber",
        "InputSequenceNumber",
        "OutputDate",
        "OutputTime",
        "Priority",
    ),
)

BLOCK = re.compile(r"\{([A-Z0-9]):((?:\{[^{}]*\}|[^{}])*)\}")
"""A block other than the text."""
TAGGED = re.compile(r"\{([A-Z0-9]{3}):([^{}]*)\}")
"""A field of a user header or a trailer."""


def header_format(number: str, text: str) -> FieldFormat | None:
    """The format of a header block; None if the block is made of tagged fields in braces."""
    if number == "1":
        return BASIC_HEADER
    if number == "2":
        return OUTPUT_HEADER if text[:1] == "O" else INPUT_HEADER
    return None


TRAILER = "Trailer"


class MessageFormat:
    """Reads and writes messages of one type (such as 543), or of any."""

    def __init__(self, message_type: str, model: SequenceModel, codec: str) -> None:
        self.type = message_type
        self.title = f"SWIFT MT{message_type}" if message_type else "SWIFT"
        self.model = model
        self.codec = codec

    def read(self, part: Part, data: bytes) -> Iterator[None]:
        """Each step brings one block."""
        text = self._decoded(data)
        children: list[Element] = []
        part.loaded = children
        at = 0
        while text.startswith("{", at):
            if text.startswith("4:", at + 1) and not text.startswith("{", at + 3):
                block, at = self._text_block(text, at, part)
            else:
                block, at = self._plain_block(text, at, part)
            children.append(block)
            yield
        if not children:
            raise FormatProblem(
                self.title, "a block such as {1:", repr(text[:20]) if text else "nothing", line=1, column=1
            )
        if at < len(text):
            children.append(new_value(TRAILER, text[at:], part))
        part.pending = None

    def _decoded(self, data: bytes) -> str:
        try:
            return data.decode(self.codec)
        except UnicodeDecodeError as error:
            found = f"byte {data[error.start]:#04x}"
            raise FormatProblem(self.title, f"text in {self.codec}", found, offset=error.start) from None

    def _text_block(self, text: str, at: int, part: Part) -> tuple[Element, int]:
        """Block 4: from its first line end to the line that has nothing but its end."""
        line_end = "\r\n" if text.startswith("\r\n", at + 3) else "\n"
        end = text.find(f"{line_end}-}}", at)
        line = text.count("\n", 0, at) + 1
        if not text.startswith(line_end, at + 3):
            raise FormatProblem(self.title, "a line end behind {4:", repr(text[at + 3 : at + 23]), line=line)
        if end < 0:
            last = text.count("\n") + 1
            raise FormatProblem(self.title, "a line with -} at the end of block 4", "the end of data", line=last)
        start = at + 3 + len(line_end)
        if start < end and text[start] != ":":
            found = repr(text[start : start + 20])
            raise FormatProblem(self.title, "a field such as :20C:", found, path="Block4", line=line + 1)
        reader = TextReader(self.title, line_end + ":", line + 1)
        return reader.block(text[start + 1 : end], self.model, part), end + len(line_end) + 2

    def _plain_block(self, text: str, at: int, part: Part) -> tuple[Element, int]:
        found = BLOCK.match(text, at)
        if found is None:
            line = text.count("\n", 0, at) + 1
            raise FormatProblem(self.title, "a block such as {1:...}", repr(text[at : at + 20]), line=line)
        number, content = found.groups()
        if number == "2" and self.type and content[1:4] != self.type:
            raise FormatProblem(self.title, f"message type {self.type}", repr(content[1:4]), path="Block2", line=1)
        return Field(f"Block{number}", content, None, part, _BlockReader(self.title)), found.end()

    def write(self, part: Part) -> bytes:
        """The blocks in the tree's order."""
        texts: list[str] = []
        for block in part.children:
            number = block.name.removeprefix("Block")
            if block.name == TRAILER:
                texts.append(str(block.value))
            elif len(number) != 1:
                raise FormatProblem(
                    self.title, "Block1 to Block5, BlockS or Trailer", block.name, path=block.name, number=CANNOT_WRITE
                )
            elif type(block) is Field and block.text is not None:
                texts.append(f"{{{number}:{block.text}}}")
            elif number == TEXT_BLOCK and not _is_tagged(block):
                texts.append(f"{{4:{self._text(block)}-}}")
            else:
                texts.append(f"{{{number}:{self._block_text(number, block)}}}")
        return "".join(texts).encode(self.codec)

    def _text(self, block: Element) -> str:
        line_end = block.line_end if isinstance(block, Sequence) else "\r\n"
        return TextWriter(self.title, line_end).block(block, self.model)

    def _block_text(self, number: str, block: Element) -> str:
        if block.value is not None:
            return str(block.value)
        values = {child.name: child.value for child in block.children}
        form = header_format(number, str(values.get("Direction")))
        if form is None:
            return "".join(f"{{{_tag(child.name)}:{plain(child.value)}}}" for child in block.children)
        text = form.write(values, "")
        if form.fits(text) is None:
            expected = f"{form.notation} of {', '.join(form.names)}"
            raise FormatProblem(self.title, expected, repr(text), path=block.path(), number=CANNOT_WRITE)
        return text


class _BlockReader:
    """Takes a block other than the text apart."""

    def __init__(self, title: str) -> None:
        self.title = title

    def take_apart(self, element: Field) -> None:
        """Make the components of a header, or the fields in braces."""
        text = element.text or ""
        form = header_format(element.name[-1], text)
        children = (
            form.read(element, text)
            if form is not None
            else [new_value(_name(tag), value, element) for tag, value in TAGGED.findall(text)]
            if TAGGED.sub("", text) == ""
            else None
        )
        if children is None:
            expected = form.notation if form is not None else "fields such as {108:...}"
            raise FormatProblem(self.title, expected, repr(text), path=element.path(), line=1)
        element.loaded = children
        element.pending = None


def _is_tagged(block: Element) -> bool:
    """Whether block 4 has fields in braces, as acknowledgements of the network do."""
    return type(block) is Field


def _name(tag: str) -> str:
    return f"F{tag}" if tag.isdigit() else tag


def _tag(name: str) -> str:
    return name[1:] if name[0] == "F" and name[1:].isdigit() else name
