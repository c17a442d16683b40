"""Encodes values, always in the shortest form that the standard has (AMQP part 1, section 1.6).

The class of a value selects its encoder (`_ENCODERS`); a subclass uses the first of its bases that has one. Ranges are
not checked beforehand: `struct` does that, and `encode` turns its error into an `EncodeError`.
"""

import struct
import uuid
from collections.abc import Callable
from typing import Any, Final

from heliograph.amqp.codec.values import (
    Array,
    Byte,
    Char,
    Composite,
    Decimal32,
    Decimal64,
    Decimal128,
    Described,
    Float,
    Int,
    Long,
    Short,
    Symbol,
    Timestamp,
    UByte,
    UInt,
    ULong,
    UShort,
)
from heliograph.amqp.errors import EncodeError

NULL: Final = b"\x40"
_pack_uint = struct.Struct(">BI").pack
_pack_compound = struct.Struct(">BII").pack


def encode(value: Any) -> bytes:
    """Encode a value with its constructor. Raise `EncodeError` if AMQP has no such value."""
    encoder = _ENCODERS.get(type(value))
    if encoder is None:
        encoder = _encoder_of_subclass(value)
    try:
        return encoder(value)
    except (struct.error, OverflowError):
        raise EncodeError(f"{value!r:.60} is out of the range of {type(value).__name__}") from None
    except UnicodeEncodeError as error:
        raise EncodeError(f"{value!r:.60} cannot be written as {type(value).__name__}: {error.reason}") from None


def _encoder_of_subclass(value: Any) -> Callable[[Any], bytes]:
    if isinstance(value, Composite):
        return type(value).encoded
    for base in type(value).__mro__[1:]:
        if base in _ENCODERS:
            return _ENCODERS[base]
    raise EncodeError(f"AMQP has no type for {type(value).__name__} ({value!r:.60})")


def encode_list(parts: list[bytes]) -> bytes:
    """Encode a list whose items are encoded already."""
    if not parts:
        return b"\x45"
    return _compound(0xC0, 0xD0, len(parts), b"".join(parts))


def _compound(small: int, large: int, count: int, body: bytes) -> bytes:
    if len(body) < 255 and count < 256:
        return bytes((small, len(body) + 1, count)) + body
    return _pack_compound(large, len(body) + 4, count) + body


def _variable(small: int, large: int, body: bytes) -> bytes:
    if len(body) < 256:
        return bytes((small, len(body))) + body
    return _pack_uint(large, len(body)) + body


def _binary(value: bytes) -> bytes:
    return _variable(0xA0, 0xB0, value)


def _string(value: str) -> bytes:
    return _variable(0xA1, 0xB1, value.encode())


def _symbol(value: str) -> bytes:
    return _variable(0xA3, 0xB3, value.encode("ascii"))


def _boolean(value: bool) -> bytes:
    return b"\x41" if value else b"\x42"


def _fixed(code: int, form: str) -> Callable[[Any], bytes]:
    pack = struct.Struct(">B" + form).pack
    return lambda value: pack(code, value)


def _unsigned(zero: bytes, small: int, large: int, form: str) -> Callable[[int], bytes]:
    pack = struct.Struct(">B" + form).pack

    def encoder(value: int) -> bytes:
        if 0 <= value < 256:
            return bytes((small, value)) if value else zero
        return pack(large, value)

    return encoder


def _signed(small: int, large: int, form: str) -> Callable[[int], bytes]:
    pack = struct.Struct(">B" + form).pack
    pack_small = struct.Struct(">Bb").pack
    return lambda value: pack_small(small, value) if -128 <= value < 128 else pack(large, value)


def _opaque(code: int, width: int) -> Callable[[bytes], bytes]:
    def encoder(value: bytes) -> bytes:
        if len(value) != width:
            raise EncodeError(f"{type(value).__name__} has {width} bytes, not {len(value)}")
        return bytes((code,)) + value

    return encoder


def _char(value: str) -> bytes:
    if len(value) != 1:
        raise EncodeError(f"a char is one character, not {value!r:.60}")
    return b"\x73" + value.encode("utf-32-be")


def _list(value: list[Any]) -> bytes:
    return encode_list([encode(item) for item in value])


def _map(value: dict[Any, Any]) -> bytes:
    parts = []
    for key, item in value.items():
        parts.append(encode(key))
        parts.append(encode(item))
    return _compound(0xC1, 0xD1, len(parts), b"".join(parts))


def _described(value: Described) -> bytes:
    return b"\x00" + encode(value.descriptor) + encode(value.value)


# All items of an array share one constructor (section 1.6.24), so the widest form of each type is used for all.
_ARRAY_ITEMS: dict[type, tuple[int, Callable[[Any], bytes]]] = {
    type(None): (0x40, lambda _: b""),
    bool: (0x56, lambda value: b"\x01" if value else b"\x00"),
    UByte: (0x50, struct.Struct(">B").pack),
    UShort: (0x60, struct.Struct(">H").pack),
    UInt: (0x70, struct.Struct(">I").pack),
    ULong: (0x80, struct.Struct(">Q").pack),
    Byte: (0x51, struct.Struct(">b").pack),
    Short: (0x61, struct.Struct(">h").pack),
    Int: (0x71, struct.Struct(">i").pack),
    Long: (0x81, struct.Struct(">q").pack),
    int: (0x81, struct.Struct(">q").pack),
    Float: (0x72, struct.Struct(">f").pack),
    float: (0x82, struct.Struct(">d").pack),
    Timestamp: (0x83, struct.Struct(">q").pack),
    Char: (0x73, lambda value: _char(value)[1:]),
    uuid.UUID: (0x98, lambda value: bytes(value.bytes)),
    Decimal32: (0x74, bytes),
    Decimal64: (0x84, bytes),
    Decimal128: (0x94, bytes),
    bytes: (0xB0, lambda value: len(value).to_bytes(4, "big") + value),
    str: (0xB1, lambda value: _long_form(value.encode())),
    Symbol: (0xB3, lambda value: _long_form(value.encode("ascii"))),
    list: (0xD0, lambda value: _long_items([encode(item) for item in value])),
    dict: (0xD1, lambda value: _long_items([encode(half) for pair in value.items() for half in pair])),
    Array: (0xF0, lambda value: _array(value)[1:]),
}


def _long_form(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


def _long_items(parts: list[bytes]) -> bytes:
    body = b"".join(parts)
    return struct.pack(">II", len(body) + 4, len(parts)) + body


def _array(value: Array) -> bytes:
    try:
        code, encoder = _ARRAY_ITEMS[value.kind]
    except KeyError:
        raise EncodeError(f"AMQP has no arrays of {value.kind.__name__}") from None
    constructor = bytes((code,))
    if value.descriptor is not None:
        constructor = b"\x00" + encode(value.descriptor) + constructor
    body = constructor + b"".join([encoder(item) for item in value.items])
    return _pack_compound(0xF0, len(body) + 4, len(value.items)) + body


_ENCODERS: dict[type, Callable[[Any], bytes]] = {
    type(None): lambda _: NULL,
    bool: _boolean,
    UByte: _fixed(0x50, "B"),
    UShort: _fixed(0x60, "H"),
    UInt: _unsigned(b"\x43", 0x52, 0x70, "I"),
    ULong: _unsigned(b"\x44", 0x53, 0x80, "Q"),
    Byte: _fixed(0x51, "b"),
    Short: _fixed(0x61, "h"),
    Int: _signed(0x54, 0x71, "i"),
    Long: _signed(0x55, 0x81, "q"),
    int: _signed(0x55, 0x81, "q"),
    Float: _fixed(0x72, "f"),
    float: _fixed(0x82, "d"),
    Timestamp: _fixed(0x83, "q"),
    Char: _char,
    uuid.UUID: lambda value: b"\x98" + value.bytes,
    Decimal32: _opaque(0x74, 4),
    Decimal64: _opaque(0x84, 8),
    Decimal128: _opaque(0x94, 16),
    bytes: _binary,
    str: _string,
    Symbol: _symbol,
    list: _list,
    dict: _map,
    Array: _array,
    Described: _described,
}
