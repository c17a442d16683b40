"""Parsing field references: `InputRoot.XML.(XML.Attribute)ns:Name[<]`."""

from abc import ABC, abstractmethod

from heliograph.flow.language.esql.names import field_type, names_of
from heliograph.flow.language.esql.parsing.cursor import Cursor
from heliograph.flow.language.esql.parsing.lexer import Token, TokenKind
from heliograph.flow.language.esql.source_text import suggestion
from heliograph.flow.language.esql.syntax import (
    Every,
    Expression,
    FieldConstant,
    FieldReference,
    FromEnd,
    FromStart,
    Literal,
    PathStep,
    Position,
    Wildcard,
)

Index = Expression | FromStart | FromEnd | Every | None
Name = str | Wildcard | Expression
MOST_STEPS = 500
"""Of a path. No tree that a message makes is as deep."""


class PathParser(Cursor, ABC):
    """Field references and the paths in them."""

    @abstractmethod
    def expression(self) -> Expression:
        """Any expression."""

    @abstractmethod
    def operand(self) -> Expression:
        """An expression without comparison, AND and OR outside of parentheses."""

    def field_reference(self, what: str) -> FieldReference:
        """A field reference, for which `what` is the name in a mistake."""
        at = self.token.at
        return self.reference_behind(self.name(what), at)

    def reference_behind(self, correlation: str, at: Position) -> FieldReference:
        """The rest of a field reference whose first name has been taken."""
        index = self._index() if self.sees("[") else None
        steps = []
        while self.takes("."):
            steps.append(self.path_step())
            if len(steps) > MOST_STEPS:
                raise self.failure(f"this path has more than {MOST_STEPS} steps; use a reference on the way")
        return FieldReference(correlation, tuple(steps), index, at=at)

    def path(self) -> tuple[PathStep, ...]:
        """A path without a correlation name, as behind AS."""
        steps = [self.path_step()]
        while self.takes("."):
            steps.append(self.path_step())
        return tuple(steps)

    def path_step(self) -> PathStep:
        """`(type)namespace:name[index]`."""
        start = self.token
        kind = self._type() if self.sees("(") else None
        namespace: Name | None = None
        name: Name | None = None
        if self.sees(":"):
            namespace = ""
        else:
            name = self._step_name(behind_type=kind is not None)
        if self.takes(":"):
            namespace = "" if namespace == "" else name
            name = self._step_name()
            if name is None:
                raise self.failure(f"expected the name of a field behind the namespace, found {self.token}")
        index = self._index() if self.sees("[") else None
        if kind is None and name is None and index is None:
            raise self.failure(f"expected the name of a field, {{expression}}, * or [index], found {self.token}")
        return PathStep(name, namespace, kind, index, at=start.at)

    def _step_name(self, *, behind_type: bool = False) -> Name | None:
        if self.takes("*"):
            return Wildcard.ANY
        if self.takes("{"):
            expression = self.expression()
            self.expect("}", "behind the expression for a name")
            return expression
        # Where nothing but a name can stand, reserved words are names: `Invoice.Item`. A type may stand alone.
        if self.token.kind is TokenKind.WORD and not (behind_type and self.token.upper in ("FROM", "NOT", "WHEN")):
            return self.advance().text
        return self.advance().text if self.token.kind is TokenKind.QUOTED else None

    def _type(self) -> FieldConstant | Expression:
        """`(XML.Attribute)`, `(NameValue)`, `(0x03000000)` or any expression in parentheses."""
        self.expect("(", "before the type of a field")
        start = self.token
        kind = self.type_constant(self.expression(), start)
        self.expect(")", "behind the type of a field")
        return kind

    def type_constant(self, expression: Expression, start: Token) -> FieldConstant | Expression:
        """The named type of fields that the expression is, or the expression."""
        if not isinstance(expression, FieldReference) or expression.index is not None:
            return expression
        words = [expression.correlation, *(step.name for step in expression.steps if _plain(step))]
        if len(words) != len(expression.steps) + 1 or len(words) > 2:
            return expression
        domain, name = ("", words[0]) if len(words) == 1 else (str(words[0]), words[1])
        value = field_type(domain, str(name))
        if value is not None:
            return FieldConstant(domain, str(name), value, at=start.at)
        known = names_of(domain)
        if len(words) == 2 and known:
            raise self.failure(f"{domain} has no field type {name}{suggestion(str(name), known)}", start)
        return expression

    def _index(self) -> Index:
        """`[n]`, `[<]`, `[<n]`, `[>]`, `[>n]`, `[LAST]` or `[]`."""
        start = self.expect("[", "before an index")
        if self.takes("]"):
            return Every.ONE
        index: Index
        if self.takes("<"):
            index = FromEnd(None if self.sees("]") else self.expression(), at=start.at)
        elif self.takes(">"):
            index = FromStart(None if self.sees("]") else self.expression(), at=start.at)
        elif self.token.kind is TokenKind.WORD and self.takes("LAST", "]"):
            return FromEnd(at=start.at)
        else:
            index = self.expression()
            if isinstance(index, Literal) and index.type != "INTEGER":
                raise self.failure("an index is a whole number, from 1", start)
        self.expect("]", "behind an index")
        return index


def _plain(step: PathStep) -> bool:
    return isinstance(step.name, str) and step.namespace is None and step.type is None and step.index is None
