"""Making values out of what is written as a literal."""

from collections.abc import Callable
from decimal import Decimal

from heliograph.flow.language.esql.parsing.lexer import Kind, Token
from heliograph.flow.language.esql.syntax import Literal, Qualifier
from heliograph.flow.language.values import intervals, literals
from heliograph.flow.language.values.errors import ConversionError

_DIGITS = 34
"""As many as a DECIMAL holds."""
_READERS: dict[str, tuple[Callable[[str], object], str]] = {
    "DATE": (literals.to_date, "2004-09-30"),
    "TIME": (literals.to_time, "11:49:23.656"),
    "TIMESTAMP": (literals.to_timestamp, "2004-09-30 11:49:23.656"),
    "GMTTIME": (literals.to_gmttime, "11:49:23.656"),
    "GMTTIMESTAMP": (literals.to_gmttimestamp, "2004-09-30 11:49:23.656"),
}
"""What reads the text of a literal, and an example."""

TYPED = frozenset({*_READERS, "DECIMAL", "INTERVAL"})
"""Words that make a literal of the string behind them."""
INTERVAL_FIELDS = (*intervals.MONTHS, *intervals.MICROSECONDS)
"""The fields of intervals, from large to small."""


class NoSuchLiteral(ValueError):
    """What is written has no value; the text says why."""


def plain(token: Token) -> Literal | None:
    """The literal that this token is by itself, or None."""
    text = token.text
    match token.kind:
        case Kind.STRING:
            return Literal("CHARACTER", text, at=token.at)
        case Kind.INTEGER:
            if len(text) < 20 and int(text) <= literals.MAX_INTEGER:
                return Literal("INTEGER", int(text), at=token.at)
            return Literal("DECIMAL", _decimal(text), at=token.at)
        case Kind.HEX:
            number = int(text, 16)
            if number >= 2**64:
                raise NoSuchLiteral(f"{text} does not fit an INTEGER, which has 64 bits")
            # The bits are those of the integer, so the upper half is negative.
            return Literal("INTEGER", number if number <= literals.MAX_INTEGER else number - 2**64, at=token.at)
        case Kind.FLOAT:
            if float(text) == float("inf"):
                return Literal("DECIMAL", _decimal(text), at=token.at)
            return Literal("FLOAT", float(text), at=token.at)
        case Kind.BLOB:
            return Literal("BLOB", bytes.fromhex(text), at=token.at)
        case Kind.BIT:
            return Literal("BIT", text, at=token.at)
    return None


def typed(word: str, token: Token) -> Literal:
    """`DATE '...'` and its like: the word in upper case, and the string."""
    if word == "DECIMAL":
        return Literal("DECIMAL", _decimal(token.text), at=token.at)
    read, example = _READERS[word]
    try:
        read(token.text)
    except ConversionError as error:
        raise NoSuchLiteral(f"{error}; it is written like '{example}'") from None
    return Literal(word, token.text, at=token.at)


def interval(token: Token, qualifier: Qualifier) -> Literal:
    """`INTERVAL '...' DAY TO SECOND`."""
    try:
        literals.to_interval(token.text, fields_of(qualifier))
    except ConversionError as error:
        raise NoSuchLiteral(str(error)) from None
    return Literal("INTERVAL", token.text, qualifier, at=token.at)


def fields_of(qualifier: Qualifier) -> intervals.Qualifier:
    """The qualifier as a value has it; ValueError if there is none of these fields."""
    return intervals.Qualifier(qualifier.start + (f" TO {qualifier.end}" if qualifier.end else ""))


def _decimal(text: str) -> Decimal:
    digits = text.lower().partition("e")[0].replace(".", "").strip(" +-").lstrip("0")
    if len(digits) > _DIGITS:
        raise NoSuchLiteral(f"{text[:50]} has more than the {_DIGITS} digits of a DECIMAL")
    try:
        return literals.to_decimal(text)
    except (ConversionError, ArithmeticError):
        why = "is too large for" if digits.isdigit() else "is not"
        raise NoSuchLiteral(f"'{text}' {why} a DECIMAL") from None
