"""Fields of AMQP messages that MQTT has no place for travel as user properties, under the names that selectors use."""

from collections.abc import Callable
from typing import Any, NamedTuple

from heliograph.amqp.values import Symbol, Timestamp, UByte, UInt
from heliograph.mapping.identifiers import identifier_of, text_of

# Places of the fields in the properties section.
MESSAGE_ID, USER_ID, TO, SUBJECT, REPLY_TO, CORRELATION_ID, CONTENT_TYPE, CONTENT_ENCODING = range(8)
EXPIRY, CREATED, GROUP_ID, GROUP_SEQUENCE, REPLY_TO_GROUP_ID = range(8, 13)
_DEFAULT_PRIORITY = 4

CONTENT_TYPE_NAME = "amqp.content_type"
"""The content type of a message whose body is not plain bytes or text; MQTT's own says what the payload is."""
REPLY_TO_NAME = "amqp.reply_to"
"""Where answers go, if that is no topic."""
_USER_NAME = "amqp.user_id"
"""Who sent it. One way only: a publisher could claim to be anybody."""
_PRIORITY_NAME = "amqp.priority"


class Sections(NamedTuple):
    """What conversion needs of the sections before the body."""

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


_READERS: dict[str, tuple[int, Callable[[str], Any]]] = {
    "amqp.message_id": (MESSAGE_ID, identifier_of),
    "amqp.subject": (SUBJECT, str),
    "amqp.content_encoding": (CONTENT_ENCODING, _symbol),
    "amqp.creation_time": (CREATED, _number(Timestamp, -(2**63), 2**63 - 1)),
    "amqp.group_id": (GROUP_ID, str),
    "amqp.group_sequence": (GROUP_SEQUENCE, _number(UInt, 0, 2**32 - 1)),
    "amqp.reply_to_group_id": (REPLY_TO_GROUP_ID, str),
}
_read_priority = _number(UByte, 0, 255)
RESERVED = frozenset({*_READERS, CONTENT_TYPE_NAME, REPLY_TO_NAME, _USER_NAME, _PRIORITY_NAME})


def carried(sections: Sections) -> list[tuple[str, str]]:
    """The fields of a message that become user properties, with their names."""
    fields = sections.fields
    found: list[tuple[str, str]] = []
    for name, (place, _) in _READERS.items():
        value = fields[place]
        if value is not None:
            found.append((name, text_of(value) if place == MESSAGE_ID else str(value)))
    if sections.priority != _DEFAULT_PRIORITY:
        found.append((_PRIORITY_NAME, str(sections.priority)))
    if fields[USER_ID] is not None:
        found.append((_USER_NAME, fields[USER_ID].decode(errors="replace")))
    return found


def put_back(users: list[tuple[str, str]], fields: list[Any]) -> tuple[int, dict[str, str]]:
    """Put user properties where they came from; the priority, and those that are properties of the application.

    One that is not written as it would be here is the application's. Of several with one name, the first counts.
    """
    priority = _DEFAULT_PRIORITY
    application: dict[str, str] = {}
    for name, text in users:
        try:
            if name in _READERS:
                place, read = _READERS[name]
                fields[place] = read(text)
                continue
            if name == _PRIORITY_NAME:
                priority = _read_priority(text)
                continue
        except ValueError:
            pass
        application.setdefault(name, text)
    return priority, application
