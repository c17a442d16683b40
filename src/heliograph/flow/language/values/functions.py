"""Every scalar function of ESQL by its name, for whoever compiles calls of them.

Functions with a syntax of their own are called with plain arguments:

| ESQL | call |
|---|---|
| SUBSTRING(s FROM n FOR m) | SUBSTRING(s, n, m) |
| SUBSTRING(s BEFORE t FOR m), SUBSTRING(s AFTER t FOR m) | SUBSTRING_BEFORE(s, t, m), SUBSTRING_AFTER(s, t, m) |
| POSITION(t IN s FROM n REPEAT k) | POSITION(t, s, n, k), n being 0 without FROM |
| OVERLAY(s PLACING t FROM n FOR m) | OVERLAY(s, t, n, m) |
| TRIM(BOTH c FROM s), LEADING, TRAILING | TRIM(s, c), LTRIM(s, c), RTRIM(s, c) |
| ROUND(x, n MODE m) | ROUND(x, n, "m") |
| EXTRACT(f FROM d) | EXTRACT("f", d) |

CURRENT_DATE and the like are in `CURRENT`: they get the time of the node's work on one message.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from heliograph.flow.language.values import functions_datetime as datetimes
from heliograph.flow.language.values import functions_numeric as numeric
from heliograph.flow.language.values import functions_other as other
from heliograph.flow.language.values import functions_text as text
from heliograph.flow.language.values.functions_numeric import of_float

ANY_NUMBER = 1000


@dataclass(frozen=True, slots=True)
class Function:
    """`call` takes from `least` to `most` arguments, values of ESQL, and gives one."""

    call: Callable[..., Any]
    least: int
    most: int


def _one(call: Callable[..., Any]) -> Function:
    return Function(call, 1, 1)


def _two(call: Callable[..., Any]) -> Function:
    return Function(call, 2, 2)


FUNCTIONS: Mapping[str, Function] = {
    "ABS": _one(numeric.absolute),
    "ABSVAL": _one(numeric.absolute),
    "ACOS": _one(of_float("ACOS", math.acos)),
    "ASIN": _one(of_float("ASIN", math.asin)),
    "ATAN": _one(of_float("ATAN", math.atan)),
    "ATAN2": _two(numeric.atan2),
    "BITAND": Function(numeric.bit_and, 2, ANY_NUMBER),
    "BITNOT": _one(numeric.bit_not),
    "BITOR": Function(numeric.bit_or, 2, ANY_NUMBER),
    "BITXOR": Function(numeric.bit_xor, 2, ANY_NUMBER),
    "CEIL": _one(numeric.ceiling),
    "CEILING": _one(numeric.ceiling),
    "COS": _one(of_float("COS", math.cos)),
    "COSH": _one(of_float("COSH", math.cosh)),
    "COT": _one(numeric.cotangent),
    "DEGREES": _one(of_float("DEGREES", math.degrees)),
    "EXP": _one(of_float("EXP", math.exp)),
    "FLOOR": _one(numeric.floor),
    "LN": _one(of_float("LN", math.log)),
    "LOG": _one(of_float("LOG", math.log)),
    "LOG10": _one(of_float("LOG10", math.log10)),
    "MOD": _two(numeric.mod),
    "POWER": _two(numeric.power),
    "RADIANS": _one(of_float("RADIANS", math.radians)),
    "RAND": Function(numeric.random_number, 0, 1),
    "ROUND": Function(numeric.round_, 2, 3),
    "SIGN": _one(numeric.sign),
    "SIN": _one(of_float("SIN", math.sin)),
    "SINH": _one(of_float("SINH", math.sinh)),
    "SQRT": _one(numeric.square_root),
    "TAN": _one(of_float("TAN", math.tan)),
    "TANH": _one(of_float("TANH", math.tanh)),
    "TRUNCATE": _two(numeric.truncate),
    "CONTAINS": _two(text.contains),
    "ENDSWITH": _two(text.ends_with),
    "LCASE": _one(text.lower),
    "LEFT": _two(text.left),
    "LENGTH": _one(text.length),
    "LOWER": _one(text.lower),
    "LTRIM": Function(text.trim_leading, 1, 2),
    "OVERLAY": Function(text.overlay, 3, 4),
    "POSITION": Function(text.position, 2, 4),
    "REPLACE": Function(text.replace, 2, 3),
    "REPLICATE": _two(text.replicate),
    "RIGHT": _two(text.right),
    "RTRIM": Function(text.trim_trailing, 1, 2),
    "SPACE": _one(text.space),
    "STARTSWITH": _two(text.starts_with),
    "SUBSTRING": Function(text.substring, 2, 3),
    "SUBSTRING_AFTER": Function(text.substring_after, 2, 3),
    "SUBSTRING_BEFORE": Function(text.substring_before, 2, 3),
    "TRANSLATE": Function(text.translate, 2, 3),
    "TRIM": Function(text.trim, 1, 2),
    "UCASE": _one(text.upper),
    "UPPER": _one(text.upper),
    "BASE64DECODE": _one(other.base64_decode),
    "BASE64ENCODE": _one(other.base64_encode),
    "COALESCE": Function(other.coalesce, 1, ANY_NUMBER),
    "EXTRACT": _two(datetimes.extract),
    "NULLIF": _two(other.nullif),
    "SLEEP": _one(other.sleep),
    "UUIDASBLOB": Function(other.uuid_as_blob, 0, 1),
    "UUIDASCHAR": Function(other.uuid_as_char, 0, 1),
}

CURRENT: Mapping[str, Callable[[datetime], Any]] = {
    "CURRENT_DATE": datetimes.current_date,
    "CURRENT_GMTDATE": datetimes.current_gmtdate,
    "CURRENT_GMTTIME": datetimes.current_gmttime,
    "CURRENT_GMTTIMESTAMP": datetimes.current_gmttimestamp,
    "CURRENT_TIME": datetimes.current_time,
    "CURRENT_TIMESTAMP": datetimes.current_timestamp,
    "LOCAL_TIMEZONE": datetimes.local_timezone,
}
