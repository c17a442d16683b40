"""COALESCE, NULLIF, base64, identifiers that are unique, SLEEP."""

import binascii
import time
import uuid
from typing import Any

from heliograph.flow.errors import BAD_ARGUMENT, CAST_FAILED, ConversionError, ExpressionError
from heliograph.flow.language.values.comparison import equal
from heliograph.flow.language.values.operands import propagates_null
from heliograph.flow.language.values.text import character


def coalesce(*values: Any) -> Any:
    """The first that is not NULL. Compiled code need not call this: the rest should not even be evaluated."""
    for value in values:
        if value is not None:
            return value
    return None


def nullif(value: Any, other: Any) -> Any:
    return None if equal(value, other) else value


@propagates_null
def uuid_as_blob(text: Any = "") -> bytes:
    """A new UUID as its 16 bytes, or those of one in text form."""
    if text == "":
        return uuid.uuid4().bytes
    try:
        return uuid.UUID(text).bytes
    except (ValueError, AttributeError):
        raise ConversionError(CAST_FAILED, f"{character(text)} is not a UUID", (text,)) from None


@propagates_null
def uuid_as_char(data: Any = b"") -> str:
    """A new UUID in text form, or that of one given by its 16 bytes."""
    if data == b"":
        return str(uuid.uuid4())
    if type(data) is not bytes or len(data) != 16:
        raise ConversionError(CAST_FAILED, f"{character(data)} is not a UUID: it needs 16 bytes", (data,))
    return str(uuid.UUID(bytes=data))


@propagates_null
def base64_encode(data: Any) -> str:
    """Bytes as base64; of a text, those that it has in UTF-8."""
    if type(data) is str:
        data = data.encode("utf-8", "surrogatepass")
    if type(data) is not bytes:
        raise ExpressionError(
            BAD_ARGUMENT, f"BASE64ENCODE takes a BLOB or CHARACTER, not {character(data)}", ("BASE64ENCODE", data)
        )
    return binascii.b2a_base64(data, newline=False).decode()


@propagates_null
def base64_decode(text: Any) -> bytes:
    """The bytes that base64 stands for; white space in it does not count."""
    try:
        return binascii.a2b_base64("".join(text.split()), strict_mode=True)
    except (ValueError, AttributeError):
        raise ConversionError(
            CAST_FAILED, f"BASE64DECODE takes base64, not {character(text)}", ("BASE64DECODE", text)
        ) from None


@propagates_null
def sleep(milliseconds: Any) -> int:
    """Does nothing for so long, and gives the time back."""
    if type(milliseconds) is not int or milliseconds < 0:
        raise ExpressionError(
            BAD_ARGUMENT, f"SLEEP takes milliseconds, not {character(milliseconds)}", ("SLEEP", milliseconds)
        )
    time.sleep(milliseconds / 1000)
    return milliseconds
