"""External (zoned) decimals: one digit in a character, the sign in a byte of its own or in the zone of a digit."""

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple


class SignOrientation(Enum):
    """Where the sign is."""

    NONE = "none"
    LEADING = "leading"
    LEADING_SEPARATE = "leadingSeparate"
    TRAILING = "trailing"
    TRAILING_SEPARATE = "trailingSeparate"


INVALID = ord("?")
"""Stands for bytes that are no digit: int() refuses it."""


def _digits_from(zone: int) -> bytes:
    table = bytearray([INVALID]) * 256
    for digit in range(10):
        table[zone | digit] = ord("0") + digit
    return bytes(table)


class Zones(NamedTuple):
    """The bytes of digits and signs in a family of character sets."""

    digits: bytes
    """Translates digits to ASCII, all else to what is no digit."""
    positive: bytes
    """The digits 0 to 9 with a positive sign, as they are written."""
    negative: bytes
    signed: dict[int, tuple[int, int]]
    """Byte with a sign: the digit and the sign."""
    plus: int
    minus: int
    written: bytes
    """Translates ASCII digits to those of the character set."""


def _zones(zone: int, positive: bytes, negative: bytes, accepted: bytes, plus: str) -> Zones:
    signed = {byte: (digit, 1) for digit, byte in enumerate(accepted)}
    signed |= {zone | digit: (digit, 1) for digit in range(10)}
    signed |= {byte: (digit, 1) for digit, byte in enumerate(positive)}
    signed |= {byte: (digit, -1) for digit, byte in enumerate(negative)}
    written = bytes.maketrans(b"0123456789", bytes(zone | digit for digit in range(10)))
    return Zones(_digits_from(zone), positive, negative, signed, ord(plus[0]), ord(plus[1]), written)


EBCDIC = _zones(0xF0, bytes(range(0xC0, 0xCA)), bytes(range(0xD0, 0xDA)), bytes(range(0xC0, 0xCA)), "\x4e\x60")
ASCII = _zones(0x30, b"0123456789", b"pqrstuvwxy", b"", "+-")
ASCII_TRANSLATED = _zones(0x30, b"{ABCDEFGHI", b"}JKLMNOPQR", b"", "+-")
"""The overpunched characters of EBCDIC, translated to ASCII."""


def zoned_reader(zones: Zones, orientation: SignOrientation) -> Callable[[bytes], int]:
    """What reads a number whose sign is there. It raises ValueError if a byte is no digit or sign."""
    digits, signed, separate = zones.digits, zones.signed, {zones.plus: 1, zones.minus: -1}

    def unsigned(data: bytes) -> int:
        return int(data.translate(digits))

    def trailing(data: bytes) -> int:
        digit, sign = signed[data[-1]]
        return sign * (int(data[:-1].translate(digits) or b"0") * 10 + digit)

    def leading(data: bytes) -> int:
        digit, sign = signed[data[0]]
        return sign * int(b"%d%b" % (digit, data[1:].translate(digits)))

    def trailing_separate(data: bytes) -> int:
        return separate[data[-1]] * int(data[:-1].translate(digits))

    def leading_separate(data: bytes) -> int:
        return separate[data[0]] * int(data[1:].translate(digits))

    chosen = {
        SignOrientation.NONE: unsigned,
        SignOrientation.TRAILING: trailing,
        SignOrientation.LEADING: leading,
        SignOrientation.TRAILING_SEPARATE: trailing_separate,
        SignOrientation.LEADING_SEPARATE: leading_separate,
    }[orientation]

    def read(data: bytes) -> int:
        try:
            return chosen(data)
        except (ValueError, KeyError):
            raise ValueError(data.hex()) from None

    return read


def write_zoned(number: int, size: int, zones: Zones, orientation: SignOrientation) -> bytes:
    """The number in this many bytes. Raises ValueError if it has more digits, or a sign where there is none."""
    separate = orientation in (SignOrientation.LEADING_SEPARATE, SignOrientation.TRAILING_SEPARATE)
    text = b"%0*d" % (size - separate, abs(number))
    if len(text) > size - separate or (number < 0 and orientation is SignOrientation.NONE):
        raise ValueError(str(number))
    digits = text.translate(zones.written)
    if orientation is SignOrientation.NONE:
        return digits
    if separate:
        sign = bytes([zones.minus if number < 0 else zones.plus])
        return sign + digits if orientation is SignOrientation.LEADING_SEPARATE else digits + sign
    signed = zones.negative if number < 0 else zones.positive
    if orientation is SignOrientation.TRAILING:
        return digits[:-1] + signed[digits[-1] & 0xF :][:1]
    return signed[digits[0] & 0xF :][:1] + digits[1:]
