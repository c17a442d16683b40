"""Packed decimals: two digits in a byte, the sign in the last half byte (COMP-3), or no sign (COMP-6, BCD)."""

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
