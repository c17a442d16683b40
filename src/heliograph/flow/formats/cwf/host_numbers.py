"""Mainframe number formats: packed and zoned decimals, scaled integers, hexadecimal floating point."""

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from enum import Enum
from functools import cache
from math import frexp, isfinite, ldexp
from typing import NamedTuple

# S/390 hexadecimal floating point: a sign bit, 7 bits of exponent to base 16 (excess 64), and a fraction.

EXCESS = 64
SIGN = 0x80


def read_hexfloat(data: bytes) -> float:
    """The number in 4 or 8 bytes."""
    fraction_bits = 8 * (len(data) - 1)
    fraction = int.from_bytes(data[1:], "big")
    number = ldexp(fraction, 4 * ((data[0] & ~SIGN) - EXCESS) - fraction_bits)
    return -number if data[0] & SIGN else number


def write_hexfloat(number: float, size: int) -> bytes:
    """The number in 4 or 8 bytes, normalised. Raises ValueError if it is too large, or no number."""
    if not isfinite(number):
        raise ValueError(repr(number))
    fraction_bits = 8 * (size - 1)
    mantissa, exponent = frexp(abs(number))
    sixteens = -(-exponent // 4)
    fraction = round(ldexp(mantissa, exponent - 4 * sixteens + fraction_bits))
    if fraction >> fraction_bits:  # rounded up to the next power of 16
        fraction, sixteens = fraction >> 4, sixteens + 1
    if fraction == 0 or sixteens < -EXCESS:
        return bytes(size)  # zero, or too small for the exponent
    if sixteens >= EXCESS:
        raise ValueError(repr(number))
    return bytes([sixteens + EXCESS | (SIGN if number < 0 else 0)]) + fraction.to_bytes(size - 1, "big")


# Packed decimals: two digits in a byte, the sign in the last half byte (COMP-3), or no sign (COMP-6, BCD).

POSITIVE, NEGATIVE, UNSIGNED = "c", "d", "f"
SIGNS = {"a": 1, "c": 1, "e": 1, "f": 1, "b": -1, "d": -1}
"""All that machines have written; what we write is c, d and f."""


def read_packed(data: bytes) -> int:
    """The number. Raises ValueError if a half byte is not what it must be."""
    digits = data.hex()
    sign = SIGNS.get(digits[-1])
    if sign is None:
        raise ValueError(f"sign {digits[-1]} in {digits}")
    try:
        return sign * int(digits[:-1] or "0")
    except ValueError:
        raise ValueError(digits) from None


def read_bcd(data: bytes) -> int:
    """The number without a sign. Raises ValueError."""
    try:
        return int(data.hex())
    except ValueError:
        raise ValueError(data.hex()) from None


def write_packed(number: int, digits: int, size: int, signed: bool) -> bytes:
    """The number in this many bytes. Raises ValueError if it has more digits."""
    text = str(abs(number))
    if len(text) > digits or (number < 0 and not signed):
        raise ValueError(str(number))
    sign = (NEGATIVE if number < 0 else POSITIVE) if signed else UNSIGNED
    return bytes.fromhex(text.zfill(2 * size - 1) + sign)


def write_bcd(number: int, digits: int, size: int) -> bytes:
    """The number without a sign in this many bytes. Raises ValueError."""
    text = str(number)
    if len(text) > digits or number < 0:
        raise ValueError(text)
    return bytes.fromhex(text.zfill(2 * size))


# Decimal numbers as integers with an implied point: what packed, zoned and binary numbers have in common.

EXACT = Context(prec=60, rounding=ROUND_HALF_UP)
"""Enough for all digits that a field can have; never rounds them away."""


def to_scaled(value: object, scale: int) -> int:
    """A number as an integer with `scale` digits behind the implied point, rounded half up.

    Raises ValueError for what is no number.
    """
    if value.__class__ is int and scale >= 0:
        return value * 10**scale  # type: ignore[no-any-return]
    try:
        if value.__class__ is not Decimal:
            value = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)  # type: ignore[arg-type]
        number: Decimal = EXACT.multiply(value, point(-scale))
        return int(number.to_integral_value(ROUND_HALF_UP, EXACT))
    except (InvalidOperation, TypeError, OverflowError):
        raise ValueError(f"{value!r}") from None


@cache
def point(scale: int) -> Decimal:
    """Return the factor that moves the last `scale` digits of an integer behind the decimal point."""
    return Decimal(1).scaleb(-scale, EXACT)


from_scaled = EXACT.multiply
"""The number of an integer and a `point`."""


# External (zoned) decimals: one digit in a character, the sign in a byte of its own or in the zone of a digit.


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
    """Return a reader for this position of the sign. It raises ValueError if a byte is no digit or sign."""
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
