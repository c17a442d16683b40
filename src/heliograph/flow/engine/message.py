"""Messages inside a flow: an envelope that is parsed on demand, or a tree that is written on demand.

Messages are shared between the branches of a flow. Nobody changes one in place: a node that may change its input works
on a `copy`, which costs nothing for parts that still have their bytes.
"""

from typing import Protocol

from heliograph.flow.errors import MessageError
from heliograph.flow.formats.catalogue import Catalogue
from heliograph.flow.formats.envelope import Envelope
from heliograph.flow.formats.messages import MessageSettings, parse_message, write_message
from heliograph.flow.tree import Element, Part, Text


class Reading(Protocol):
    """How envelopes become trees and trees become envelopes (`engine.reading`)."""

    def parse(self, envelope: Envelope) -> Element:
        """The tree of this envelope; its parts are parsed on demand."""

    def write(self, root: Element) -> Envelope:
        """The envelope of this tree."""


class Message:
    """One message. Give it either an envelope or a tree."""

    __slots__ = ("_envelope", "_root", "reading")

    def __init__(self, reading: Reading, envelope: Envelope | None = None, root: Element | None = None) -> None:
        self.reading = reading
        self._envelope = envelope
        self._root = root

    @property
    def root(self) -> Element:
        """The tree. Not to be changed: see `copy`."""
        root = self._root
        if root is None:
            assert self._envelope is not None
            root = self._root = self.reading.parse(self._envelope)
        return root

    @property
    def envelope(self) -> Envelope:
        """The envelope; the one that came in, if this is the message that came in. Not to be changed."""
        envelope = self._envelope
        if envelope is None:
            assert self._root is not None
            envelope = self._envelope = self.reading.write(self._root)
        return envelope

    def says_persistence(self) -> bool:
        """Whether it has a header that can say so; one that a Compute node built may have none."""
        root = self._root
        return root is None or root.first("MQMD") is not None or root.first("Properties") is not None

    def copy(self) -> "Message":
        """A message whose tree may be changed."""
        return Message(self.reading, None, copy_root(self.root))

    def read_as(self, reading: Reading) -> "Message":
        """The same bytes, understood in another way."""
        return Message(reading, self.envelope)


def copy_root(root: Element) -> Element:
    """A copy of a message's tree; parts stay parts, and those that still have their bytes are not read."""
    copy = Element(root.name)
    for part in root.children:
        copy.append(part.copy())
    return copy


# Between envelopes and trees, with the formats of a flow.


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
            raise MessageError("The message is empty: a Compute node has to build one before it sends it on.")
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
