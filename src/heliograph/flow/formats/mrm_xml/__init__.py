"""MRM XML: XML documents whose element names, types and order are in a model.

The members of a message are children of the part itself: the root element of the document has no element in the tree.
Unlike CWF and TDS, this format generates no Python source: a reader and a writer work with tables that are built from
the model once."""

from collections.abc import Mapping

from heliograph.flow.formats.model import Message, PhysicalFormat, Property, Source
from heliograph.flow.formats.mrm_xml.mrm_xml_reading import Reader
from heliograph.flow.formats.mrm_xml.mrm_xml_shapes import PROPERTIES, document
from heliograph.flow.formats.mrm_xml.mrm_xml_writing import Writer
from heliograph.flow.tree import Text

__all__ = ["KIND"]


class MrmXml:
    """The MRM XML kind of format."""

    properties: Mapping[str, Property] = PROPERTIES

    def generate(self, message: Message, form: PhysicalFormat, text: Text) -> Source:
        """See Kind."""
        shape = document(message, form)
        source = Source(f"{message.name} as {form.name}")
        source.use(reader=Reader(shape), writer=Writer(shape))
        source.add("read, write = reader.read, writer.write")
        return source


KIND = MrmXml()
