"""Between envelopes and trees, with the formats of a flow."""

from heliograph.errors import Problem
from heliograph.flow.envelope import Envelope
from heliograph.flow.formats.catalogue import Catalogue
from heliograph.flow.tree import Element, Part, Text

_NO_TEXT = Text()


class TreeReading:
    """Reads bodies in the domain that an input node or a ResetContentDescriptor says."""

    __slots__ = ("_overrides", "catalogue", "domain", "text")

    def __init__(
        self,
        catalogue: Catalogue,
        domain: str = "",
        text: Text = _NO_TEXT,
        *,
        overrides: bool = False,
    ) -> None:
        self.catalogue = catalogue
        self.domain = domain
        self.text = text
        self._overrides = overrides
        """Whether this comes before what headers say."""

    def over_headers(self) -> "TreeReading":
        """The same, whatever headers say."""
        return TreeReading(self.catalogue, self.domain, self.text, overrides=True)

    def parse(self, envelope: Envelope) -> Element:
        """The tree of this envelope."""
        root = Element("Root")
        root.append(self.catalogue.part_of(self.domain or "BLOB", envelope.body, self.text))
        return root

    def write(self, root: Element) -> Envelope:
        """The envelope of this tree."""
        if not root.children:
            raise Problem("The message is empty: it has no body.")
        body = root.children[-1]
        assert isinstance(body, Part)
        return Envelope(body.bytes())
