"""SWIFT MT messages: blocks, fields and sequences, as the physical format of kind SWIFT.

The tree is `MRM.Block4.GENL.F20C[1].Qualifier`. A sequence or field that has not changed keeps its text.
"""

from collections.abc import Mapping

from heliograph.flow.formats.model.logical import Field, Group, Message, Occurs, Order, PhysicalFormat
from heliograph.flow.formats.model.model_kinds import Property
from heliograph.flow.formats.model.source import Source
from heliograph.flow.formats.swift.swift_fields import Content, FieldFormat
from heliograph.flow.formats.swift.swift_importing import ANY, import_messages
from heliograph.flow.formats.swift.swift_message import MessageFormat
from heliograph.flow.formats.swift.text_block import UNKNOWN, SequenceModel
from heliograph.flow.language.values.ccsid import codec
from heliograph.flow.tree import Text

__all__ = ["KIND", "import_messages"]

SIGNS = {(1, 1): "", (0, 1): "?", (1, None): "+", (0, None): "*"}


class Swift:
    """The kind of format. Its fields are read and written by code made from SWIFT's notation."""

    properties: Mapping[str, Property] = {"fieldFormat": Property(str)}

    def generate(self, message: Message, form: PhysicalFormat, text: Text) -> Source:
        """See Kind: the functions are those of a MessageFormat that knows the sequences."""
        source = Source(f"{message.name} as {form.name}")
        generic = message.name == ANY
        model = UNKNOWN if generic else _sequence(message.content, form.name)
        source.use(
            message=MessageFormat(
                "" if generic else message.name.removeprefix("MT"), model, codec(text.ccsid, text.encoding)
            )
        )
        source.add("read, write = message.read, message.write")
        return source


def _sequence(group: Group, form: str) -> SequenceModel:
    items: list[str] = []
    fields: dict[str, FieldFormat] = {}
    inner: dict[str, SequenceModel] = {}
    for member in group.members:
        sign = _sign(member.occurs)
        if isinstance(member, Group) and member.order is Order.CHOICE:
            for one in member.members:
                fields[one.name[1:]] = _field(one, form)
            items.append(f"{member.members[0].name[1:3]}a{sign}")
        elif "fieldFormat" in member.physical.get(form, {}):
            fields[member.name[1:]] = _field(member, form)
            items.append(member.name[1:] + sign)
        elif isinstance(member, Group):
            inner[member.name] = _sequence(member, form)
            items.append(member.name + sign)
    return SequenceModel(Content(items), fields, inner)


def _sign(occurs: Occurs) -> str:
    return SIGNS[min(occurs.least, 1), 1 if occurs.most == 1 else None]


def _field(member: Field | Group, form: str) -> FieldFormat:
    names = [one.name for one in member.members] if isinstance(member, Group) else []
    return FieldFormat(member.name[1:], member.physical[form]["fieldFormat"], names)


KIND = Swift()
