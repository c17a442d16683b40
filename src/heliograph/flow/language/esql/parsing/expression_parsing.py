"""Parses expressions by precedence climbing.

Precedence from low to high: OR; AND; comparison, IN, BETWEEN, LIKE, IS; + and -; ||; * and /; NOT and the sign.
Operators of equal precedence associate to the left. Unlike in SQL, NOT binds stronger than comparison: `NOT a = b`
compares `NOT a` with b. Also unlike in SQL, + is weaker than ||: `a || b + c` means `(a || b) + c`.
"""

from collections.abc import Callable

from heliograph.flow.language.esql import syntax
from heliograph.flow.language.esql.parsing import calls
from heliograph.flow.language.esql.parsing.calls import CallParser
from heliograph.flow.language.esql.parsing.cursor import MOST_NESTING, RESERVED
from heliograph.flow.language.esql.parsing.lexer import Token, TokenKind
from heliograph.flow.language.values.literals import MIN_INTEGER

MOST_HEIGHT = 150
"""The greatest height of the tree of an expression. Checking and compiling recurse into the tree, so it has a limit;
operators in a row count, too."""

_OR, _AND, _COMPARISON, _SUM, _JOIN, _PRODUCT = range(1, 7)
_STRENGTHS = (
    {"OR": _OR, "AND": _AND, "+": _SUM, "-": _SUM, "||": _JOIN, "*": _PRODUCT, "/": _PRODUCT}
    | dict.fromkeys(("=", "<>", "<", "<=", ">", ">="), _COMPARISON)
    | dict.fromkeys(("IN", "BETWEEN", "LIKE", "IS"), _COMPARISON)
)
_NEGATABLE = ("IN", "BETWEEN", "LIKE")
_TESTS = ("NULL", "TRUE", "FALSE", "UNKNOWN", "INF", "INFINITY", "NAN", "NUM", "NUMBER")
_WORD_VALUES: dict[str, tuple[str, bool | None]] = {
    "TRUE": ("BOOLEAN", True),
    "FALSE": ("BOOLEAN", False),
    "UNKNOWN": ("NULL", None),
    "NULL": ("NULL", None),
}
_AGGREGATES = ("COUNT", "MAX", "MIN", "SUM")


class ExpressionParser(CallParser):
    """All expressions."""

    def __init__(self, text: str, file: str) -> None:
        super().__init__(text, file)
        self._height = 0
        """Of the highest expression since this was set to 0."""
        self._words: dict[str, Callable[[], syntax.Expression | None]] = {
            "CASE": self._case,
            "SELECT": self._select,
            "FOR": self._quantified,
            "ROW": self._row,
            "LIST": self._list,
            "NOT": self._not,
        }

    def expression(self) -> syntax.Expression:
        """Any expression."""
        return self._operators(_OR)

    def operand(self) -> syntax.Expression:
        """An expression without comparison, AND and OR outside of parentheses."""
        return self._operators(_SUM)

    def _operators(self, weakest: int) -> syntax.Expression:
        """An expression of operators that are at least as strong."""
        if self._depth >= MOST_NESTING:
            raise self.failure(f"this is nested deeper than {MOST_NESTING} levels; use a variable for the inner part")
        self._depth += 1
        outside, self._height = self._height, 0
        start = self.token
        left = self._prefix()
        height = self._height + 1
        while True:
            operator = self.token
            word = operator.upper
            if word == "NOT" and self.peek().upper in _NEGATABLE:
                word = self.peek().upper
            strength = _STRENGTHS.get(word, 0)
            if strength < weakest or not strength:
                break
            self._height = 0
            if strength == _COMPARISON and start.upper == "NOT" and isinstance(left, syntax.Unary):
                self.warn(f"NOT is stronger than {word}: write NOT (... {word} ...) if that is meant", start)
            left = self._operation(left, operator, word, strength)
            height = max(height, self._height) + 1
            if height > MOST_HEIGHT:
                raise self.failure(f"this expression has more than {MOST_HEIGHT} levels; use variables for its parts")
        self._height = max(outside, height)
        self._depth -= 1
        return left

    def _operation(self, left: syntax.Expression, operator: Token, word: str, strength: int) -> syntax.Expression:
        """The operation that begins at this operator, with what stands to the left of it."""
        negated = self.takes("NOT")
        self.advance()
        match word:
            case "IS":
                return self._is(left, operator)
            case "IN":
                return syntax.In(left, self._choices(), negated, at=operator.at)
            case "BETWEEN":
                symmetric = self.takes("SYMMETRIC")
                if not symmetric:
                    self.takes("ASYMMETRIC")
                low = self.operand()
                self.expect("AND", "between the bounds of BETWEEN")
                return syntax.Between(left, low, self.operand(), symmetric, negated, at=operator.at)
            case "LIKE":
                pattern = self.operand()
                escape = self.operand() if self.takes("ESCAPE") else None
                return syntax.Like(left, pattern, escape, negated, at=operator.at)
        if word == "=" and self.takes("="):
            self.report("ESQL writes = once, for setting and for comparing", self.previous())
        return syntax.Binary(word, left, self._operators(strength + 1), at=operator.at)

    def _is(self, left: syntax.Expression, operator: Token) -> syntax.Is:
        negated = self.takes("NOT")
        sign = self.takes_one_of("+-") or ""
        tests = ("INF", "INFINITY") if sign else _TESTS
        test = self.expect_one_of(tests, f"{', '.join(tests[:-1])} or {tests[-1]} behind IS")
        short = {"INFINITY": "INF", "NUMBER": "NUM"}.get(test, test)
        return syntax.Is(left, sign + short, negated, at=operator.at)

    def _choices(self) -> tuple[syntax.Expression, ...]:
        """The right side of IN: expressions in parentheses, or a list."""
        if not self.takes("("):
            return (self.operand(),)
        choices = [self.expression()]
        while self.takes(","):
            choices.append(self.expression())
        self.expect(")", "behind the choices of IN")
        return tuple(choices)

    # Operands

    def _prefix(self) -> syntax.Expression:
        """An operand, with the signs before it."""
        token = self.token
        if token.kind is TokenKind.WORD:
            return self._word(token)
        if token.kind is TokenKind.QUOTED:
            return self.named()
        if token.kind is TokenKind.SYMBOL:
            return self._symbol(token)
        try:
            literal = calls.plain(token)
        except calls.NoSuchLiteral as error:
            self.advance()
            raise self.failure(str(error), token) from None
        if literal is None:
            raise self.failure(f"expected an expression, found {token}")
        self.advance()
        return literal

    def _symbol(self, token: Token) -> syntax.Expression:
        if self.takes("("):
            inner = self.expression()
            self.expect(")", f"for the ( of {_place(token, self.token)}")
            return self._with_qualifier(inner)
        if self.takes("-"):
            if self.token.kind is TokenKind.INTEGER and int(self.token.text) == -MIN_INTEGER:
                self.advance()  # 9223372036854775808 is an INTEGER only with its minus sign
                return syntax.Literal("INTEGER", MIN_INTEGER, at=token.at)
            return syntax.Unary("-", self._signed(), at=token.at)
        if self.takes("+"):
            return self._signed()
        raise self.failure(f"expected an expression, found {token}")

    def _signed(self) -> syntax.Expression:
        """What stands behind a sign or NOT, which bind stronger than every operator between operands."""
        return self._operators(_PRODUCT + 1)

    def _not(self) -> syntax.Expression:
        start = self.advance()
        return syntax.Unary("NOT", self._signed(), at=start.at)

    def _word(self, token: Token) -> syntax.Expression:
        """An operand that begins with a word: a literal, a function, or a name."""
        word = token.upper
        special = self._words.get(word)
        if special is not None:
            found = special()
            if found is not None:
                return found
        elif word in _WORD_VALUES and self.peek().upper != ".":
            self.advance()
            kind, value = _WORD_VALUES[word]
            return syntax.Literal(kind, value, at=token.at)
        elif word in calls.TYPED and self.peek().kind is TokenKind.STRING:
            return self._typed_literal(token)
        if word in RESERVED or self.seems_misplaced():
            raise self.failure(f"expected an expression, found {token}")
        return self.named()

    def _typed_literal(self, word: Token) -> syntax.Literal:
        self.advance()
        token = self.advance()
        try:
            if word.upper != "INTERVAL":
                return calls.typed(word.upper, token)
            return calls.interval(token, self.qualifier())
        except calls.NoSuchLiteral as error:
            raise self.failure(str(error), token) from None

    def _with_qualifier(self, inner: syntax.Expression) -> syntax.Expression:
        """What is in parentheses, which may be a difference of dates or times with its qualifier behind."""
        if self.token.kind is not TokenKind.WORD or self.token.upper not in calls.INTERVAL_FIELDS:
            return inner
        token = self.token
        qualifier = self.qualifier()
        if not isinstance(inner, syntax.Binary) or inner.operator != "-":
            raise self.failure(
                f"only a difference in parentheses, like (b - a) {token}, can be taken as an interval", token
            )
        return syntax.Difference(inner.left, inner.right, qualifier, at=inner.at)

    # Words with a syntax of their own; each gives None if its word is a name here

    def _case(self) -> syntax.Case:
        start = self.advance()
        operand = None if self.sees("WHEN") else self.expression()
        branches = []
        while self.sees("WHEN"):
            at = self.advance().at
            condition = self.expression()
            self.expect("THEN", "behind the condition of WHEN")
            branches.append(syntax.When(condition, self.expression(), at=at))
        if not branches:
            raise self.failure(f"expected WHEN in the CASE, found {self.token}")
        otherwise = self.expression() if self.takes("ELSE") else None
        self.expect("END", f"for the CASE of {_place(start, self.token)}")
        return syntax.Case(operand, tuple(branches), otherwise, at=start.at)

    def _quantified(self) -> syntax.Quantified | None:
        if self.peek().upper not in ("ALL", "ANY", "SOME"):
            return None
        start = self.advance()
        quantifier = self.advance().upper
        source = self.field_reference("the list that FOR looks at")
        name = self.name("a name behind AS") if self.takes("AS") else None
        self.expect("(", "before the condition of FOR")
        predicate = self.expression()
        self.expect(")", "behind the condition of FOR")
        return syntax.Quantified(quantifier, source, name, predicate, at=start.at)

    def _row(self) -> syntax.Row | None:
        if self.peek().upper != "(":
            return None
        start = self.advance()
        self.advance()
        items = [] if self.sees(")") else [self._item()]
        while self.takes(","):
            items.append(self._item())
        self.expect(")", "behind the fields of ROW")
        return syntax.Row(tuple(items), at=start.at)

    def _list(self) -> syntax.ListOf | None:
        if self.peek().upper != "{":
            return None
        start = self.advance()
        self.advance()
        items = [] if self.sees("}") else [self.expression()]
        while self.takes(","):
            items.append(self.expression())
        self.expect("}", "behind the items of LIST")
        return syntax.ListOf(tuple(items), at=start.at)

    # SELECT

    def _select(self) -> syntax.Select | None:
        if self.peek().upper in (".", ";", ")", "=", ",", "["):
            return None
        start = self.advance()
        if self.takes("DISTINCT"):
            self.report("SELECT has no DISTINCT; use PASSTHRU for what only the database can do", self.previous())
        kind, items = self._select_clause()
        self.expect("FROM", "behind the items of SELECT")
        sources = [self._from_item()]
        while self.takes(","):
            sources.append(self._from_item())
        where = self.expression() if self.takes("WHERE") else None
        if self.token.upper in ("ORDER", "GROUP", "HAVING"):
            raise self.failure(f"SELECT has no {self.token.upper}; use PASSTHRU for what only the database can do")
        return syntax.Select(kind, items, tuple(sources), where, at=start.at)

    def _select_clause(self) -> tuple[str, tuple[syntax.SelectItem, ...]]:
        token = self.token
        if self.takes("ITEM"):
            return "ITEM", (syntax.SelectItem(self.expression(), at=token.at),)
        if token.upper in _AGGREGATES and self.peek().upper == "(":
            return self._aggregate(token)
        if self.takes("*"):
            return "ROWS", ()
        items = [self._item()]
        while self.takes(","):
            items.append(self._item())
        return "ROWS", tuple(items)

    def _aggregate(self, token: Token) -> tuple[str, tuple[syntax.SelectItem, ...]]:
        self.advance()
        self.advance()
        if token.upper == "COUNT" and self.takes("*"):
            items: tuple[syntax.SelectItem, ...] = ()
        else:
            items = (syntax.SelectItem(self.expression(), at=token.at),)
        self.expect(")", f"behind {token.upper}(...")
        if self.sees("AS") or self.sees(","):
            raise self.failure(f"{token.upper}(...) stands alone in a SELECT: its value is a scalar, not a row")
        return token.upper, items

    def _item(self) -> syntax.SelectItem:
        """`value [AS path | INSERT]`."""
        at = self.token.at
        value = self.expression()
        if self.takes("AS"):
            return syntax.SelectItem(value, self.path(), at=at)
        return syntax.SelectItem(value, insert=self.takes("INSERT"), at=at)

    def _from_item(self) -> syntax.FromItem:
        at = self.token.at
        source: syntax.FieldReference = self.field_reference("a field or a table of Database behind FROM")
        return syntax.FromItem(source, self.name("a name behind AS") if self.takes("AS") else None, at=at)


def _place(start: Token, found: Token) -> str:
    return "this line" if start.at.line == found.at.line else f"line {start.at.line}"
