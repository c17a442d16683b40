"""XML: documents of any kind, in the three shapes of tree that the domains XML, XMLNS and XMLNSC have.

All values are text. An element whose only content is text (beside attributes) has it as its value; among other children
text is a child of its own. Names with a prefix are plain names in XML; in the other two the namespace is resolved.
XMLNSC leaves out blanks between elements. Comments, processing instructions and CDATA sections are kept.
"""

from collections.abc import Iterator

from heliograph.flow.formats.xml import dialect
from heliograph.flow.formats.xml.dialect import Dialect
from heliograph.flow.formats.xml.expat_reader import decode, encode
from heliograph.flow.formats.xml.reader import packed_document, read_document
from heliograph.flow.formats.xml.writer import write_document
from heliograph.flow.tree import Part, Text
from heliograph.flow.tree.packed import Packed


class XmlFormat:
    """The format of one of the domains."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self.domain = dialect.domain
        """XML, XMLNS or XMLNSC."""
        self._last: tuple[bytes, Text, Packed] | None = None
        """The document that was read last, if it was one of a known shape."""

    def read(self, part: Part, data: bytes) -> Iterator[None] | None:
        """A parser of a document."""
        last = self._last
        if last is not None and last[0] is data and last[1] is part.text:
            part.pending = last[2]  # as when a message and its copy are both looked into
            return None
        text = decode(data, part.text, self.domain)
        packed = packed_document(part, self._dialect, text)
        if packed is None:
            return read_document(part, self._dialect, text)
        part.pending = packed
        self._last = (data, part.text, packed)
        return None

    def write(self, part: Part) -> bytes:
        """The document."""
        document, declared = write_document(part, self._dialect)
        return encode(document, declared, part.text, self.domain)


XML = XmlFormat(dialect.XML)
XMLNS = XmlFormat(dialect.XMLNS)
XMLNSC = XmlFormat(dialect.XMLNSC)
