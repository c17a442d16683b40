"""The functions of the language, and how many arguments each takes.

Only what stands between the parentheses as plain arguments is counted; clauses (`FROM`, `FOR`, `CCSID` ...) are checked
by the parser, as they have a syntax of their own.
"""

from typing import NamedTuple

from heliograph.flow.language.values.functions import ANY_NUMBER
from heliograph.flow.language.values.functions import FUNCTIONS as SCALARS


class Signature(NamedTuple):
    """How many arguments a function takes; no maximum is None."""

    least: int
    most: int | None


WITHOUT_PARENTHESES = frozenset(
    [
        "CURRENT_DATE",
        "CURRENT_TIME",
        "CURRENT_TIMESTAMP",
        "CURRENT_GMTDATE",
        "CURRENT_GMTTIME",
        "CURRENT_GMTTIMESTAMP",
        "LOCAL_TIMEZONE",
        "SQLCODE",
        "SQLERRORTEXT",
        "SQLNATIVEERROR",
        "SQLSTATE",
    ]
)
"""Functions that are called by their name alone."""

_NO_SCALARS: dict[str, Signature] = {
    **dict.fromkeys(WITHOUT_PARENTHESES, Signature(0, 0)),
    **dict.fromkeys(
        (
            "ASBITSTREAM",
            "BITSTREAM",
            "CARDINALITY",
            "EVAL",
            "EXISTS",
            "FIELDNAME",
            "FIELDNAMESPACE",
            "FIELDTYPE",
            "FIELDVALUE",
            "LASTMOVE",
            "SINGULAR",
            "THE",
        ),
        Signature(1, 1),
    ),
    "SAMEFIELD": Signature(2, 2),
}
"""Functions that look at more than values."""
_WITH_CLAUSES: dict[str, Signature] = {
    "EXTRACT": Signature(1, 1),
    "LTRIM": Signature(1, 1),
    "OVERLAY": Signature(2, 2),
    "POSITION": Signature(2, 2),
    "ROUND": Signature(2, 2),
    "RTRIM": Signature(1, 1),
    "SUBSTRING": Signature(1, 1),
    "TRIM": Signature(1, 2),
}
"""Functions that take less as plain arguments than the callables for them do."""
_NOT_WRITTEN = ("SUBSTRING_AFTER", "SUBSTRING_BEFORE")

FUNCTIONS: dict[str, Signature] = {
    **{
        name: Signature(function.least, None if function.most == ANY_NUMBER else function.most)
        for name, function in SCALARS.items()
        if name not in _NOT_WRITTEN
    },
    **_WITH_CLAUSES,
    **_NO_SCALARS,
}
"""Functions of the language by name, in upper case. CAST, CASE, SELECT, ROW, LIST, PASSTHRU and FOR are not calls."""

OVERRIDABLE = frozenset({"BASE64DECODE", "BASE64ENCODE"})
"""Functions that are newer than many programs: a routine of the program with such a name takes precedence."""

EXTRACTS = frozenset(
    [
        "YEAR",
        "MONTH",
        "DAY",
        "HOUR",
        "MINUTE",
        "SECOND",
        "DAYS",
        "DAYOFYEAR",
        "DAYOFWEEK",
        "MONTHS",
        "QUARTER",
        "QUARTERS",
        "QUARTEROFYEAR",
        "WEEKS",
        "WEEKOFYEAR",
        "WEEKOFMONTH",
        "ISLEAPYEAR",
    ]
)
"""What EXTRACT can take out of a date or time."""

ROUNDINGS = frozenset(
    ["ROUND_UP", "ROUND_DOWN", "ROUND_CEILING", "ROUND_FLOOR", "ROUND_HALF_UP", "ROUND_HALF_EVEN", "ROUND_HALF_DOWN"]
)
"""The modes of ROUND."""

BITSTREAM_CLAUSES = ("ENCODING", "CCSID", "SET", "TYPE", "FORMAT", "OPTIONS")
"""The clauses of ASBITSTREAM and PARSE, in the order in which they stand when written with commas only."""
