"""The types of ESQL, their text forms, and what operators do with operands of the wrong type."""

from collections.abc import Callable
from datetime import date, datetime, time
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal, DivisionByZero, InvalidOperation
from enum import StrEnum
from fractions import Fraction
from functools import wraps
from typing import Any, NoReturn

from heliograph.flow.errors import DIVIDE_BY_ZERO, INCOMPATIBLE_TYPES, OVERFLOW, ExpressionError
from heliograph.flow.language.values.bits import Bits
from heliograph.flow.language.values.times import GmtTime, GmtTimestamp, Interval

# What a value may be. Codegen and formats hand on values whose type only `type_of` knows: to them this is Any.
Value = (
    bool
    | int
    | float
    | Decimal
    | str
    | bytes
    | Bits
    | date
    | time
    | datetime
    | GmtTime
    | GmtTimestamp
    | Interval
    | None
)


class Type(StrEnum):
    """A type of ESQL; its value is its name in ESQL."""

    NULL = "NULL"
    BOOLEAN = "BOOLEAN"
    INTEGER = "INTEGER"
    FLOAT = "FLOAT"
    DECIMAL = "DECIMAL"
    CHARACTER = "CHARACTER"
    BLOB = "BLOB"
    BIT = "BIT"
    DATE = "DATE"
    TIME = "TIME"
    TIMESTAMP = "TIMESTAMP"
    GMTTIME = "GMTTIME"
    GMTTIMESTAMP = "GMTTIMESTAMP"
    INTERVAL = "INTERVAL"


_TYPES: dict[type[Any], Type] = {
    type(None): Type.NULL,
    bool: Type.BOOLEAN,
    int: Type.INTEGER,
    float: Type.FLOAT,
    Decimal: Type.DECIMAL,
    str: Type.CHARACTER,
    bytes: Type.BLOB,
    Bits: Type.BIT,
    date: Type.DATE,
    time: Type.TIME,
    datetime: Type.TIMESTAMP,
    GmtTime: Type.GMTTIME,
    GmtTimestamp: Type.GMTTIMESTAMP,
    Interval: Type.INTERVAL,
}


def type_of(value: Any) -> Type:
    """The ESQL type of a value. ExpressionError if it is none: a list or a row where a scalar is needed."""
    try:
        return _TYPES[type(value)]
    except KeyError:
        raise ExpressionError(
            INCOMPATIBLE_TYPES, f"a scalar value was expected, not {type(value).__name__}", (type(value).__name__,)
        ) from None


# DECIMAL arithmetic: 34 digits, half even, with infinities and NAN; never by the thread's own decimal context.
#
# Policy: results are rounded to 34 significant digits. An operation that has no answer (INF - INF, 0 / 0 of infinities)
# gives NAN; only dividing by zero is an error.

# Operands of ESQL: the arithmetic of DECIMAL, and what NULL and wrong types do to operators and functions.

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


# How operators refuse operands: the errors that all of them raise.


def refuse(operator: str, left: Any, right: Any) -> NoReturn:
    """Raise the error of an operator or function whose operands are of types that do not go together."""
    one, other = type_of(left).value, type_of(right).value
    hint = ""
    if "CHARACTER" in (one, other) and operator in ("+", "-", "*", "/", "||"):
        # Comparison casts text implicitly, and these operators do not, which is a common mistake.
        hint = "; CAST the other to CHARACTER" if operator == "||" else "; CAST CHARACTER to a number"
    raise ExpressionError(
        INCOMPATIBLE_TYPES, f"{operator} does not go with {one} and {other}{hint}", (operator, one, other, left, right)
    )


def overflow(operator: str, left: Any, right: Any) -> NoReturn:
    """Raise the error of an INTEGER result that does not fit 64 bits."""
    raise ExpressionError(
        OVERFLOW,
        f"the result of {character(left)} {operator} {character(right)} does not fit its type",
        (operator, left, right),
    )


def divide_by_zero(operator: str, left: Any, right: Any) -> NoReturn:
    """Raise the error of a division by zero."""
    raise ExpressionError(
        DIVIDE_BY_ZERO,
        f"divide by zero calculating {character(left)} {operator} {character(right)}",
        (f"{character(left)} {operator} {character(right)}",),
    )


# NULL in, NULL out: what nearly every function of ESQL does.


def propagates_null(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, but NULL if an argument is. Arguments that are left out keep their defaults."""

    @wraps(function)
    def call(*arguments: Any) -> Any:
        return None if None in arguments else function(*arguments)

    return call


# The text form of a value: what CAST to CHARACTER gives, and what a format without types of its own writes.
#
# Policy: FLOAT has the shortest mantissa that says it within 15 digits, one digit before the point, no point if nothing
# follows it, and an exponent with a sign: `4.472E+1`, `1E+0`, `0E+0` (for -0.0 too), `INF`, `-INF`, `NAN`. Times have
# three digits of fraction if these say all, else six, and none for a whole second.


def character(value: Any) -> str:
    """The text form of a value that is not NULL."""
    kind = type(value)
    if kind is str:
        return value  # type: ignore[no-any-return]
    if kind is int:
        return str(value)
    try:
        return _FORMS[kind](value)
    except KeyError:
        type_of(value)
        raise ValueError("NULL has no text form") from None


def float_text(value: float) -> str:
    """The text form of a FLOAT."""
    text = f"{value:.14E}"
    # Slices and a table, since every number of a message may pass here: 4.47200000000000E+01.
    exponent = _EXPONENTS.get(text[-4:])
    if exponent is not None:
        mantissa = text[:-4].rstrip("0")
        if mantissa[-1] != ".":
            return mantissa + exponent
        return mantissa[:-1] + exponent if value else "0E+0"
    mantissa, _, digits = text.partition("E")
    return f"{mantissa.rstrip('0').rstrip('.')}E{int(digits):+d}" if digits else mantissa


def decimal_text(value: Decimal) -> str:
    """The text form of a DECIMAL."""
    if value.is_finite():
        return str(value)
    if value.is_nan():
        return "NAN"
    return "INF" if value > 0 else "-INF"


def time_text(value: time) -> str:
    """The text form of a TIME or GMTTIME."""
    micros = value.microsecond
    if not micros:
        return value.isoformat("seconds")
    return value.isoformat("microseconds" if micros % 1000 else "milliseconds")


def timestamp_text(value: datetime) -> str:
    """The text form of a TIMESTAMP or GMTTIMESTAMP."""
    return f"{value.date().isoformat()} {time_text(value.time())}"


_EXPONENTS = {f"E{number:+03d}": f"E{number:+d}" for number in range(-99, 100)} | {"E-00": "E+0"}
_FORMS: dict[type, Callable[[Any], str]] = {
    bool: lambda value: "TRUE" if value else "FALSE",
    float: float_text,
    Decimal: decimal_text,
    bytes: lambda value: f"X'{value.hex()}'",
    Bits: lambda value: f"B'{value.digits}'",
    date: lambda value: f"DATE '{value.isoformat()}'",
    time: lambda value: f"TIME '{time_text(value)}'",
    datetime: lambda value: f"TIMESTAMP '{timestamp_text(value)}'",
    GmtTime: lambda value: f"GMTTIME '{time_text(value.time)}'",
    GmtTimestamp: lambda value: f"GMTTIMESTAMP '{timestamp_text(value.moment)}'",
    Interval: lambda value: f"INTERVAL '{value.text()}' {value.qualifier.value}",
}


def bare_text(value: Any) -> str:
    """The text form without the word and the quotes of a literal: `2003-04-01`, not `DATE '2003-04-01'`."""
    form = _BARE_FORMS.get(type(value))
    return form(value) if form is not None else character(value)


_BARE_FORMS: dict[type, Callable[[Any], str]] = {
    bytes: bytes.hex,
    Bits: lambda value: value.digits,
    date: date.isoformat,
    time: time_text,
    datetime: timestamp_text,
    GmtTime: lambda value: time_text(value.time),
    GmtTimestamp: lambda value: timestamp_text(value.moment),
}


def schema_text(value: Any) -> str:
    """The text form, but for what XML Schema has a form of: `2003-04-01T09:30:00`, `true`, `0A` (hexBinary)."""
    form = _SCHEMA_FORMS.get(type(value))
    return form(value) if form is not None else character(value)


_SCHEMA_FORMS: dict[type, Callable[[Any], str]] = {
    bool: lambda value: "true" if value else "false",
    bytes: lambda value: value.hex().upper(),
    date: date.isoformat,
    time: time_text,
    datetime: lambda value: timestamp_text(value).replace(" ", "T"),
    GmtTime: lambda value: f"{time_text(value.time)}Z",
    GmtTimestamp: lambda value: f"{timestamp_text(value.moment).replace(' ', 'T')}Z",
}
