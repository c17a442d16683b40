"""The functions of the language, and how many arguments each takes.

Only what stands between the parentheses as plain arguments is counted; clauses (`FROM`, `FOR`, `CCSID` ...) are checked
by the parser, as they have a syntax of their own.
"""

from typing import NamedTuple


class Signature(NamedTuple):
    """How many arguments a function takes; no maximum is None."""

    least: int
    most: int | None


_NONE = Signature(0, 0)
_ONE = Signature(1, 1)
_TWO = Signature(2, 2)
_THREE = Signature(3, 3)
_ANY = Signature(1, None)

_BY_SIGNATURE: dict[Signature, str] = {
    _NONE: "UUIDASBLOB UUIDASCHAR",
    _ONE: """
        ABS ABSVAL ACOS ASIN ATAN BITNOT CEIL CEILING COS COSH COT DEGREES EXP FLOOR LN LOG10 RADIANS SIGN SIN SINH SQRT
        TAN TANH
        LENGTH LOWER LCASE LTRIM RTRIM SPACE UPPER UCASE SUBSTRING EXTRACT
        ASBITSTREAM BITSTREAM FIELDNAME FIELDNAMESPACE FIELDTYPE FIELDVALUE LASTMOVE
        CARDINALITY EXISTS SINGULAR THE EVAL SLEEP
    """,
    _TWO: """
        ATAN2 MOD POWER ROUND TRUNCATE CONTAINS ENDSWITH LEFT OVERLAY POSITION REPLICATE RIGHT STARTSWITH
        SAMEFIELD NULLIF
    """,
    Signature(0, 1): "RAND",
    Signature(1, 2): "LOG TRIM",
    Signature(2, 3): "REPLACE TRANSLATE",
    Signature(2, None): "BITAND BITOR BITXOR COALESCE",
}

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

FUNCTIONS: dict[str, Signature] = {
    name: signature for signature, names in _BY_SIGNATURE.items() for name in names.split()
} | dict.fromkeys(WITHOUT_PARENTHESES, _NONE)
"""Functions of the language by name, in upper case. CAST, CASE, SELECT, ROW, LIST, PASSTHRU and FOR are not calls."""

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
