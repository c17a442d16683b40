"""A message and its sections, whole: for whoever makes or reads messages. Brokers use `glance`."""

from dataclasses import dataclass, field
from typing import Any

from heliograph.amqp.performatives import Declare, Discharge

HEADER, DELIVERY_ANNOTATIONS, MESSAGE_ANNOTATIONS, PROPERTIES = 0x70, 0x71, 0x72, 0x73
APPLICATION_PROPERTIES, DATA, SEQUENCE, VALUE, FOOTER = 0x74, 0x75, 0x76, 0x77, 0x78


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
    priority: int = 4
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


def decode_message(payload: bytes) -> Message:
    """The message in these bytes. `DecodeError` when they are none."""


def coordination(payload: bytes) -> Declare | Discharge:
    """What a message to a transaction coordinator asks for. `DecodeError` when it is neither."""
