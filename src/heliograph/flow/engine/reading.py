"""Between envelopes and trees, with the formats of a flow."""

from heliograph.flow.envelope import Envelope
from heliograph.flow.formats.catalogue import Catalogue
from heliograph.flow.tree import Element, Part, Text


class TreeReading:
    """Reads bodies in the domain that an input node or a ResetContentDescriptor says."""

    __slots__ = ("catalogue", "domain", "text")

    def __init__(self, catalogue: Catalogue, domain: str = "", text: Text = Text()) -> None:  # noqa: B008
        self.catalogue = catalogue
        self.domain = domain
        self.text = text

    def parse(self, envelope: Envelope) -> Element:
        """The tree of this envelope."""
        root = Element("Root")
        root.append(self.catalogue.part_of(self.domain or "BLOB", envelope.body, self.text))
        return root

    def write(self, root: Element) -> Envelope:
        """The envelope of this tree."""
        body = root.children[-1]
        assert isinstance(body, Part)
        return Envelope(body.bytes())
