"""MRM XML: documents whose names, types and order a model knows. A message's members stand directly under the part."""

from collections.abc import Mapping

from heliograph.flow.formats.model import Message, PhysicalFormat, Property, Source
from heliograph.flow.formats.mrm_xml.mrm_xml_reading import Reader
from heliograph.flow.formats.mrm_xml.mrm_xml_shapes import PROPERTIES, document
from heliograph.flow.formats.mrm_xml.mrm_xml_writing import Writer
from heliograph.flow.tree import Text

__all__ = ["KIND"]


class MrmXml:
    """The kind of format. Readers and writers work from tables that are made here, once."""

    properties: Mapping[str, Property] = PROPERTIES

    def generate(self, message: Message, form: PhysicalFormat, text: Text) -> Source:
        """See Kind."""
        shape = document(message, form)
        source = Source(f"{message.name} as {form.name}")
        source.use(reader=Reader(shape), writer=Writer(shape))
        source.add("read, write = reader.read, writer.write")
        return source


KIND = MrmXml()
