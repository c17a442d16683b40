"""A message and its sections, whole: for whoever makes or reads messages. Brokers use `peek`."""

from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from heliograph.amqp.codec.composite import resolve
from heliograph.amqp.codec.decoding import decode
from heliograph.amqp.codec.encoding import encode
from heliograph.amqp.codec.performatives import Declare, Discharge
from heliograph.amqp.codec.values import Described, Symbol
from heliograph.amqp.errors import DecodeError
from heliograph.amqp.messages.sections import (
    APPLICATION_PROPERTIES,
    APPLICATION_PROPERTIES_START,
    DATA,
    DATA_START,
    DEFAULT_PRIORITY,
    DELIVERY_ANNOTATIONS,
    DELIVERY_ANNOTATIONS_START,
    FOOTER,
    FOOTER_START,
    HEADER,
    MESSAGE_ANNOTATIONS,
    MESSAGE_ANNOTATIONS_START,
    PROPERTIES,
    PROPERTY_NAMES,
    SECTION_NAMES,
    SEQUENCE,
    SEQUENCE_START,
    VALUE,
    VALUE_START,
    Header,
    Properties,
)


@dataclass(slots=True)
class Data:
    """A body of bytes."""

    content: bytes


@dataclass(slots=True)
class Sequence:
    """A body of a list of values."""

    items: list[Any]


@dataclass(slots=True)
class Value:
    """A body of one value."""

    value: Any


@dataclass(slots=True)
class Message:
    """All sections of a message. Fields that were not sent are None or have the standard's default."""

    body: Data | Sequence | Value = field(default_factory=lambda: Value(None))
    durable: bool = False
    priority: int = DEFAULT_PRIORITY
    ttl: int | None = None
    first_acquirer: bool = False
    delivery_count: int = 0
    delivery_annotations: dict[Any, Any] | None = None
    message_annotations: dict[Any, Any] | None = None
    message_id: Any = None
    user_id: bytes | None = None
    to: str | None = None
    subject: str | None = None
    reply_to: str | None = None
    correlation_id: Any = None
    content_type: str | None = None
    content_encoding: str | None = None
    absolute_expiry_time: int | None = None
    creation_time: int | None = None
    group_id: str | None = None
    group_sequence: int | None = None
    reply_to_group_id: str | None = None
    application_properties: dict[str, Any] | None = None
    footer: dict[Any, Any] | None = None


def encode_message(message: Message) -> bytes:
    """The bytes of a message; sections with nothing in them are left out."""
    m = message
    parts = []
    if m.durable or m.priority != DEFAULT_PRIORITY or m.ttl is not None or m.first_acquirer or m.delivery_count:
        parts.append(Header(m.durable, m.priority, m.ttl, m.first_acquirer, m.delivery_count).encoded())
    if m.delivery_annotations is not None:
        parts.append(DELIVERY_ANNOTATIONS_START + _annotations(m.delivery_annotations))
    if m.message_annotations is not None:
        parts.append(MESSAGE_ANNOTATIONS_START + _annotations(m.message_annotations))
    properties = _properties(m).encoded()
    if properties != _NO_PROPERTIES:
        parts.append(properties)
    if m.application_properties is not None:
        parts.append(APPLICATION_PROPERTIES_START + encode(m.application_properties))
    parts.append(_body(m.body))
    if m.footer is not None:
        parts.append(FOOTER_START + _annotations(m.footer))
    return b"".join(parts)


_NO_PROPERTIES = Properties().encoded()


def _annotations(annotations: dict[Any, Any]) -> bytes:
    """Keys of annotations are symbols; plain strings may be given for them."""
    return encode({Symbol(key) if type(key) is str else key: value for key, value in annotations.items()})


_fields_of = attrgetter(*PROPERTY_NAMES)


def _properties(m: Message) -> Properties:
    return Properties(*_fields_of(m))


def _body(body: Data | Sequence | Value) -> bytes:
    if isinstance(body, Data):
        return DATA_START + encode(body.content)
    if isinstance(body, Sequence):
        return SEQUENCE_START + encode(body.items)
    return VALUE_START + encode(body.value)


def decode_message(payload: bytes) -> Message:
    """The message in these bytes. `DecodeError` (or another `ProtocolError`) when they are none."""
    message = Message()
    last = 0
    at = 0
    while at < len(payload):
        section, at = decode(payload, at)
        code = _section_code(section)
        if code < last or (code == last and code not in (DATA, SEQUENCE)) or (last >= DATA and last < code < FOOTER):
            raise DecodeError(f"section 0x{code:02x} of a message cannot follow section 0x{last:02x}")
        _take_section(message, code, section.value, again=code == last)
        last = code
    return message


def _section_code(section: Any) -> int:
    if type(section) is Described:
        descriptor = section.descriptor
        if type(descriptor) is Symbol:
            descriptor = SECTION_NAMES.get(descriptor)
        if isinstance(descriptor, int) and HEADER <= descriptor <= FOOTER:
            return int(descriptor)
    raise DecodeError(f"expected a section of a message, got {section!r:.60}")


_KINDS: dict[int, type | None] = {
    HEADER: list,
    DELIVERY_ANNOTATIONS: dict,
    MESSAGE_ANNOTATIONS: dict,
    PROPERTIES: list,
    APPLICATION_PROPERTIES: dict,
    DATA: bytes,
    SEQUENCE: list,
    VALUE: None,
    FOOTER: dict,
}
_MAPS = {
    DELIVERY_ANNOTATIONS: "delivery_annotations",
    MESSAGE_ANNOTATIONS: "message_annotations",
    APPLICATION_PROPERTIES: "application_properties",
    FOOTER: "footer",
}


def _take_section(message: Message, code: int, value: Any, *, again: bool) -> None:
    kind = _KINDS[code]
    if kind is not None and type(value) is not kind:
        raise DecodeError(f"section 0x{code:02x} of a message is a {kind.__name__}, not {type(value).__name__}")
    if code in _MAPS:
        setattr(message, _MAPS[code], value)
    elif code == HEADER:
        _take_fields(message, Header, value)
    elif code == PROPERTIES:
        _take_fields(message, Properties, value)
    elif code == VALUE:
        message.body = Value(value)
    elif code == DATA:
        message.body = Data(message.body.content + value if again and isinstance(message.body, Data) else value)
    else:
        message.body = Sequence(message.body.items + value if again and isinstance(message.body, Sequence) else value)


# The names of the fields, and the types that they must have when they are there.
_FIELDS: dict[type[Header | Properties], tuple[tuple[str, type | None], ...]] = {
    section: tuple((wire.name, wire.kind.python) for wire in section.WIRE) for section in (Header, Properties)
}


def _take_fields(message: Message, section: type[Header | Properties], values: list[Any]) -> None:
    fields = _FIELDS[section]
    if len(values) > len(fields):
        raise DecodeError(f"the {section.__name__.lower()} of a message have {len(fields)} fields, not {len(values)}")
    for (name, kind), value in zip(fields, values, strict=False):
        if value is not None:
            if kind is not None and type(value) is not kind:
                raise DecodeError(f"{name} of a message is {kind.__name__}, not {type(value).__name__}")
            setattr(message, name, value)


def transaction_request(payload: bytes) -> Declare | Discharge:
    """What a message to a transaction coordinator asks for. `ProtocolError` when it is neither."""
    body = decode_message(payload).body
    asked = resolve(body.value) if isinstance(body, Value) else None
    if not isinstance(asked, Declare | Discharge):
        raise DecodeError(f"a coordinator takes declare or discharge, not {body!r:.60}")
    return asked
