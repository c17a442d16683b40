"""Identifiers of AMQP messages that travel as text or as correlation data of MQTT (docs/mapping.md, Identifiers)."""

from uuid import UUID

from heliograph.flow.runner.conversion import amqp_identifier

_KINDS = "ID:AMQP_"
_BINARY, _STRING = "ID:AMQP_BINARY:", "ID:AMQP_STRING:"


def identifier_bytes(text: str) -> bytes:
    """What an envelope has for an identifier that travels as this text."""
    if not text.startswith(_KINDS):
        return text.encode()
    data = _binary(text)
    if data is not None:
        return data
    if text.startswith(_STRING) and _is_kind(_without_strings(text)):
        return text.removeprefix(_STRING).encode()
    return text.encode()


def identifier_of_data(data: bytes) -> bytes:
    """What an envelope has for correlation data."""
    if not data.startswith(_KINDS.encode()):
        return data
    try:
        return identifier_bytes(data.decode())
    except UnicodeDecodeError:
        return data


def _binary(text: str) -> bytes | None:
    """The bytes that a text stands for, if it is written just as the server writes them."""
    if not text.startswith(_BINARY):
        return None
    digits = text.removeprefix(_BINARY)
    try:
        data = bytes.fromhex(digits)
    except ValueError:
        return None
    return data if data.hex().upper() == digits else None


def _without_strings(text: str) -> str:
    while text.startswith(_STRING):
        text = text.removeprefix(_STRING)
    return text


def _is_kind(text: str) -> bool:
    return _binary(text) is not None or isinstance(amqp_identifier(text.encode()), UUID | int)
