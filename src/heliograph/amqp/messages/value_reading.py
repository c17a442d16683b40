"""Simple values read in place, with the types that selectors know.

All whole numbers and times are `int`, `float` and `double` are `float`, strings, symbols and characters are `str`. What
JMS has no type for (binary, decimals) is there, but compares to nothing.
"""

import struct
from struct import Struct
from typing import Any
from uuid import UUID

from heliograph.amqp.codec.decoding import DEEPEST

UNREADABLE = (IndexError, ValueError, struct.error)
"""What is raised for bytes that make no sense."""

FIXED = {
    code: (Struct(form).unpack_from, 1 + Struct(form).size)
    for code, form in {
        0x50: ">B",
        0x51: ">b",
        0x52: ">B",
        0x53: ">B",
        0x54: ">b",
        0x55: ">b",
        0x60: ">H",
        0x61: ">h",
        0x70: ">I",
        0x71: ">i",
        0x72: ">f",
        0x80: ">Q",
        0x81: ">q",
        0x82: ">d",
        0x83: ">q",
    }.items()
}
"""Numbers: how to read each kind, and how many bytes it takes with its code."""
_CONSTANTS = {0x40: None, 0x41: True, 0x42: False, 0x43: 0, 0x44: 0}
_WIDTHS = {0x4: 0, 0x5: 1, 0x6: 2, 0x7: 4, 0x8: 8, 0x9: 16}
_TEXTS = {0xA1: "utf-8", 0xB1: "utf-8", 0xA3: "ascii", 0xB3: "ascii"}


def read_value(payload: bytes, at: int) -> tuple[Any, int]:
    """A simple value as selectors see it, and where the next one begins. Anything else is skipped as its bytes."""
    code = payload[at]
    if not code:  # descriptions, which do not matter here
        at = _described(payload, at)
        code = payload[at]
    if code in FIXED:
        unpack, size = FIXED[code]
        return unpack(payload, at + 1)[0], at + size
    if code in _CONSTANTS:
        return _CONSTANTS[code], at + 1
    kind = code >> 4
    if kind in {0xA, 0xC, 0xE}:
        start = at + 2
        end = start + payload[at + 1]
    elif kind in {0xB, 0xD, 0xF}:
        start = at + 5
        end = start + int.from_bytes(payload[at + 1 : start], "big")
    else:
        if code not in _OTHERS:
            raise ValueError(code)
        start, end = at + 1, at + 1 + _WIDTHS[kind]
    if end > len(payload):
        raise ValueError(end)
    raw = payload[start:end]
    if code in _TEXTS:
        return raw.decode(_TEXTS[code]), end
    return _OTHERS[code](raw) if code in _OTHERS else raw, end


def _described(payload: bytes, at: int) -> int:
    """Where the value behind one description or several begins."""
    for _ in range(DEEPEST):
        if payload[at]:
            return at
        if not payload[at + 1]:
            break
        _, at = read_value(payload, at + 1)
    raise ValueError(at)


# Boolean as a byte of its own, character, UUID, and the decimals, which stay bytes.
_OTHERS: dict[int, Any] = {
    0x45: lambda _: b"",
    0x56: lambda raw: raw != b"\0",
    0x73: lambda raw: raw.decode("utf-32-be"),
    0x74: bytes,
    0x84: bytes,
    0x94: bytes,
    0x98: lambda raw: UUID(bytes=raw),
}
