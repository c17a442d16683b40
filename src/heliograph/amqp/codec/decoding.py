"""Decodes values: every encoding in AMQP part 1, section 1.6, within limits on depth and size.

A decoder takes the data, the offset behind the constructor and the depth, and returns the value and the offset behind
it. `_DECODERS` has one for each of the 256 constructors. The data is not trusted: a count of items is compared with
the number of bytes that are there before any item is read, so a small frame cannot cause a large allocation.

Data that is cut off shows in two ways in Python: an index or `unpack_from` beyond the end raises an exception, which
`decode` turns into a `DecodeError`; a slice is only shorter. So decoders that slice check the end (`_within`).
"""

import struct
import uuid
from collections.abc import Callable
from typing import Any, Final

from heliograph.amqp.codec import values
from heliograph.amqp.codec.values import Array, Char, Described, Symbol
from heliograph.amqp.errors import DecodeError

DEEPEST: Final = 32  # nested values; real messages are nested three or four deep
MOST_EMPTY_ITEMS: Final = 65536  # items without a width in an array cost the sender no bytes and us a pointer each

_Decoder = Callable[[bytes, int, int], tuple[Any, int]]
_uint = struct.Struct(">I").unpack_from
_two_uints = struct.Struct(">II").unpack_from


def decode(data: bytes, at: int = 0) -> tuple[Any, int]:
    """Return the value that begins at `at`, and the offset behind it. Raise `DecodeError` if it is malformed."""
    try:
        value, end = _DECODERS[data[at]](data, at + 1, 0)
    except (struct.error, IndexError):
        raise DecodeError(f"the value at byte {at} is cut off at byte {len(data)}") from None
    except UnicodeDecodeError as error:
        raise DecodeError(f"text in the value at byte {at} is not valid: {error.reason}") from None
    if end > len(data):
        raise DecodeError(f"the value at byte {at} needs {end - len(data)} bytes more than there are")
    return value, end


def _unknown(data: bytes, at: int, _depth: int) -> tuple[Any, int]:
    raise DecodeError(f"byte 0x{data[at - 1]:02x} at {at - 1} is no type of AMQP")


def _constant(value: Any) -> _Decoder:
    return lambda _data, at, _depth: (value, at)


def _fixed(kind: Callable[[Any], Any], form: str) -> _Decoder:
    one = struct.Struct(">" + form)
    unpack, width = one.unpack_from, one.size
    return lambda data, at, _depth: (kind(unpack(data, at)[0]), at + width)


def _small(kind: Callable[[int], Any]) -> _Decoder:
    return lambda data, at, _depth: (kind(data[at]), at + 1)


def _raw(kind: Callable[[bytes], Any], width: int) -> _Decoder:
    def decoder(data: bytes, at: int, _depth: int) -> tuple[Any, int]:
        end = at + width
        _within(data, end)
        return kind(data[at:end]), end

    return decoder


def _within(data: bytes, end: int) -> None:
    if end > len(data):
        raise DecodeError(f"a value needs {end - len(data)} bytes more than there are")


def _short_variable(kind: Callable[[bytes], Any]) -> _Decoder:
    def decoder(data: bytes, at: int, _depth: int) -> tuple[Any, int]:
        end = at + 1 + data[at]
        _within(data, end)
        return kind(data[at + 1 : end]), end

    return decoder


def _long_variable(kind: Callable[[bytes], Any]) -> _Decoder:
    def decoder(data: bytes, at: int, _depth: int) -> tuple[Any, int]:
        end = at + 4 + _uint(data, at)[0]
        _within(data, end)
        return kind(data[at + 4 : end]), end

    return decoder


def _text(body: bytes) -> str:
    return body.decode()


def _symbol(body: bytes) -> Symbol:
    return Symbol(body, "ascii")


def _char(body: bytes) -> Char:
    return Char(body.decode("utf-32-be"))


def _boolean(data: bytes, at: int, _depth: int) -> tuple[Any, int]:
    if data[at] > 1:
        raise DecodeError(f"a boolean is 0 or 1, not {data[at]}")
    return data[at] == 1, at + 1


def _described(data: bytes, at: int, depth: int) -> tuple[Any, int]:
    _not_too_deep(depth)
    descriptor, at = _DECODERS[data[at]](data, at + 1, depth + 1)
    value, at = _DECODERS[data[at]](data, at + 1, depth + 1)
    return Described(descriptor, value), at


def _not_too_deep(depth: int) -> None:
    if depth >= DEEPEST:
        raise DecodeError(f"values are nested deeper than {DEEPEST}")


def _bounds(data: bytes, at: int, wide: bool) -> tuple[int, int, int]:
    """Return the offsets of the first item and behind the last, and the number of items."""
    if wide:
        size, count = _two_uints(data, at)
        start, end = at + 8, at + 4 + size
    else:
        size, count = data[at], data[at + 1]
        start, end = at + 2, at + 1 + size
    _within(data, end)
    # The size counts the bytes behind itself, including the count (section 1.6.22).
    if start > end:
        raise DecodeError(f"a size of {size} bytes has no room for the count")
    return start, end, count


def _items(data: bytes, start: int, end: int, count: int, depth: int) -> list[Any]:
    _not_too_deep(depth)
    # Every item has at least its constructor, which is one byte.
    if count > end - start:
        raise DecodeError(f"{count} items cannot be in {end - start} bytes")
    items = []
    at = start
    depth += 1
    # A local name for speed: every performative is a list.
    decoders = _DECODERS
    for _ in range(count):
        item, at = decoders[data[at]](data, at + 1, depth)
        items.append(item)
    if at != end:
        raise DecodeError(f"the items end at byte {at}, their size says {end}")
    return items


def _list(wide: bool) -> _Decoder:
    def decoder(data: bytes, at: int, depth: int) -> tuple[Any, int]:
        start, end, count = _bounds(data, at, wide)
        return _items(data, start, end, count, depth), end

    return decoder


def _map(wide: bool) -> _Decoder:
    def decoder(data: bytes, at: int, depth: int) -> tuple[Any, int]:
        start, end, count = _bounds(data, at, wide)
        # The count of a map is that of keys and values together (section 1.6.23).
        if count % 2:
            raise DecodeError(f"a map of {count} items: keys and values come in pairs")
        halves = _items(data, start, end, count, depth)
        try:
            return dict(zip(halves[::2], halves[1::2], strict=True)), end
        except TypeError:
            raise DecodeError("a key of a map is a list, a map or an array") from None

    return decoder


def _array(wide: bool) -> _Decoder:
    def decoder(data: bytes, at: int, depth: int) -> tuple[Any, int]:
        start, end, count = _bounds(data, at, wide)
        _not_too_deep(depth)
        # All items of an array share one constructor, which stands once before them (section 1.6.24). It may be
        # described.
        descriptor = None
        code = data[start]
        at = start + 1
        if code == 0:
            descriptor, at = _DECODERS[data[at]](data, at + 1, depth + 1)
            code = data[at]
            at += 1
        item_decoder = _DECODERS[code]
        if code not in _ITEM_KINDS:
            raise DecodeError(f"an array cannot be of type 0x{code:02x}")
        # Items without a width (codes 0x40 to 0x4f: null, true, empty list) take no bytes, so they need a limit of
        # their own.
        if code in _BY_CODE and count > (MOST_EMPTY_ITEMS if code < 0x50 else end - at):
            raise DecodeError(f"{count} items cannot be in an array of {end - at} bytes")
        items = []
        for _ in range(count):
            item, at = item_decoder(data, at, depth + 1)
            items.append(item)
        if at != end:
            raise DecodeError(f"the items end at byte {at}, their size says {end}")
        return Array(_ITEM_KINDS[code], items, descriptor), end

    return decoder


_BY_CODE: dict[int, tuple[type, _Decoder]] = {
    0x40: (type(None), _constant(None)),
    0x41: (bool, _constant(True)),
    0x42: (bool, _constant(False)),
    0x56: (bool, _boolean),
    0x50: (values.UByte, _small(values.UByte)),
    0x60: (values.UShort, _fixed(values.UShort, "H")),
    0x43: (values.UInt, _constant(values.UInt(0))),
    0x52: (values.UInt, _small(values.UInt)),
    0x70: (values.UInt, _fixed(values.UInt, "I")),
    0x44: (values.ULong, _constant(values.ULong(0))),
    0x53: (values.ULong, _small(values.ULong)),
    0x80: (values.ULong, _fixed(values.ULong, "Q")),
    0x51: (values.Byte, _fixed(values.Byte, "b")),
    0x61: (values.Short, _fixed(values.Short, "h")),
    0x54: (values.Int, _fixed(values.Int, "b")),
    0x71: (values.Int, _fixed(values.Int, "i")),
    0x55: (values.Long, _fixed(values.Long, "b")),
    0x81: (values.Long, _fixed(values.Long, "q")),
    0x72: (values.Float, _fixed(values.Float, "f")),
    0x82: (float, _fixed(float, "d")),
    0x83: (values.Timestamp, _fixed(values.Timestamp, "q")),
    0x73: (Char, _raw(_char, 4)),
    0x98: (uuid.UUID, _raw(lambda body: uuid.UUID(bytes=body), 16)),
    0x74: (values.Decimal32, _raw(values.Decimal32, 4)),
    0x84: (values.Decimal64, _raw(values.Decimal64, 8)),
    0x94: (values.Decimal128, _raw(values.Decimal128, 16)),
    0xA0: (bytes, _short_variable(bytes)),
    0xB0: (bytes, _long_variable(bytes)),
    0xA1: (str, _short_variable(_text)),
    0xB1: (str, _long_variable(_text)),
    0xA3: (Symbol, _short_variable(_symbol)),
    0xB3: (Symbol, _long_variable(_symbol)),
    0x45: (list, lambda _data, at, _depth: ([], at)),
    0xC0: (list, _list(wide=False)),
    0xD0: (list, _list(wide=True)),
    0xC1: (dict, _map(wide=False)),
    0xD1: (dict, _map(wide=True)),
    0xE0: (Array, _array(wide=False)),
    0xF0: (Array, _array(wide=True)),
}
_DECODERS: list[_Decoder] = [_BY_CODE[code][1] if code in _BY_CODE else _unknown for code in range(256)]
_DECODERS[0] = _described
_ITEM_KINDS = {code: kind for code, (kind, _) in _BY_CODE.items()}
