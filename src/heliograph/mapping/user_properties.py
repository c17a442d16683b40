"""AMQP fields without an equivalent in MQTT: they become user properties with the names that selectors use."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from heliograph.amqp import Symbol, Timestamp, UByte, UInt
from heliograph.amqp.messages import sections
from heliograph.mapping.identifiers import identifier_from_text, identifier_to_text

AMQP_FIELD_PREFIX: Final = "amqp."
"""What the names of all of them begin with."""


def field_name(position: int) -> str:
    """The name for a field of the properties."""
    return AMQP_FIELD_PREFIX + sections.PROPERTY_NAMES[position]


MESSAGE_ID_PROPERTY: Final = field_name(sections.MESSAGE_ID)
CONTENT_TYPE_PROPERTY: Final = field_name(sections.CONTENT_TYPE)
"""The content type of a message whose body is not plain bytes or text; MQTT's own says what the payload is."""
REPLY_TO_PROPERTY: Final = field_name(sections.REPLY_TO)
"""Where answers go, if that is no topic."""
USER_ID_PROPERTY: Final = field_name(sections.USER_ID)
"""Who sent it. One way only: a publisher could claim to be anybody."""
PRIORITY_PROPERTY: Final = AMQP_FIELD_PREFIX + "priority"


class Sections(NamedTuple):
    """The parts of the sections before the body that conversion needs."""

    priority: int
    fields: list[Any]
    """Of the properties section, in the order of the standard."""
    application: dict[str, Any]
    annotations: dict[str, Any]


def _number(kind: type[int], least: int, most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        number = int(text) if len(text) <= 20 else most + 1
        if not least <= number <= most or str(number) != text:
            raise ValueError(text)
        return kind(number)

    return read


def _symbol(text: str) -> Symbol:
    text.encode("ascii")
    return Symbol(text)


_READERS: Final[dict[int, Callable[[str], Any]]] = {
    sections.MESSAGE_ID: identifier_from_text,
    sections.SUBJECT: str,
    sections.CONTENT_ENCODING: _symbol,
    sections.CREATION_TIME: _number(Timestamp, -(2**63), 2**63 - 1),
    sections.GROUP_ID: str,
    sections.GROUP_SEQUENCE: _number(UInt, 0, 2**32 - 1),
    sections.REPLY_TO_GROUP_ID: str,
}
FIELD_READERS: Final = {field_name(position): (position, read) for position, read in _READERS.items()}
"""Where each stands in the properties, and what reads its text; ValueError: it is not written as it would be here."""
read_priority: Final = _number(UByte, 0, 255)
"""The same for the priority, which is in the header."""
RESERVED: Final = frozenset(
    {*FIELD_READERS, CONTENT_TYPE_PROPERTY, REPLY_TO_PROPERTY, USER_ID_PROPERTY, PRIORITY_PROPERTY}
)


def fields_as_users(message: Sections) -> list[tuple[str, str]]:
    """Return the fields of a message that become user properties, with their names."""
    fields = message.fields
    found: list[tuple[str, str]] = []
    for name, (position, _) in FIELD_READERS.items():
        value = fields[position]
        if value is not None:
            found.append((name, identifier_to_text(value) if position == sections.MESSAGE_ID else str(value)))
    if message.priority != sections.DEFAULT_PRIORITY:
        found.append((PRIORITY_PROPERTY, str(message.priority)))
    if fields[sections.USER_ID] is not None:
        found.append((USER_ID_PROPERTY, fields[sections.USER_ID].decode(errors="replace")))
    return found


def fields_from_users(users: list[tuple[str, str]], fields: list[Any]) -> tuple[int, dict[str, str]]:
    """Put user properties back into fields; return the priority and the application properties.

    A property that is not in the form written here belongs to the application. Of several with one name, the first
    counts.
    """
    priority = sections.DEFAULT_PRIORITY
    application: dict[str, str] = {}
    for name, text in users:
        try:
            if name in FIELD_READERS:
                position, read = FIELD_READERS[name]
                fields[position] = read(text)
                continue
            if name == PRIORITY_PROPERTY:
                priority = read_priority(text)
                continue
        except ValueError:
            pass
        application.setdefault(name, text)
    return priority, application
