"""Between envelopes and trees, with the formats of a flow."""

from heliograph.errors import Problem
from heliograph.flow.formats.catalogue import Catalogue
from heliograph.flow.formats.envelope import Envelope
from heliograph.flow.formats.messages import MessageSettings, parse_message, write_message
from heliograph.flow.tree import Element, Part, Text


class TreeReading:
    """Reads messages as an input node says, for messages that do not say it themselves."""

    __slots__ = ("_settings", "catalogue")

    def __init__(self, catalogue: Catalogue, settings: MessageSettings) -> None:
        self.catalogue = catalogue
        self._settings = settings

    @property
    def domain(self) -> str:
        """The domain of bodies."""
        return self._settings.domain

    def parse(self, envelope: Envelope) -> Element:
        """The tree of this envelope."""
        return parse_message(envelope, self.catalogue, self._settings)

    def write(self, root: Element) -> Envelope:
        """The envelope of this tree."""
        if not root.children:
            raise Problem("The message is empty: a Compute node has to build one before it sends it on.")
        return write_message(root, self.catalogue)


class BodyReading(TreeReading):
    """Reads bodies as a ResetContentDescriptor says, whatever headers say."""

    __slots__ = ()

    def parse(self, envelope: Envelope) -> Element:
        """The tree of this envelope."""
        root = super().parse(envelope)
        body, settings = root.children[-1], self._settings
        assert isinstance(body, Part)
        text = Text(
            body.text.ccsid, body.text.encoding, settings.message_set, settings.message_type, settings.message_format
        )
        data = body.bytes()
        body.detach()
        root.append(self.catalogue.part_of(settings.domain or "BLOB", data, text))
        return root
