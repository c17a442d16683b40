"""DECIMAL arithmetic: 34 digits, half even, with infinities and NAN; never by the thread's own decimal context.

Policy: results are rounded to 34 significant digits. An operation that has no answer (INF - INF, 0 / 0 of infinities)
gives NAN; only dividing by zero is an error.
"""

from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal, DivisionByZero, InvalidOperation
from fractions import Fraction

DIGITS = 34

# Without traps: what is an error in ESQL is looked for before or after, and said with the operands.
CONTEXT = Context(prec=DIGITS, rounding=ROUND_HALF_EVEN, Emin=-6143, Emax=6144, traps=[])
# For shifting and comparing without loss of digits.
EXACT = Context(
    prec=100_000, rounding=ROUND_HALF_EVEN, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[InvalidOperation, DivisionByZero]
)


def from_float(value: float) -> Decimal:
    """A FLOAT as DECIMAL: rounded to the 15 digits that a FLOAT can vouch for."""
    return CONTEXT.create_decimal(f"{value:.15g}")


def fraction(number: float | Decimal) -> Fraction:
    """A finite number without loss, but for FLOAT: that counts by its 15 digits, so that 2.3 is 2.3 and not less."""
    return Fraction(from_float(number) if type(number) is float else number)
