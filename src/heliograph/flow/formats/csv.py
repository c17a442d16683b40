"""CSV (RFC 4180): a thin way to write TDS. A message is one repeating group of fields: its records, one in a line.

    formats:
      CSV1: {kind: CSV, header: true, separator: ";"}
    messages:
      Prices:
        sequence:
          - name: Record
            occurs: 0..*
            sequence: [{name: Article, type: string}, {name: Price, type: decimal}]

Values with separators, quotes or line ends in them are quoted. Records are read one by one, as somebody looks for them.
"""

from collections.abc import Mapping
from dataclasses import replace

from heliograph.flow.formats.model import Field, Group, Message, ModelProblem, PhysicalFormat, Property, Source
from heliograph.flow.formats.tds import KIND as TDS
from heliograph.flow.formats.tds.mnemonics import characters
from heliograph.flow.formats.tds.properties import OF_FIELDS
from heliograph.flow.tree import Text

OWN: Mapping[str, Property] = {
    "encoding": Property(),
    "header": Property(bool),  # the first line has the names of the fields
    "separator": Property(),
    "recordSeparator": Property(),
    "quoteCharacter": Property(),
}
DEFAULTS = {"header": False, "separator": ",", "recordSeparator": "<CR><LF>", "quoteCharacter": '"'}


class Csv:
    """The kind of format."""

    properties: Mapping[str, Property] = {**OF_FIELDS, **OWN}

    def generate(self, message: Message, form: PhysicalFormat, text: Text) -> Source:
        """See Kind."""
        given = DEFAULTS | dict(form.properties)
        record = _record(message)
        separator, line_end = str(given["separator"]), str(given["recordSeparator"])
        header = ""
        if given["header"]:
            header = characters(separator).join(field.name for field in record.fields()) + characters(line_end)
        own = {name: value for name, value in given.items() if name in OF_FIELDS or name == "encoding"}
        tds = replace(
            form, properties={**own, "quoteCharacter": given["quoteCharacter"], "reservedCharacters": "<CR><LF>"}
        )
        lines = {"separator": line_end, "separatorPosition": "postfix", "initiator": header.replace("<", "<LT>")}
        record = replace(record, physical={form.name: {"separator": separator}})
        content = replace(message.content, members=(record,), physical={form.name: lines})
        return TDS.generate(replace(message, content=content), tds, text)


def _record(message: Message) -> Group:
    members = message.content.members
    if len(members) == 1 and isinstance(members[0], Group) and members[0].occurs.repeats and members[0].name:
        record = members[0]
        if all(isinstance(one, Field) and not one.occurs.repeats for one in record.members):
            return record
    raise ModelProblem(message.content.place, f"{message.name}: expected one repeating group of single fields for CSV")


KIND = Csv()
