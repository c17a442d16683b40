"""Properties and UserProperties: what is known of a message whatever its headers are, and what the application added.

Both are read from the envelope, on demand.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from heliograph.flow.errors import CANNOT_WRITE, FormatProblem
from heliograph.flow.formats.envelope import Envelope
from heliograph.flow.language.values.times import GmtTimestamp
from heliograph.flow.tree import Element, Part, Value, building
from heliograph.flow.tree.element_types import NAME_VALUE


def fill(part: Element, fields: Iterable[tuple[str, Value]]) -> None:
    """Give a part (or a folder) these fields as its only children, as a reader does, and close it."""
    building.complete(part, [Element(name, value, NAME_VALUE) for name, value in fields])


def value_of(parent: Element | None, name: str) -> Value:
    """The value of a child; NULL if there is none."""
    child = parent.first(name) if parent is not None else None
    return child.value if child is not None else None


def put(parent: Element, name: str, value: Value) -> None:
    """Set the value of a child, if it has another."""
    child = parent.ensure(name)
    if child.value != value:
        child.set_value(value)


REPLY_PROTOCOL = "MQ"


class MessageProperties:
    """The format of domain Properties."""

    domain = "Properties"

    def __init__(self, transactional: bool = False) -> None:
        self.transactional = transactional

    def read(self, part: Part, data: Any) -> Iterator[None]:
        """The fields, from an envelope and from what the body was read with."""
        envelope: Envelope = data
        text, created = part.text, envelope.moment()
        fill(
            part,
            (
                ("MessageSet", text.message_set),
                ("MessageType", text.message_type),
                ("MessageFormat", text.message_format),
                ("Encoding", text.encoding),
                ("CodedCharSetId", text.ccsid),
                ("Transactional", self.transactional),
                ("Persistence", envelope.persistent),
                ("CreationTime", None if created is None else GmtTimestamp(created)),
                ("ExpirationTime", envelope.expiry),
                ("Priority", envelope.priority),
                ("ReplyIdentifier", envelope.correlation_id),
                ("ReplyProtocol", REPLY_PROTOCOL),
                ("Topic", envelope.topic or None),
                ("ContentType", envelope.content_type),
            ),
        )
        yield

    def write(self, part: Part) -> bytes:
        """Properties have no bytes."""
        return b""


def properties_to_envelope(part: Part, envelope: Envelope) -> None:
    """Give an envelope what changed Properties say."""
    for name, attribute, kind in ATTRIBUTES:
        value = value_of(part, name)
        if value is None:
            continue
        if not isinstance(value, kind):
            raise FormatProblem("Properties", kind.__name__, repr(value), path=name, number=CANNOT_WRITE)
        setattr(envelope, attribute, value)
    topic = value_of(part, "Topic")
    envelope.topic = str(topic) if topic is not None else ""


ATTRIBUTES: tuple[tuple[str, str, type], ...] = (
    ("Persistence", "persistent", bool),
    ("ExpirationTime", "expiry", int),
    ("Priority", "priority", int),
    ("ReplyIdentifier", "correlation_id", bytes),
    ("ContentType", "content_type", str),
)


class UserProperties:
    """The format of domain UserProperties: the application's own properties by name."""

    domain = "UserProperties"

    def read(self, part: Part, data: Any) -> Iterator[None]:
        """One element for each property."""
        fill(part, data.items())
        yield

    def write(self, part: Part) -> bytes:
        """They travel beside the body, not in it."""
        return b""


PROPERTIES, USER_PROPERTIES = MessageProperties(), UserProperties()


def user_properties(part: Part) -> Mapping[str, Any]:
    """The properties in a part."""
    came: Any = part.data
    if isinstance(came, Mapping):
        return came
    return {child.name: child.value for child in part.children if child.value is not None}
