"""Python values as bodies of messages, with the kind of message that JMS clients see, and back.

| value | section | kind |
|---|---|---|
| `str` | `amqp-value`, a string | text message |
| `bytes` | `data` | bytes message |
| `dict` | `amqp-value`, a map | map message |
| `list` | `amqp-sequence` | stream message |
| `None` | `amqp-value`, null | message without a body |
| anything else | `amqp-value` | object message |
"""

from typing import Any, Final

from heliograph.amqp import encode
from heliograph.amqp.messages import (
    DATA_START,
    MAP,
    MESSAGE,
    OBJECT,
    SEQUENCE_START,
    STREAM,
    VALUE_START,
    Data,
    Sequence,
    Value,
    text_field,
)
from heliograph.amqp.messages.jms_kinds import BYTES, TEXT

BYTES_CONTENT_TYPE: Final = "application/octet-stream"
"""What JMS clients write on a bytes message, if its sender says nothing else."""
_TEXT_CONTENT_TYPES: Final = "text/"


def kind_and_body_of(body: Any) -> tuple[int, bytes]:
    """The kind of message that a value is, and its section."""
    if isinstance(body, str):
        return TEXT, VALUE_START + text_field(body.encode())
    if isinstance(body, bytes | bytearray | memoryview):
        return BYTES, DATA_START + encode(bytes(body))
    if isinstance(body, dict):
        return MAP, VALUE_START + encode(body)
    if isinstance(body, list | tuple):
        return STREAM, SEQUENCE_START + encode(list(body))
    return (MESSAGE if body is None else OBJECT), VALUE_START + encode(body)


def value_of_body(body: Data | Sequence | Value, content_type: str | None, kind: Any) -> Any:
    """The value that a section stands for; `kind` is the message's kind, if it has one."""
    if isinstance(body, Value):
        return body.value
    if isinstance(body, Sequence):
        return body.items
    if kind != BYTES and content_type is not None and content_type.startswith(_TEXT_CONTENT_TYPES):
        return _text(body.content)
    # A message without a body, as other JMS clients send it, may have empty data.
    return None if not body.content and kind == MESSAGE else body.content


def _text(content: bytes) -> str | bytes:
    try:
        return content.decode()
    except UnicodeDecodeError:  # in some other encoding, which the application may know
        return content
