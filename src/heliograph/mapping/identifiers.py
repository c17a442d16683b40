"""AMQP message identifiers (string, binary, ulong or UUID; AMQP part 3, section 3.2.11 to 3.2.14) as text and as bytes.

The text form is that of JMS clients: `ID:AMQP_UUID:...` and so on, where the prefix says the type. The byte form is
MQTT's correlation data: a responder returns it unchanged, and the requester must get its own identifier back with its
type. So the mapping must be reversible: a string that begins with one of the prefixes is escaped with a prefix of its
own. The third form is that of envelopes in flows, which have bytes, as MQMD does.
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
    """Return an identifier as text. A string stays as it is, unless it would be read as another type."""
    if isinstance(identifier, str):
        return str(identifier) if _is_plain(identifier) else _STRING + identifier
    if isinstance(identifier, bytes):
        return _BINARY + identifier.hex().upper()
    if isinstance(identifier, UUID):
        return f"{_UUID}{identifier}"
    return f"{_ULONG}{int(identifier)}"


def identifier_from_text(text: str) -> Identifier:
    """Return the identifier that a text stands for."""
    if _is_plain(text):
        return text
    found = _other_kind(text)
    return text.removeprefix(_STRING) if found is None else found


def _is_plain(text: str) -> bool:
    """Whether a text can only be a string as it is, as nearly all are."""
    if not text.startswith(_KINDS):
        return True
    at = 0
    while text.startswith(_STRING, at):
        at += len(_STRING)
    return _other_kind(text[at:]) is None


def _other_kind(text: str) -> Identifier | None:
    """Return the identifier of a type other than string that has this text; otherwise None."""
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
    # Only the canonical text counts: `ID:AMQP_ULONG:007` is a string, or it would come back as another text.
    return found if found is not None and identifier_to_text(found) == text else None


def identifier_to_correlation_data(identifier: Identifier) -> bytes:
    """Return an identifier as MQTT correlation data."""
    if isinstance(identifier, bytes) and _text_in(identifier) is None:
        return bytes(identifier)
    return identifier_to_text(identifier).encode()


def identifier_from_correlation_data(data: bytes) -> Identifier:
    """Return the identifier for correlation data: text is parsed as in `identifier_from_text`; other bytes stay
    bytes."""
    text = _text_in(data)
    return data if text is None else identifier_from_text(text)


def _text_in(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def identifier_to_envelope(value: Any) -> bytes:
    """Return an identifier as bytes for an envelope: text in UTF-8, binary unchanged."""
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
    """Return the identifier for bytes of an envelope: a string if they are printable text, otherwise bytes; None if
    empty."""
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
    """Return the UUID or number, if the bytes are exactly what `identifier_to_envelope` writes for it."""
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
