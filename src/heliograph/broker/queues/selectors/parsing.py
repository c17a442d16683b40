"""Selectors are read: from words to a tree.

The grammar, from the loosest binding to the tightest:

    condition   and-part { OR and-part }
    and-part    not-part { AND not-part }
    not-part    NOT not-part | predicate
    predicate   sum [ comparison-sign sum
                    | IS [NOT] NULL
                    | [NOT] LIKE string [ESCAPE string]
                    | [NOT] BETWEEN sum AND sum
                    | [NOT] IN ( string { , string } ) ]
    sum         product { + product | - product }
    product     signed { * signed | / signed }
    signed      + signed | - signed | primary
    primary     literal | name | ( condition )
"""

from typing import Literal as OneOf
from typing import cast

from heliograph.broker.errors import SelectorError
from heliograph.broker.queues.selectors.expressions import (
    All,
    Among,
    Any,
    Arithmetic,
    Comparison,
    Condition,
    Expression,
    Identifier,
    IsNull,
    Like,
    Literal,
    Negative,
    Not,
    Value,
    depth_of,
)
from heliograph.broker.queues.selectors.tokens import Token, error_at, tokens

DEEPEST = 50
"""Levels of parentheses or operators at most. Python's own compiler gives up somewhat later."""
MOST_OPERANDS = 2000
"""Names and values at most: each is looked at for every message that comes. A list of IN is looked up at once, and is
not counted; a pattern of LIKE takes longer, and counts as many."""
_PATTERN = 10
_LARGEST = 2**63 - 1
_CONSTANTS = {"TRUE": True, "FALSE": False, "NULL": None}
_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")


def parse(text: str) -> Condition:
    """The tree of a selector; what is wrong with it raises SelectorError."""
    reader = _Reader(tokens(text))
    condition = reader.condition()
    reader.expect_end()
    return condition


class _Reader:
    """Reads the words in order, always one ahead."""

    def __init__(self, words: list[Token]) -> None:
        self._words = words
        self._index = 0
        self._next = words[0]
        self._level = 0
        self._operands = 0

    # Words

    def _take(self) -> Token:
        taken = self._next
        self._index += 1
        if taken.kind != "end":
            self._next = self._words[self._index]
        return taken

    def _found(self, *kinds: str) -> bool:
        """Take the next word if it is one of these."""
        if self._next.kind in kinds:
            self._take()
            return True
        return False

    def _expect(self, kind: str, expected: str) -> Token:
        if self._next.kind != kind:
            raise self._wrong(expected)
        return self._take()

    def _wrong(self, expected: str) -> SelectorError:
        return error_at(self._next.at, expected, self._next.text)

    def expect_end(self) -> None:
        """There must not be anything more."""
        if self._next.kind != "end":
            raise self._wrong("an operator or the end")

    # Cost

    def _count(self, operands: int, at: int) -> None:
        self._operands += operands
        if self._operands > MOST_OPERANDS:
            raise error_at(at, f"at most {MOST_OPERANDS} names and values ({_PATTERN} for each LIKE)", "more")

    def _down(self, at: int) -> None:
        self._level += 1
        if self._level > DEEPEST:
            raise _too_deep(at)

    def _over(self, at: int, *parts: Expression) -> int:
        """The depth of an operator over these parts."""
        depth = 1 + max([depth_of(part) for part in parts])
        if depth > DEEPEST:
            raise _too_deep(at)
        return depth

    # Conditions

    def condition(self) -> Condition:
        """A whole condition."""
        at, first = self._next.at, self._or_part()
        return _condition(first, at)

    def _or_part(self) -> Expression:
        at = self._next.at
        first = self._and_part()
        if self._next.kind != "OR":
            return first
        parts = [_condition(first, at)]
        while self._found("OR"):
            at = self._next.at
            parts.append(_condition(self._and_part(), at))
        return Any(tuple(parts), self._over(at, *parts))

    def _and_part(self) -> Expression:
        at = self._next.at
        first = self._not_part()
        if self._next.kind != "AND":
            return first
        parts = [_condition(first, at)]
        while self._found("AND"):
            at = self._next.at
            parts.append(_condition(self._not_part(), at))
        return All(tuple(parts), self._over(at, *parts))

    def _not_part(self) -> Expression:
        at = self._next.at
        if not self._found("NOT"):
            return self._predicate()
        self._down(at)
        inner_at = self._next.at
        operand = _condition(self._not_part(), inner_at)
        self._level -= 1
        return Not(operand, self._over(at, operand))

    def _predicate(self) -> Expression:
        at = self._next.at
        left = self._sum()
        sign = self._next
        if sign.kind in _COMPARISONS:
            self._take()
            right_at = self._next.at
            right = self._sum()
            return self._comparison(sign, _value(left, at), _value(right, right_at))
        if sign.kind == "IS":
            self._take()
            negated = self._found("NOT")
            self._expect("NULL", "NULL" if negated else "NULL or NOT NULL")
            return self._maybe_not(sign.at, negated, IsNull(_identifier(left, at)))
        negated = self._found("NOT")
        if self._found("LIKE"):
            return self._maybe_not(sign.at, negated, self._like(_identifier(left, at)))
        if self._found("IN"):
            return self._maybe_not(sign.at, negated, self._among(_identifier(left, at)))
        if self._found("BETWEEN"):
            return self._maybe_not(sign.at, negated, self._between(sign.at, _value(left, at)))
        if negated:
            raise self._wrong("LIKE, IN or BETWEEN")
        return left

    def _maybe_not(self, at: int, negated: bool, condition: Condition) -> Condition:
        return Not(condition, self._over(at, condition)) if negated else condition

    def _comparison(self, sign: Token, left: Value, right: Value) -> Comparison:
        if sign.kind not in {"=", "<>"}:
            for operand in (left, right):
                if isinstance(operand, Literal) and isinstance(operand.value, str | bool):
                    raise error_at(sign.at, "= or <> for strings and booleans", sign.text)
        operator = cast("OneOf['=', '<>', '<', '<=', '>', '>=']", sign.kind)
        return Comparison(operator, left, right, self._over(sign.at, left, right))

    def _like(self, operand: Identifier) -> Like:
        pattern = self._expect("string", "a pattern in quotes")
        self._count(_PATTERN, pattern.at)
        escape = ""
        if self._found("ESCAPE"):
            sign = self._expect("string", "a character in quotes")
            escape = str(sign.value)
            if len(escape) != 1:
                raise error_at(sign.at, "a single character", sign.text)
            if str(pattern.value).replace(escape * 2, "").endswith(escape):
                raise error_at(pattern.at, f"a character after each {escape}", pattern.text)
        return Like(operand, str(pattern.value), escape)

    def _among(self, operand: Identifier) -> Among:
        self._expect("(", "a list in parentheses")
        values = [str(self._expect("string", "a string").value)]
        while self._found(","):
            values.append(str(self._expect("string", "a string").value))
        self._expect(")", ", or )")
        return Among(operand, tuple(values))

    def _between(self, at: int, operand: Value) -> All:
        low_at = self._next.at
        low = _value(self._sum(), low_at)
        self._expect("AND", "AND between the bounds")
        high_at = self._next.at
        high = _value(self._sum(), high_at)
        parts = (
            self._comparison(Token(">=", "", at, "BETWEEN"), operand, low),
            self._comparison(Token("<=", "", at, "BETWEEN"), operand, high),
        )
        return All(parts, self._over(at, *parts))

    # Values

    def _sum(self) -> Expression:
        at = self._next.at
        left = self._product()
        while self._next.kind in {"+", "-"}:
            left = self._arithmetic(left, at, self._take(), self._next.at, self._product())
        return left

    def _product(self) -> Expression:
        at = self._next.at
        left = self._signed()
        while self._next.kind in {"*", "/"}:
            left = self._arithmetic(left, at, self._take(), self._next.at, self._signed())
        return left

    def _arithmetic(self, left: Expression, at: int, sign: Token, right_at: int, right: Expression) -> Arithmetic:
        first, second = _number(left, at), _number(right, right_at)
        operator = cast("OneOf['+', '-', '*', '/']", sign.kind)
        return Arithmetic(operator, first, second, self._over(sign.at, first, second))

    def _signed(self) -> Expression:
        sign = self._next
        if sign.kind not in {"+", "-"}:
            return self._primary()
        self._take()
        if sign.kind == "-" and self._next.kind == "number":
            return Literal(-cast("int | float", self._take().value))
        self._down(sign.at)
        at = self._next.at
        operand = _number(self._signed(), at)
        self._level -= 1
        depth = self._over(sign.at, operand)
        if sign.kind == "-":
            return Negative(operand, depth)
        return operand if isinstance(operand, Literal) else Arithmetic("+", Literal(0), operand, depth)

    def _primary(self) -> Expression:
        token = self._next
        if token.kind != "(":
            self._count(1, token.at)
        if token.kind == "name":
            return Identifier(str(self._take().value))
        if token.kind == "string":
            return Literal(self._take().value)
        if token.kind == "number":
            if isinstance(token.value, int) and token.value > _LARGEST:
                raise self._wrong("a number of at most 64 bits")
            return Literal(self._take().value)
        if token.kind in _CONSTANTS:
            return Literal(_CONSTANTS[self._take().kind])
        if token.kind != "(":
            raise self._wrong("a name, a value or (")
        self._down(self._take().at)
        inner = self._or_part()
        self._expect(")", "an operator or )")
        self._level -= 1
        return inner


def _too_deep(at: int) -> SelectorError:
    return error_at(at, f"at most {DEEPEST} levels of operators and parentheses", "more")


def _condition(expression: Expression, at: int) -> Condition:
    if isinstance(expression, Negative | Arithmetic):
        raise error_at(at, "a condition", "a number")
    if isinstance(expression, Literal) and expression.value is not None and not isinstance(expression.value, bool):
        raise error_at(at, "a condition", "a string" if isinstance(expression.value, str) else "a number")
    return expression


def _value(expression: Expression, at: int) -> Value:
    if not isinstance(expression, Value):
        raise error_at(at, "a name or a value", "a condition")
    return expression


def _number(expression: Expression, at: int) -> Value:
    value = _value(expression, at)
    if isinstance(value, Literal) and isinstance(value.value, str | bool):
        raise error_at(at, "a number", "a string" if isinstance(value.value, str) else "a boolean")
    return value


def _identifier(expression: Expression, at: int) -> Identifier:
    if not isinstance(expression, Identifier):
        raise error_at(at, "the name of a property", "something else")
    return expression
