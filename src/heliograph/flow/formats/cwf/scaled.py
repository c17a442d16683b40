"""Decimal numbers as integers with an implied point: what packed, zoned and binary numbers have in common."""

from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation

EXACT = Context(prec=60, rounding=ROUND_HALF_UP)
"""Enough for all digits that a field can have; never rounds them away."""


def to_scaled(value: object, scale: int) -> int:
    """A number as an integer with `scale` digits behind the implied point, rounded half up.

    Raises ValueError for what is no number.
    """
    if value.__class__ is int and scale >= 0:
        return value * 10**scale  # type: ignore[no-any-return]
    try:
        number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)  # type: ignore[arg-type]
        return int(number.scaleb(scale, EXACT).to_integral_value(ROUND_HALF_UP, EXACT))
    except (InvalidOperation, TypeError, OverflowError):
        raise ValueError(f"{value!r}") from None


def from_scaled(number: int, scale: int) -> Decimal:
    """The number whose last `scale` digits stand behind the point."""
    return Decimal(number).scaleb(-scale, EXACT)
