"""Numbers as text and back, by a pattern such as `#,##0.00;(#,##0.00)`.

A pattern is what positive numbers look like, and after `;` what stands around negative ones (else a minus sign goes
before). `0` is a digit that is always there, `#` one that may be missing, `,` where a group ends, `.` the point, `E`
the exponent (`E+0`: always with a sign); around them any text, in single quotes if it is one of these, and `%` for a
number times 100. `:groupsep=x` and `:decsep=x` at the end say what groups and fractions are marked with.

Policy: rounded half even; a number that rounds to zero has no sign. More `#` and `0` before the point than `0` make the
exponent a multiple of their count. Reading, digits may be fewer or more than the pattern has, and groups may be left
out.
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

from heliograph.flow.errors import BAD_ARGUMENT, CAST_FAILED, ConversionError, ExpressionError
from heliograph.flow.language.values.conversions import convert
from heliograph.flow.language.values.types import CONTEXT, EXACT, Type, character, from_float

_SEPARATORS = re.compile(r"(?::(groupsep|decsep)=([^:]+))$", re.IGNORECASE)
_BODY = re.compile(r"([#,]*[0,]*)(\.([0]*)(#*))?(?:[eE](\+?)(0+))?")
_AFFIX = re.compile(r"(?:'(?:[^']|'')*'|[^'#0,.;])*")


@dataclass(frozen=True, slots=True)
class _Pattern:
    prefix: str
    suffix: str
    negative_prefix: str
    negative_suffix: str
    least_whole: int
    most_whole: int
    group: int
    least_fraction: int
    most_fraction: int
    exponent_digits: int
    exponent_plus: bool
    percent: bool
    group_mark: str
    point: str
    expression: re.Pattern[str]


def write(value: Any, pattern: str) -> str:
    """A number as the pattern has it."""
    compiled = _compiled(pattern)
    number = from_float(value) if type(value) is float else CONTEXT.create_decimal(value)
    if not number.is_finite():
        body, negative = character(number.copy_abs()), number.is_signed() and not number.is_nan()
    else:
        if compiled.percent:
            number = number.scaleb(2, context=EXACT)
        write_body = _scientific if compiled.exponent_digits else _plain
        body = write_body(number.copy_abs(), compiled)
        negative = number < 0 and any(digit in "123456789" for digit in body)
    if negative:
        return compiled.negative_prefix + body + compiled.negative_suffix
    return compiled.prefix + body + compiled.suffix


def read(text: str, pattern: str, target: Type) -> Any:
    """The number of type `target` that `text` says. ConversionError if it is not as the pattern has it."""
    compiled = _compiled(pattern)
    found = compiled.expression.fullmatch(text.strip())
    if found is None:
        shown = text if len(text) <= 100 else text[:100] + "..."
        raise ConversionError(CAST_FAILED, f"'{shown}' is not a number of the form {pattern}", (text, pattern))
    body = found["positive"] if found["positive"] is not None else found["negative"]
    if compiled.group:
        body = body.replace(compiled.group_mark, "")
    body = body.replace(compiled.point, ".")
    number = convert(body, Type.DECIMAL)
    if compiled.percent and number.is_finite():
        number = number.scaleb(-2, context=EXACT)
    return convert(number if found["negative"] is None else number.copy_negate(), target)


def _plain(number: Decimal, pattern: _Pattern) -> str:
    rounded = number.quantize(Decimal((0, (1,), -pattern.most_fraction)), context=EXACT)
    whole, _, fraction = f"{rounded:f}".partition(".")
    whole = whole.lstrip("0").rjust(pattern.least_whole, "0")
    fraction = fraction.rstrip("0").ljust(pattern.least_fraction, "0")
    if not whole and not fraction:
        whole = "0"
    if pattern.group:
        whole = _grouped(whole, pattern.group, pattern.group_mark)
    return whole + pattern.point + fraction if fraction else whole


def _grouped(digits: str, size: int, mark: str) -> str:
    first = len(digits) % size or size
    return mark.join([digits[:first], *[digits[place : place + size] for place in range(first, len(digits), size)]])


def _scientific(number: Decimal, pattern: _Pattern) -> str:
    exponent = 0
    if number:
        exponent = _exponent(number.adjusted(), pattern)
        # Rounding may carry into one more digit: 9.99 by `0.0E0` is 1.0E1.
        mantissa = _rounded_mantissa(number, exponent, pattern)
        exponent = _exponent(mantissa.adjusted() + exponent, pattern)
    body = _plain(number.scaleb(-exponent, context=EXACT), pattern)
    sign = "-" if exponent < 0 else "+" if pattern.exponent_plus else ""
    return f"{body}E{sign}{abs(exponent):0{pattern.exponent_digits}d}"


def _rounded_mantissa(number: Decimal, exponent: int, pattern: _Pattern) -> Decimal:
    return number.scaleb(-exponent, context=EXACT).quantize(Decimal((0, (1,), -pattern.most_fraction)), context=EXACT)


def _exponent(adjusted: int, pattern: _Pattern) -> int:
    if pattern.most_whole > max(pattern.least_whole, 1):
        return adjusted // pattern.most_whole * pattern.most_whole
    return adjusted - max(pattern.least_whole, 1) + 1


@lru_cache(maxsize=1000)
def _compiled(pattern: str) -> _Pattern:
    marks = {"groupsep": ",", "decsep": "."}
    rest = pattern
    while (found := _SEPARATORS.search(rest)) is not None:
        marks[found[1].lower()] = found[2]
        rest = rest[: found.start()]
    prefix, body, suffix, end = _subpattern(pattern, rest, 0)
    negative_prefix, negative_suffix = "-" + prefix, suffix
    if end < len(rest):
        negative_prefix, _, negative_suffix, end = _subpattern(pattern, rest, end + 1)
        if end < len(rest):
            raise _bad(pattern, "it has more than two parts")
    whole, fraction = body[1], body[2]
    expression = _expression(
        (_unquoted(prefix), _unquoted(suffix)),
        (_unquoted(negative_prefix), _unquoted(negative_suffix)),
        marks["groupsep"] if "," in whole else "",
        marks["decsep"] if fraction else "",
        bool(body[6]),
    )
    return _Pattern(
        _unquoted(prefix),
        _unquoted(suffix),
        _unquoted(negative_prefix),
        _unquoted(negative_suffix),
        whole.count("0"),
        len(whole.replace(",", "")),
        len(whole) - whole.rindex(",") - 1 if "," in whole else 0,
        len(body[3] or ""),
        len(body[3] or "") + len(body[4] or ""),
        len(body[6] or ""),
        bool(body[5]),
        "%" in re.sub("'[^']*'", "", prefix + suffix),
        marks["groupsep"],
        marks["decsep"],
        expression,
    )


def _subpattern(pattern: str, text: str, start: int) -> tuple[str, re.Match[str], str, int]:
    before = _AFFIX.match(text, start)
    body = _BODY.match(text, before.end() if before else start)
    after = _AFFIX.match(text, body.end() if body else start)
    if before is None or body is None or after is None or not re.search("[0#]", body[0]):
        raise _bad(pattern, "it has no digits")
    if body[1].endswith(","):
        raise _bad(pattern, "a group has no digits")
    end = after.end()
    if end < len(text) and text[end] != ";":
        raise _bad(pattern, f"{text[end]!r} at {end + 1} is out of place")
    return before[0], body, after[0], end


def _unquoted(affix: str) -> str:
    return re.sub("'((?:[^']|'')*)'", lambda found: found[1].replace("''", "'") or "'", affix)


def _expression(
    positive: tuple[str, str], negative: tuple[str, str], group: str, point: str, exponent: bool
) -> re.Pattern[str]:
    digits = f"[0-9]+(?:{re.escape(group)}[0-9]+)*" if group else "[0-9]+"
    number = f"(?:{digits}(?:{re.escape(point)}[0-9]*)?|{re.escape(point)}[0-9]+)" if point else digits
    number += "[eE][+-]?[0-9]+" if exponent else ""
    number = f"(?:{number}|INF|NAN)"
    forms = (
        f"{re.escape(negative[0])}(?P<negative>{number}){re.escape(negative[1])}",
        f"{re.escape(positive[0])}(?P<positive>{number}){re.escape(positive[1])}",
    )
    # What negative numbers look like is tried first: a pattern may mark them by a suffix alone.
    return re.compile("|".join(forms))


def _bad(pattern: str, why: str) -> ExpressionError:
    return ExpressionError(BAD_ARGUMENT, f"{pattern!r} is not a pattern of a number: {why}", (pattern,))
