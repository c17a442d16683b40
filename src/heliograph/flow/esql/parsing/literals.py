"""Making values out of what is written as a literal."""

import re
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation

from heliograph.flow.esql.parsing.lexer import Kind, Token
from heliograph.flow.esql.syntax import Literal, Qualifier

_LARGEST = 2**63 - 1
_DIGITS = 34
"""As many as a DECIMAL holds."""
_READERS: dict[str, Callable[[str], object]] = {
    "DATE": date.fromisoformat,
    "TIME": time.fromisoformat,
    "TIMESTAMP": datetime.fromisoformat,
}
_SHAPES = {
    "DATE": re.compile(r"\d{4}-\d\d-\d\d"),
    "TIME": re.compile(r"\d\d:\d\d:\d\d(?:\.\d{1,6})?"),
    "TIMESTAMP": re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?"),
}
_EXAMPLES = {"DATE": "2004-09-30", "TIME": "11:49:23.656", "TIMESTAMP": "2004-09-30 11:49:23.656"}
_INTERVAL = {
    "YEAR": r"\d+",
    "MONTH": r"\d+",
    "DAY": r"\d+",
    "HOUR": r"\d+",
    "MINUTE": r"\d+",
    "SECOND": r"\d+(?:\.\d*)?",
}
_SEPARATORS = {"MONTH": "-", "HOUR": " ", "MINUTE": ":", "SECOND": ":"}

TYPED = frozenset({*_READERS, "GMTTIME", "GMTTIMESTAMP", "DECIMAL", "INTERVAL"})
"""Words that make a literal of the string behind them."""
INTERVAL_FIELDS = tuple(_INTERVAL)
"""The fields of intervals, from large to small: the first two are one family, the others are another."""


class NoSuchLiteral(ValueError):
    """What is written has no value; the text says why."""


def plain(token: Token) -> Literal | None:
    """The literal that this token is by itself, or None."""
    text = token.text
    match token.kind:
        case Kind.STRING:
            return Literal("CHARACTER", text, at=token.at)
        case Kind.INTEGER:
            if len(text) < 20 and int(text) <= _LARGEST:
                return Literal("INTEGER", int(text), at=token.at)
            return Literal("DECIMAL", _decimal(text), at=token.at)
        case Kind.HEX:
            number = int(text, 16)
            if number >= 2**64:
                raise NoSuchLiteral(f"{text} does not fit an INTEGER, which has 64 bits")
            # The bits are those of the integer, so the upper half is negative.
            return Literal("INTEGER", number if number <= _LARGEST else number - 2**64, at=token.at)
        case Kind.FLOAT:
            number_ = float(text)
            if number_ in (float("inf"), float("-inf")):
                return Literal("DECIMAL", _decimal(text), at=token.at)
            return Literal("FLOAT", number_, at=token.at)
        case Kind.BLOB:
            return Literal("BLOB", bytes.fromhex(text), at=token.at)
        case Kind.BIT:
            return Literal("BIT", text, at=token.at)
    return None


def typed(word: str, token: Token) -> Literal:
    """`DATE '...'` and its like: the word in upper case, and the string."""
    text = token.text.strip()
    if word == "DECIMAL":
        return Literal("DECIMAL", _decimal(text), at=token.at)
    shape = word.removeprefix("GMT")
    if not _SHAPES[shape].fullmatch(text):
        raise NoSuchLiteral(f"expected {word} like '{_EXAMPLES[shape]}', found '{token.text}'")
    try:
        _READERS[shape](_six_digits(text))
    except ValueError as error:
        raise NoSuchLiteral(f"there is no {word} '{token.text}': {error}") from None
    return Literal(word, text, at=token.at)


def interval(token: Token, qualifier: Qualifier) -> Literal:
    """`INTERVAL '...' DAY TO SECOND`."""
    text = token.text.strip()
    fields = fields_of(qualifier)
    pattern = _INTERVAL[fields[0]] + "".join(_SEPARATORS[name] + _INTERVAL[name] for name in fields[1:])
    if not re.fullmatch(r"[+-]?" + pattern, text):
        wanted = qualifier.start + (f" TO {qualifier.end}" if qualifier.end else "")
        example = "12" + "".join(_SEPARATORS[name] + "05" for name in fields[1:])
        raise NoSuchLiteral(f"expected an interval of {wanted} like '{example}', found '{token.text}'")
    return Literal("INTERVAL", text, qualifier, at=token.at)


def fields_of(qualifier: Qualifier) -> tuple[str, ...]:
    """All fields from the start to the end of a qualifier."""
    first = INTERVAL_FIELDS.index(qualifier.start)
    last = INTERVAL_FIELDS.index(qualifier.end or qualifier.start)
    return INTERVAL_FIELDS[first : last + 1]


def _decimal(text: str) -> Decimal:
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise NoSuchLiteral(f"'{_short(text)}' is not a DECIMAL") from None
    if number.is_finite() and len(number.as_tuple().digits) > _DIGITS:
        raise NoSuchLiteral(f"{_short(text)} has more than the {_DIGITS} digits of a DECIMAL")
    return number


def _short(text: str) -> str:
    return text if len(text) <= 50 else text[:50] + "..."


def _six_digits(text: str) -> str:
    """Fractions of a second as Python 3.11 reads them: with three or six digits."""
    whole, point, fraction = text.partition(".")
    return whole + point + fraction.ljust(6, "0") if point else text
