"""Decimal numbers as integers with an implied point: what packed, zoned and binary numbers have in common."""

from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from functools import cache

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
    """What a number is multiplied with to have its last `scale` digits behind the point."""
    return Decimal(1).scaleb(-scale, EXACT)


from_scaled = EXACT.multiply
"""The number of an integer and a `point`."""
