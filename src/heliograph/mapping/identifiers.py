"""Identifiers of AMQP messages (a string, bytes, a number or a UUID) as one text, or as one run of bytes.

The text is what JMS clients show for them. The bytes are MQTT's correlation data: a responder sends them back as they
are, and the requester has to get its own identifier back, of the kind that it was. A third form is that of envelopes of
flows, which have bytes as MQMD does.
"""

from typing import Any
from uuid import UUID

from heliograph.amqp import ULong

Identifier = str | bytes | int | UUID

_KINDS = "ID:AMQP_"
"""Prefixes of texts that encode an identifier of another type."""
_UUID, _ULONG, _BINARY, _STRING = (f"{_KINDS}{kind}:" for kind in ("UUID", "ULONG", "BINARY", "STRING"))
_OTHER_THAN_TEXT = (_UUID.encode(), _ULONG.encode())


def identifier_to_text(identifier: Identifier) -> str:
    """An identifier as text. Strings stay what they are, unless that would be read as something else."""
    if isinstance(identifier, str):
        return str(identifier) if _is_plain(identifier) else _STRING + identifier
    if isinstance(identifier, bytes):
        return _BINARY + identifier.hex().upper()
    if isinstance(identifier, UUID):
        return f"{_UUID}{identifier}"
    return f"{_ULONG}{int(identifier)}"


def identifier_from_text(text: str) -> Identifier:
    """The identifier that a text encodes."""
    if _is_plain(text):
        return text
    found = _other_kind(text)
    return text.removeprefix(_STRING) if found is None else found


def _is_plain(text: str) -> bool:
    """Whether a text can only be the string itself, as nearly all are."""
    if not text.startswith(_KINDS):
        return True
    at = 0
    while text.startswith(_STRING, at):
        at += len(_STRING)
    return _other_kind(text[at:]) is None


def _other_kind(text: str) -> Identifier | None:
    """The identifier that this is the text of, if that is no string."""
    found: Identifier | None = None
    try:
        if text.startswith(_BINARY):
            found = bytes.fromhex(text.removeprefix(_BINARY))
        elif text.startswith(_UUID):
            found = UUID(text.removeprefix(_UUID))
        elif text.startswith(_ULONG) and len(text) < 40:
            number = int(text.removeprefix(_ULONG))
            found = ULong(number) if 0 <= number < 1 << 64 else None
    except ValueError:
        return None
    return found if found is not None and identifier_to_text(found) == text else None


def identifier_to_correlation_data(identifier: Identifier) -> bytes:
    """An identifier as correlation data."""
    if isinstance(identifier, bytes) and _text_in(identifier) is None:
        return bytes(identifier)
    return identifier_to_text(identifier).encode()


def identifier_from_correlation_data(data: bytes) -> Identifier:
    """The identifier for correlation data: a string if it is UTF-8, else bytes."""
    text = _text_in(data)
    return data if text is None else identifier_from_text(text)


def _text_in(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def identifier_to_envelope(value: Any) -> bytes:
    """An identifier as envelopes of flows have it: readable where it can be, and bytes as they are."""
    if type(value) is str:
        return value.encode()
    if value is None:
        return b""
    if isinstance(value, bytes):
        return bytes(value)
    if isinstance(value, UUID):
        return f"{_UUID}{value}".encode()
    return f"{_ULONG}{int(value)}".encode()


def identifier_from_envelope(value: bytes) -> Any:
    """The identifier for one of an envelope: a string if it is printable, else bytes; None for no bytes."""
    if not value:
        return None
    if value.startswith(_OTHER_THAN_TEXT):
        special = _special_identifier(value)
        if special is not None:
            return special
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return value
    return text if text.isprintable() else value


def _special_identifier(value: bytes) -> UUID | int | None:
    """A UUID or a number, if it is written just as `identifier_to_envelope` does."""
    _, kind, rest = value.split(b":", 2)
    try:
        found: UUID | int = UUID(rest.decode()) if kind == b"AMQP_UUID" else int(rest)
    except ValueError:
        return None
    return (
        found
        if identifier_to_envelope(found) == value and (not isinstance(found, int) or 0 <= found < 1 << 64)
        else None
    )
