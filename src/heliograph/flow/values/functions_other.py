"""COALESCE, NULLIF, identifiers that are unique, SLEEP."""

import time
import uuid
from typing import Any

from heliograph.flow.values.comparison import equal
from heliograph.flow.values.errors import BAD_ARGUMENT, CAST_FAILED, ConversionError, ExpressionError
from heliograph.flow.values.nulls import propagates_null
from heliograph.flow.values.text import character


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
def sleep(milliseconds: Any) -> int:
    """Does nothing for so long, and gives the time back."""
    if type(milliseconds) is not int or milliseconds < 0:
        raise ExpressionError(
            BAD_ARGUMENT, f"SLEEP takes milliseconds, not {character(milliseconds)}", ("SLEEP", milliseconds)
        )
    time.sleep(milliseconds / 1000)
    return milliseconds
