"""String functions of ESQL, for CHARACTER, BLOB and BIT alike; UPPER, LOWER and SPACE are for CHARACTER.

Where a function takes several strings they are of one type. Positions count from 1.

Policy:
- An argument that is no string, or a count that is no INTEGER, is an error; so is a count below 0 (LEFT, RIGHT,
  SPACE, REPLICATE), but not in SUBSTRING, which takes what overlaps with the string.
- SPACE and REPLICATE make no more than a fixed amount at once: a wrong count is to be an error of the program, and not
  the end of the process.
- POSITION is 0 if there is nothing to be found, and 1 for an empty string. Backwards it finds what begins at or before
  FROM. Occurrences may overlap.
- SUBSTRING BEFORE and AFTER give an empty string if there is nothing to be found.
- TRIM removes blanks from CHARACTER, bytes of zero from BLOB, and zeros from BIT, unless the call names another.
"""

import binascii
import time
import uuid
from typing import Any, NoReturn

from heliograph.flow.errors import BAD_ARGUMENT, CAST_FAILED, INCOMPATIBLE_TYPES, ConversionError, ExpressionError
from heliograph.flow.language.values.bits import Bits
from heliograph.flow.language.values.comparison import equal
from heliograph.flow.language.values.types import character, propagates_null, type_of

# What TRIM removes by default.
_BLANKS: dict[type, Any] = {str: " ", bytes: b"\0", Bits: Bits("0")}


MOST_MADE = 100_000_000
"""As long as a message can be; SPACE and REPLICATE make nothing longer."""


@propagates_null
def length(text: Any) -> int:
    """LENGTH: characters of CHARACTER, bytes of BLOB, bits of BIT."""
    if type(text) is not str:
        _strings("LENGTH", text)
    return len(text)


@propagates_null
def upper(text: Any) -> str:
    """UPPER, UCASE."""
    if type(text) is not str:
        _refuse("UPPER", "CHARACTER", text)
    return text.upper()


@propagates_null
def lower(text: Any) -> str:
    """LOWER, LCASE."""
    if type(text) is not str:
        _refuse("LOWER", "CHARACTER", text)
    return text.lower()


@propagates_null
def left(text: Any, count: Any) -> Any:
    """LEFT: the first `count` items."""
    if type(text) is not str:
        _strings("LEFT", text)
    return text[: _count("LEFT", count)]


@propagates_null
def right(text: Any, count: Any) -> Any:
    """RIGHT: the last `count` items."""
    if type(text) is not str:
        _strings("RIGHT", text)
    return text[max(len(text) - _count("RIGHT", count), 0) :]


@propagates_null
def space(count: Any) -> str:
    """SPACE: `count` blanks."""
    return " " * _made("SPACE", 1, count)


@propagates_null
def replicate(text: Any, count: Any) -> Any:
    """REPLICATE: the text, `count` times."""
    if type(text) is not str:
        _strings("REPLICATE", text)
    return text * _made("REPLICATE", len(text), count)


@propagates_null
def contains(text: Any, part: Any) -> bool:
    """CONTAINS."""
    if not type(text) is type(part) is str:
        _strings("CONTAINS", text, part)
    return part in text


@propagates_null
def starts_with(text: Any, part: Any) -> bool:
    """STARTSWITH."""
    if not type(text) is type(part) is str:
        _strings("STARTSWITH", text, part)
    return text.startswith(part)  # type: ignore[no-any-return]


@propagates_null
def ends_with(text: Any, part: Any) -> bool:
    """ENDSWITH."""
    if not type(text) is type(part) is str:
        _strings("ENDSWITH", text, part)
    return text.endswith(part)  # type: ignore[no-any-return]


@propagates_null
def position(part: Any, text: Any, start: Any = 0, repeat: Any = 1) -> int:
    """POSITION(part IN text FROM start REPEAT repeat): where `part` begins the `repeat`th time, or 0.

    A negative `repeat` searches backwards. A `start` of 0 is what there is without FROM: the end that the search
    begins at.
    """
    if not type(part) is type(text) is str:
        _strings("POSITION", part, text)
    _whole("POSITION", start, repeat)
    if not repeat or start < 0:
        raise ExpressionError(BAD_ARGUMENT, "POSITION counts FROM and REPEAT from 1", ("POSITION", start, repeat))
    if not len(part):
        return 1
    if repeat < 0:
        return _position_backwards(part, text, start or len(text), -repeat)
    place = (start or 1) - 2
    for _ in range(repeat):
        place = text.find(part, place + 1)
        if place < 0:
            return 0
    return place + 1


def _position_backwards(part: Any, text: Any, start: int, repeat: int) -> int:
    for place in range(min(start, len(text) - len(part) + 1), 0, -1):
        if text[place - 1 : place - 1 + len(part)] == part:
            repeat -= 1
            if not repeat:
                return place
    return 0


@propagates_null
def substring(text: Any, start: Any, count: Any = None) -> Any:
    """SUBSTRING(text FROM start FOR count): what of the string lies there. Without a count: all the rest."""
    if type(text) is not str:
        _strings("SUBSTRING", text)
    if count is None:
        _whole("SUBSTRING", start)
        return text[max(start - 1, 0) :]
    if type(start) is not int or type(count) is not int:
        _whole("SUBSTRING", start, count)
    end = start - 1 + count
    return text[max(start - 1, 0) : end] if end > 0 and count > 0 else text[:0]


@propagates_null
def substring_before(text: Any, mark: Any, count: Any = None) -> Any:
    """What stands before the first `mark`; with a count, only the last `count` characters."""
    if not type(text) is type(mark) is str:
        _strings("SUBSTRING", text, mark)
    place = text.find(mark)
    if place < 0:
        return text[:0]
    return text[0 if count is None else max(place - _count("SUBSTRING", count), 0) : place]


@propagates_null
def substring_after(text: Any, mark: Any, count: Any = None) -> Any:
    """What stands behind the first `mark`; with a count, only the first `count` characters."""
    if not type(text) is type(mark) is str:
        _strings("SUBSTRING", text, mark)
    place = text.find(mark)
    if place < 0:
        return text[:0]
    rest = text[place + len(mark) :]
    return rest if count is None else rest[: _count("SUBSTRING", count)]


@propagates_null
def overlay(text: Any, part: Any, start: Any, count: Any = None) -> Any:
    """OVERLAY(text PLACING part FROM start FOR count): `count` from `start` on (or as many as `part` has) replaced."""
    if not type(text) is type(part) is str:
        _strings("OVERLAY", text, part)
    _whole("OVERLAY", start)
    if start < 1:
        raise ExpressionError(BAD_ARGUMENT, f"OVERLAY counts FROM from 1, not {start}", ("OVERLAY", start))
    gone = len(part) if count is None else _count("OVERLAY", count)
    return text[: start - 1] + part + text[start - 1 + gone :]


@propagates_null
def replace(text: Any, old: Any, new: Any = None) -> Any:
    """REPLACE(text, old, new): without `new`, `old` is taken out."""
    new = text[:0] if new is None else new
    _strings("REPLACE", text, old, new)
    return text.replace(old, new) if len(old) else text


@propagates_null
def translate(text: Any, source: Any, target: Any = None) -> Any:
    """TRANSLATE(text, source, target): each character of `source` becomes that of `target` in the same place.

    Those for which `target` has no place, or all if there is no `target`, are taken out.
    """
    empty = text[:0] if type(text) in _BLANKS else None
    target = empty if target is None else target
    _strings("TRANSLATE", text, source, target)
    table: dict[Any, Any] = {}
    for place in range(len(source)):
        table.setdefault(source[place : place + 1], target[place : place + 1])
    pieces = [text[place : place + 1] for place in range(len(text))]
    pieces = [table.get(piece, piece) for piece in pieces]
    return Bits("".join([piece.digits for piece in pieces])) if type(text) is Bits else text[:0].join(pieces)


@propagates_null
def trim(text: Any, what: Any = None) -> Any:
    """TRIM(BOTH what FROM text). `what` may be longer than one: it comes off as a whole."""
    return _trim(text, what, True, True)


def _trim(text: Any, what: Any, leading: bool, trailing: bool) -> Any:
    what = _BLANKS.get(type(text)) if what is None else what
    if not type(text) is type(what) is str:
        _strings("TRIM", text, what)
    size = len(what)
    if not size:
        return text
    if size == 1 and type(text) is str:
        text = text.lstrip(what) if leading else text
        return text.rstrip(what) if trailing else text
    start, end = 0, len(text)
    while leading and end - start >= size and text[start : start + size] == what:
        start += size
    while trailing and end - start >= size and text[end - size : end] == what:
        end -= size
    return text[start:end]


@propagates_null
def trim_leading(text: Any, what: Any = None) -> Any:
    """LTRIM."""
    return _trim(text, what, True, False)


@propagates_null
def trim_trailing(text: Any, what: Any = None) -> Any:
    """RTRIM."""
    return _trim(text, what, False, True)


def _strings(name: str, *arguments: Any) -> None:
    kind = type(arguments[0])
    for argument in arguments:
        if type(argument) not in _BLANKS:
            _refuse(name, "CHARACTER, BLOB or BIT", argument)
        if type(argument) is not kind:
            _refuse(name, f"strings of one type, here {type_of(arguments[0]).value}", argument)


def _whole(name: str, *arguments: Any) -> None:
    for argument in arguments:
        if type(argument) is not int:
            _refuse(name, "INTEGER there", argument)


def _count(name: str, count: Any) -> int:
    _whole(name, count)
    if count < 0:
        raise ExpressionError(BAD_ARGUMENT, f"{name} does not take a count of {count}", (name, count))
    return count  # type: ignore[no-any-return]


def _made(name: str, size: int, count: Any) -> int:
    """The count of a function that repeats something of this size."""
    if size * _count(name, count) > MOST_MADE:
        raise ExpressionError(
            BAD_ARGUMENT, f"{name} makes strings of up to {MOST_MADE}, not of {size * count}", (name, count)
        )
    return count  # type: ignore[no-any-return]


def _refuse(name: str, wanted: str, argument: Any) -> NoReturn:
    found = type_of(argument).value
    raise ExpressionError(INCOMPATIBLE_TYPES, f"{name} takes {wanted}, not {found}", (name, found, argument))


# COALESCE, NULLIF, base64, identifiers that are unique, SLEEP.


def coalesce(*values: Any) -> Any:
    """The first that is not NULL. Compiled code need not call this: the rest should not even be evaluated."""
    for value in values:
        if value is not None:
            return value
    return None


def nullif(value: Any, other: Any) -> Any:
    """NULLIF: the value, or NULL if it is equal to the other."""
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
