"""CSV (RFC 4180): a thin way to write TDS. A message is one repeating group of fields: its records, one in a line.

    formats:
      CSV1: {kind: CSV, header: true, separator: ";"}
    messages:
      Prices:
        sequence:
          - name: Record
            occurs: 0..*
            sequence: [{name: Article, type: string}, {name: Price, type: decimal}]

Every line is written with all its columns, empty ones at the end too: readers of CSV count them. Values with
separators, quotes or line ends in them are quoted. A format that does not say what ends a line writes CRLF, and reads
what the first line of a message ends with: CRLF or LF.

Records are read one by one, on demand.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from heliograph.flow.errors import ModelProblem
from heliograph.flow.formats.model import Field, Group, Message, PhysicalFormat, Property, Source
from heliograph.flow.formats.model.source import compiled
from heliograph.flow.formats.tds import KIND as TDS
from heliograph.flow.formats.tds.tds_plan import OF_FIELDS, characters
from heliograph.flow.tree import Text

OWN: Mapping[str, Property] = {
    "encoding": Property(),
    "header": Property(bool),  # the first line has the names of the fields
    "separator": Property(),
    "recordSeparator": Property(),
    "quoteCharacter": Property(),
}
WINDOWS, UNIX = "<CR><LF>", "<LF>"
DEFAULTS = {"header": False, "separator": ",", "quoteCharacter": '"'}


class Csv:
    """The kind of format."""

    properties: Mapping[str, Property] = {**OF_FIELDS, **OWN}

    def generate(self, message: Message, form: PhysicalFormat, text: Text) -> Source:
        """See Kind."""
        source = _lines(message, form, text, str(form.properties.get("recordSeparator", WINDOWS)))
        if "recordSeparator" not in form.properties:
            decode = source.names["decode"]
            unix = _lines(message, form, text, UNIX)
            unix.title += " with line ends of Unix"
            quote = str(form.properties.get("quoteCharacter", DEFAULTS["quoteCharacter"]))
            source.use(has_unix_lines=partial(_has_unix_lines, decode, quote), read_unix_lines=compiled(unix).read)
            source.add("read_lines = read")
            with source.block("def read(part, data):"):
                source.add("return read_unix_lines(part, data) if has_unix_lines(data) else read_lines(part, data)")
        return source


def _lines(message: Message, form: PhysicalFormat, text: Text, line_end: str) -> Source:
    """The source for lines with this end."""
    given = DEFAULTS | dict(form.properties)
    record = _record(message)
    separator = str(given["separator"])
    header = ""
    if given["header"]:
        header = characters(separator).join(field.name for field in record.fields()) + characters(line_end)
    own = {name: value for name, value in given.items() if name in OF_FIELDS or name == "encoding"}
    tds = replace(form, properties={**own, "quoteCharacter": given["quoteCharacter"], "reservedCharacters": "<CR><LF>"})
    lines = {"separator": line_end, "separatorPosition": "postfix", "initiator": header.replace("<", "<LT>")}
    record = replace(record, physical={form.name: {"separator": separator, "separatorSuppressionPolicy": "never"}})
    content = replace(message.content, members=(record,), physical={form.name: lines})
    source = TDS.generate(replace(message, content=content), tds, text)
    if header:
        source.use(decode=partial(_decoded, source.names["decode"], header, characters(line_end)))
    return source


def _has_unix_lines(decode: Callable[[bytes], str], quote: str, data: bytes) -> bool:
    """Whether the first line ends with LF alone. One in quotes ends no line, if there is another one behind."""
    try:
        text = decode(data)
    except UnicodeError:
        return False  # the reader says what is wrong
    first = at = text.find("\n")
    quotes, counted = 0, 0
    while quote and at >= 0:
        quotes += text.count(quote, counted, at)
        if quotes % 2 == 0:
            break
        counted, at = at, text.find("\n", at + 1)
    end = at if at >= 0 else first
    return end >= 0 and text[end - 1 : end] != "\r"


def _decoded(decode: Callable[[bytes], str], header: str, line_end: str, data: bytes) -> str:
    """The text; a header that is all of it need not have a line end, as the last line need not."""
    text = decode(data)
    return header if text + line_end == header else text


def _record(message: Message) -> Group:
    members = message.content.members
    if len(members) == 1 and isinstance(members[0], Group) and members[0].occurs.repeats and members[0].name:
        record = members[0]
        if all(isinstance(one, Field) and not one.occurs.repeats for one in record.members):
            return record
    raise ModelProblem(message.content.place, f"{message.name}: expected one repeating group of single fields for CSV")


KIND = Csv()
