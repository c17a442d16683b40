"""The types of ESQL, and which of them a Python value is of."""

from datetime import date, datetime, time
from decimal import Decimal
from enum import StrEnum
from typing import Any

from heliograph.flow.errors import INCOMPATIBLE_TYPES, ExpressionError
from heliograph.flow.language.values.bits import Bits
from heliograph.flow.language.values.intervals import Interval
from heliograph.flow.language.values.zone import GmtTime, GmtTimestamp

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
