"""Identifiers of AMQP messages (a string, bytes, a number or a UUID) as one text, or as one run of bytes.

The text is what JMS clients show for them. The bytes are MQTT's correlation data: a responder sends them back as they
are, and the requester has to get its own identifier back, of the kind that it was.
"""

from uuid import UUID

from heliograph.amqp.values import ULong

Identifier = str | bytes | int | UUID

_KINDS = "ID:AMQP_"
"""What a text begins with whose kind is to be told."""
_UUID, _ULONG, _BINARY, _STRING = (f"{_KINDS}{kind}:" for kind in ("UUID", "ULONG", "BINARY", "STRING"))


def text_of(identifier: Identifier) -> str:
    """An identifier as text. Strings stay what they are, unless that would be read as something else."""
    if isinstance(identifier, str):
        return str(identifier) if _is_plain(identifier) else _STRING + identifier
    if isinstance(identifier, bytes):
        return _BINARY + identifier.hex().upper()
    if isinstance(identifier, UUID):
        return f"{_UUID}{identifier}"
    return f"{_ULONG}{int(identifier)}"


def identifier_of(text: str) -> Identifier:
    """The identifier that a text stands for."""
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
    return found if found is not None and text_of(found) == text else None


def data_of(identifier: Identifier) -> bytes:
    """An identifier as correlation data."""
    if isinstance(identifier, bytes) and _text_in(identifier) is None:
        return bytes(identifier)
    return text_of(identifier).encode()


def identifier_in(data: bytes) -> Identifier:
    """The identifier that correlation data stands for: readable data is a string, other data stays bytes."""
    text = _text_in(data)
    return data if text is None else identifier_of(text)


def _text_in(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None
