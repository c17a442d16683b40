"""Floating-point numbers of S/390: a sign, an exponent of 16 (excess 64), and a hexadecimal fraction."""

from math import frexp, isfinite, ldexp

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
        return bytes(size)  # nothing, or too small for the exponent
    if sixteens >= EXCESS:
        raise ValueError(repr(number))
    return bytes([sixteens + EXCESS | (SIGN if number < 0 else 0)]) + fraction.to_bytes(size - 1, "big")
