"""Literals and calls of built-in functions."""

from collections.abc import Callable
from decimal import Decimal

from heliograph.flow.errors import ConversionError
from heliograph.flow.language.esql import syntax
from heliograph.flow.language.esql.builtin_functions import (
    BITSTREAM_CLAUSES,
    EXTRACTS,
    FUNCTIONS,
    OVERRIDABLE,
    ROUNDINGS,
    WITHOUT_PARENTHESES,
)
from heliograph.flow.language.esql.parsing.cursor import PathParser
from heliograph.flow.language.esql.parsing.lexer import Token, TokenKind
from heliograph.flow.language.esql.source_text import suggestion
from heliograph.flow.language.values import literals, times

# Values of literals.

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
INTERVAL_FIELDS = (*times.MONTHS, *times.MICROSECONDS)
"""The fields of intervals, from large to small."""


class NoSuchLiteral(ValueError):
    """The text of a literal has no value; the message says why."""


def plain(token: Token) -> syntax.Literal | None:
    """The literal that this token is by itself, or None."""
    text = token.text
    match token.kind:
        case TokenKind.STRING:
            return syntax.Literal("CHARACTER", text, at=token.at)
        case TokenKind.INTEGER:
            if len(text) < 20 and int(text) <= literals.MAX_INTEGER:
                return syntax.Literal("INTEGER", int(text), at=token.at)
            return syntax.Literal("DECIMAL", _decimal(text), at=token.at)
        case TokenKind.HEX:
            number = int(text, 16)
            if number >= 2**64:
                raise NoSuchLiteral(f"{text} does not fit an INTEGER, which has 64 bits")
            # A hexadecimal literal has the bits of a 64-bit integer in two's complement, so the upper half is negative.
            return syntax.Literal("INTEGER", number if number <= literals.MAX_INTEGER else number - 2**64, at=token.at)
        case TokenKind.FLOAT:
            if float(text) == float("inf"):
                return syntax.Literal("DECIMAL", _decimal(text), at=token.at)
            return syntax.Literal("FLOAT", float(text), at=token.at)
        case TokenKind.BLOB:
            return syntax.Literal("BLOB", bytes.fromhex(text), at=token.at)
        case TokenKind.BIT:
            return syntax.Literal("BIT", text, at=token.at)
    return None


def typed(word: str, token: Token) -> syntax.Literal:
    """`DATE '...'` and its like: the word in upper case, and the string."""
    if word == "DECIMAL":
        return syntax.Literal("DECIMAL", _decimal(token.text), at=token.at)
    read, example = _READERS[word]
    try:
        read(token.text)
    except ConversionError as error:
        raise NoSuchLiteral(f"{error}; it is written like '{example}'") from None
    return syntax.Literal(word, token.text, at=token.at)


def interval(token: Token, qualifier: syntax.Qualifier) -> syntax.Literal:
    """`INTERVAL '...' DAY TO SECOND`."""
    try:
        literals.to_interval(token.text, fields_of(qualifier))
    except ConversionError as error:
        raise NoSuchLiteral(str(error)) from None
    return syntax.Literal("INTERVAL", token.text, qualifier, at=token.at)


def fields_of(qualifier: syntax.Qualifier) -> times.Qualifier:
    """The qualifier as a value has it; ValueError if there is none of these fields."""
    return times.Qualifier(qualifier.start + (f" TO {qualifier.end}" if qualifier.end else ""))


def _decimal(text: str) -> Decimal:
    digits = text.lower().partition("e")[0].replace(".", "").strip(" +-").lstrip("0")
    if len(digits) > _DIGITS:
        raise NoSuchLiteral(f"{text[:50]} has more than the {_DIGITS} digits of a DECIMAL")
    try:
        return literals.to_decimal(text)
    except (ConversionError, ArithmeticError):
        why = "is too large for" if digits.isdigit() else "is not"
        raise NoSuchLiteral(f"'{text}' {why} a DECIMAL") from None


# Parsing names in expressions: fields, calls, and the functions with a syntax of their own.

Clauses = tuple[tuple[str, syntax.Expression], ...]

_TYPES = {
    name: name
    for name in [
        "BOOLEAN",
        "INTEGER",
        "FLOAT",
        "DECIMAL",
        "CHARACTER",
        "BLOB",
        "BIT",
        "DATE",
        "TIME",
        "TIMESTAMP",
        "GMTTIME",
        "GMTTIMESTAMP",
        "INTERVAL",
        "ROW",
        "REFERENCE",
    ]
} | {"INT": "INTEGER", "CHAR": "CHARACTER", "DEC": "DECIMAL"}
_OTHER_LANGUAGES = {
    "STRING": "CHARACTER",
    "VARCHAR": "CHARACTER",
    "TEXT": "CHARACTER",
    "DOUBLE": "FLOAT",
    "REAL": "FLOAT",
}
_OTHER_LANGUAGES |= {
    "BOOL": "BOOLEAN",
    "LONG": "INTEGER",
    "NUMERIC": "DECIMAL",
    "NUMBER": "DECIMAL",
    "DATETIME": "TIMESTAMP",
}
_CAST_CLAUSES = ("CCSID", "ENCODING", "FORMAT", "DEFAULT")


class CallParser(PathParser):
    """Names and what stands in parentheses behind them."""

    def __init__(self, text: str, file: str) -> None:
        super().__init__(text, file)
        self._special: dict[str, Callable[[Token], syntax.Expression]] = {
            "CAST": self._cast,
            "SUBSTRING": self._substring,
            "POSITION": self._position_of,
            "OVERLAY": self._overlay,
            "TRIM": self._trim,
            "EXTRACT": self._extract,
            "ROUND": self._round,
            "ASBITSTREAM": self._bitstream,
            "PASSTHRU": self.passthru_behind,
        }

    def named(self) -> syntax.Expression:
        """A field, a variable, or a call."""
        start = self.token
        if start.kind is TokenKind.WORD:
            follower = self.peek().upper
            if follower == "(":
                special = self._special.get(start.upper)
                if special is not None:
                    self.advance()
                    self.advance()
                    return special(start)
            elif follower not in (".", "[") and start.upper in WITHOUT_PARENTHESES:
                self.advance()
                return syntax.Call(start.upper, built_in=True, at=start.at)
        reference = self.reference_behind(self.name("an expression"), start.at)
        if self.sees("("):
            return self._call_of(reference, start)
        return reference

    def call(self, what: str) -> syntax.Call:
        """`name(arguments)`, as behind CALL."""
        start = self.token
        reference = self.reference_behind(self.name(what), start.at)
        if not self.sees("("):
            raise self.failure(f"expected ( behind {what}, found {self.token}")
        return self._call_of(reference, start)

    def _call_of(self, reference: syntax.FieldReference, start: Token) -> syntax.Call:
        """The call of what looked like a field so far."""
        names = [reference.correlation]
        for step in reference.steps:
            if not isinstance(step.name, str) or step.namespace is not None or step.type or step.index:
                raise self.failure(f"expected an operator or the end of the expression, found {self.token}")
            names.append(step.name)
        if reference.index is not None:
            raise self.failure(f"expected an operator or the end of the expression, found {self.token}")
        *schema, name = names
        arguments = self.arguments(name)
        known = start.upper in FUNCTIONS and start.upper not in OVERRIDABLE
        built_in = not schema and start.kind is TokenKind.WORD and known
        return syntax.Call(
            name.upper() if built_in else name, arguments, schema=tuple(schema), built_in=built_in, at=start.at
        )

    def arguments(self, what: str) -> tuple[syntax.Expression, ...]:
        """Expressions with commas, in parentheses."""
        self.expect("(", f"behind {what}")
        arguments = [] if self.sees(")") else [self.expression()]
        while self.takes(","):
            arguments.append(self.expression())
        self.expect(")", f"behind the arguments of {what}")
        return tuple(arguments)

    def data_type(self) -> syntax.DataType:
        """A type, as in declarations and CAST."""
        token = self.token
        name = _TYPES.get(token.upper) if token.kind is TokenKind.WORD else None
        if name is None:
            near = _OTHER_LANGUAGES.get(token.upper)
            hint = f"; did you mean {near}?" if near else suggestion(token.upper, _TYPES)
            raise self.failure(f"expected a type (CHARACTER, INTEGER, ...), found {token}{hint}")
        self.advance()
        if name == "INTERVAL":
            qualified = self.token.kind is TokenKind.WORD and self.token.upper in INTERVAL_FIELDS
            return syntax.DataType(name, qualifier=self.qualifier() if qualified else None, at=token.at)
        if name == "DECIMAL" and self.takes("("):
            precision = self.whole_number("the precision of DECIMAL")
            scale = self.whole_number("the scale of DECIMAL") if self.takes(",") else None
            self.expect(")", "behind the precision of DECIMAL")
            return syntax.DataType(name, precision, scale, at=token.at)
        return syntax.DataType(name, at=token.at)

    def whole_number(self, what: str) -> int:
        """A number that is written down."""
        if self.token.kind is not TokenKind.INTEGER or len(self.token.text) > 9:
            raise self.failure(f"expected a number for {what}, found {self.token}")
        return int(self.advance().text)

    def qualifier(self) -> syntax.Qualifier:
        """`DAY`, `YEAR TO MONTH` ..."""
        at = self.token.at
        start = self.expect_one_of(INTERVAL_FIELDS, "YEAR, MONTH, DAY, HOUR, MINUTE or SECOND for an interval")
        # TO may also belong to the construct around the interval: PASSTHRU(... TO Database.source).
        if not self.sees("TO") or self.peek().upper not in INTERVAL_FIELDS:
            return syntax.Qualifier(start, at=at)
        self.advance()
        end_token = self.advance()
        qualifier = syntax.Qualifier(start, end_token.upper, at=at)
        try:
            fields_of(qualifier)
        except ValueError:
            raise self.failure(f"there is no interval of {start} TO {qualifier.end}", end_token) from None
        return qualifier

    # Functions with a syntax of their own; the name and ( have been taken

    def _cast(self, start: Token) -> syntax.Cast:
        sources = [self.expression()]
        while self.takes(","):
            sources.append(self.expression())
        self.expect("AS", "behind what CAST converts")
        kind = self.data_type()
        if kind.name in ("ROW", "REFERENCE"):
            raise self.failure(f"CAST cannot make a {kind.name}", start)
        clauses = dict(self.clauses(_CAST_CLAUSES, "CAST"))
        self._close(start, _CAST_CLAUSES)
        return syntax.Cast(
            tuple(sources),
            kind,
            clauses.get("CCSID"),
            clauses.get("ENCODING"),
            clauses.get("FORMAT"),
            clauses.get("DEFAULT"),
            at=start.at,
        )

    def _substring(self, start: Token) -> syntax.Call:
        source = self.expression()
        if self.sees(","):
            raise self.failure("SUBSTRING has no commas: SUBSTRING(text FROM start FOR length)")
        word = self.expect_one_of(("FROM", "BEFORE", "AFTER"), "FROM, BEFORE or AFTER in SUBSTRING")
        clauses = [(word, self.expression())]
        if self.takes("FOR"):
            clauses.append(("FOR", self.expression()))
        return self._special_call(start, (source,), tuple(clauses))

    def _position_of(self, start: Token) -> syntax.Call:
        # Not a full expression: IN would be parsed as a comparison.
        wanted = self.operand()
        self.expect("IN", "behind what POSITION looks for")
        source = self.expression()
        return self._special_call(start, (wanted, source), self.clauses(("FROM", "REPEAT"), "POSITION"))

    def _overlay(self, start: Token) -> syntax.Call:
        source = self.expression()
        self.expect("PLACING", "in OVERLAY")
        placed = self.expression()
        self.expect("FROM", "in OVERLAY")
        clauses = [("FROM", self.expression())]
        if self.takes("FOR"):
            clauses.append(("FOR", self.expression()))
        return self._special_call(start, (source, placed), tuple(clauses))

    def _trim(self, start: Token) -> syntax.Call:
        word = self.takes_one_of(("BOTH", "LEADING", "TRAILING"))
        if word is not None and self.takes("FROM"):
            return self._special_call(start, (self.expression(),), word=word)
        first = self.expression()
        if self.takes("FROM"):
            return self._special_call(start, (self.expression(), first), word=word or "BOTH")
        if word is not None:
            raise self.failure(f"expected FROM in TRIM({word} ..., found {self.token}")
        return self._special_call(start, (first,), word="BOTH")

    def _extract(self, start: Token) -> syntax.Call:
        word = self.expect_one_of(EXTRACTS, "what EXTRACT takes (YEAR, DAYOFWEEK, ...)")
        self.expect("FROM", "in EXTRACT")
        return self._special_call(start, (self.expression(),), word=word)

    def _round(self, start: Token) -> syntax.Call:
        arguments = [self.expression()]
        while self.takes(","):
            arguments.append(self.expression())
        word = self.expect_one_of(ROUNDINGS, "a mode of ROUND (ROUND_HALF_UP, ...)") if self.takes("MODE") else None
        return self._special_call(start, tuple(arguments), word=word)

    def _bitstream(self, start: Token) -> syntax.Call:
        source = self.expression()
        return self._special_call(start, (source,), self.bitstream_clauses("ASBITSTREAM"))

    def bitstream_clauses(self, what: str) -> Clauses:
        """The clauses of ASBITSTREAM and PARSE: with words, or with commas in their order."""
        if not self.sees(","):
            return self.clauses(BITSTREAM_CLAUSES, what)
        clauses = []
        for word in BITSTREAM_CLAUSES:
            if not self.takes(","):
                break
            if not self.sees(",") and not self.sees(")"):
                clauses.append((word, self.expression()))
        return tuple(clauses)

    def passthru_behind(self, start: Token) -> syntax.Passthru:
        """What stands behind `PASSTHRU(`."""
        sql = self.expression()
        if self.takes(","):
            values = [self.expression()]
            while self.takes(","):
                values.append(self.expression())
            self._close(start)
            return syntax.Passthru(sql, None, tuple(values), at=start.at)
        passthru = self.passthru_clauses(sql, start)
        self._close(start, ("TO", "VALUES"))
        return passthru

    def passthru_clauses(self, sql: syntax.Expression, start: Token) -> syntax.Passthru:
        """`[TO Database.source] [VALUES(...)]`."""
        database = self.field_reference("Database.source behind TO") if self.takes("TO") else None
        values = self.arguments("VALUES") if self.takes("VALUES") else ()
        return syntax.Passthru(sql, database, values, at=start.at)

    def clauses(self, words: tuple[str, ...], what: str) -> Clauses:
        """`WORD expression` in any order, each at most once."""
        found: dict[str, syntax.Expression] = {}
        while True:
            token = self.token
            word = self.takes_one_of(words)
            if word is None:
                return tuple((word, found[word]) for word in words if word in found)
            if word in found:
                raise self.failure(f"{what} has {word} twice", token)
            found[word] = self.expression()

    def _special_call(
        self, start: Token, arguments: tuple[syntax.Expression, ...], clauses: Clauses = (), word: str | None = None
    ) -> syntax.Call:
        self._close(start)
        return syntax.Call(start.upper, arguments, clauses, word, built_in=True, at=start.at)

    def _close(self, start: Token, clauses: tuple[str, ...] = ()) -> None:
        hint = suggestion(self.token.text, clauses) if clauses and self.token.kind is TokenKind.WORD else ""
        if not self.takes(")"):
            raise self.failure(f"expected ) at the end of {start.upper}(..., found {self.token}{hint}")
