"""Conditions of ESQL as verdicts."""

import re
from collections.abc import Mapping
from typing import Any

from heliograph.flow.formats import JSON_DATA, JSON_ITEM
from heliograph.flow.language import syntax
from heliograph.pipeline.flows.native.documents import Document
from heliograph.pipeline.flows.native.operands import Kind, Operand, coalesced, compared, constant, only, text_literal
from heliograph.pipeline.flows.native.verdicts import (
    FALSE,
    TRUE,
    NotNative,
    Verdict,
    and_,
    chosen,
    either,
    is_value,
    not_,
    or_,
)

_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
_ROOTS = {
    "ROOT": ("JSON", JSON_DATA),
    "INPUTROOT": ("JSON", JSON_DATA),
    "BODY": (JSON_DATA,),
    "INPUTBODY": (JSON_DATA,),
}
"""Where the text is found below the names of the message."""
_TRUTHS: Mapping[str, bool | None] = {"TRUE": True, "FALSE": False, "UNKNOWN": None}
_CASTS = {"CHARACTER": Kind.TEXT, "DECIMAL": Kind.NUMBER, "FLOAT": Kind.NUMBER}
_plain_name = re.compile(r"[A-Za-z_][A-Za-z0-9_]*").fullmatch


class Conditions:
    """Makes verdicts on a document."""

    def __init__(self, document: Document, names: Mapping[str, Any]) -> None:
        """`names` are constants, in upper case."""
        if not names.keys().isdisjoint(_ROOTS):
            raise NotNative("a constant that has the name of the message")
        self._document = document
        self._names = names

    def returned(self, statements: syntax.Body) -> Verdict:
        """What a routine returns that only compares and returns."""
        if not statements:
            raise NotNative("a routine that ends without RETURN")
        first, rest = statements[0], statements[1:]
        if isinstance(first, syntax.Return) and first.value is not None:
            return self.verdict(first.value)
        if isinstance(first, syntax.Block) and not rest:
            return self.returned(first.body)
        if isinstance(first, syntax.If):
            otherwise = self.returned((*first.otherwise, *rest))
            for branch in reversed(first.branches):
                then = self.returned((*branch.body, *rest))
                otherwise = chosen(self.verdict(branch.condition), then, otherwise)
            return otherwise
        raise NotNative(f"the statement {type(first).__name__}")

    def verdict(self, node: syntax.Expression) -> Verdict:
        """A condition."""
        match node:
            case syntax.Binary("AND", left, right):
                return and_(self.verdict(left), self.verdict(right))
            case syntax.Binary("OR", left, right):
                return or_(self.verdict(left), self.verdict(right))
            case syntax.Unary("NOT", operand):
                return not_(self.verdict(operand))
            case syntax.Binary(operator, left, right) if operator in _COMPARISONS:
                return self._compared(left, operator, right)
            case syntax.Between(operand, low, high, False, negated):
                found = and_(self._compared(operand, ">=", low), self._compared(operand, "<=", high))
                return not_(found) if negated else found
            case syntax.In():
                return self._in(node)
            case syntax.Like():
                return self._like(node)
            case syntax.Is():
                return self._is(node)
        return self._boolean(self.operand(node))

    def operand(self, node: syntax.Expression) -> Operand:
        """A value that is compared."""
        match node:
            case syntax.Literal("NULL" | "BOOLEAN" | "INTEGER" | "FLOAT" | "DECIMAL" | "CHARACTER", value):
                return constant(value)
            case syntax.Unary("-", syntax.Literal("INTEGER" | "FLOAT" | "DECIMAL", value)) if value:
                return constant(-value)  # type: ignore[operator]
            case syntax.FieldReference(name, (), None) if name.upper() in self._names:
                return constant(self._names[name.upper()])
            case syntax.FieldReference():
                return self._field(node)
            case syntax.Call("COALESCE", (first, *others), built_in=True):
                found = self.operand(first)
                for other in others:
                    found = coalesced(found, self.operand(other))
                return found
            case syntax.Cast((source,), syntax.DataType(name, None, None), None, None, None, None) if name in _CASTS:
                return only(self.operand(source), _CASTS[name])
        raise NotNative(f"the expression {type(node).__name__}")

    def _field(self, node: syntax.FieldReference) -> Operand:
        before = _ROOTS.get(node.correlation.upper())
        names = [step.name for step in node.steps]
        plain = node.index is None and all(
            step == syntax.PathStep(step.name) and isinstance(step.name, str) for step in node.steps
        )
        if before is None or not plain or tuple(names[: len(before)]) != before or len(names) == len(before):
            raise NotNative(f"the field {node.correlation}")
        path = tuple(str(name) for name in names[len(before) :])
        # Items of arrays have a name here, and none in Spark.
        if not all(map(_plain_name, path)) or JSON_ITEM in path or any(name.upper() in self._names for name in path):
            raise NotNative(f"the field {'.'.join(path)}")
        return self._document.field(path)

    def _compared(self, left: syntax.Expression, operator: str, right: syntax.Expression) -> Verdict:
        return compared(self.operand(left), operator, self.operand(right))

    def _in(self, node: syntax.In) -> Verdict:
        operand = self.operand(node.operand)
        found: Verdict | None = None
        for choice in node.choices:
            value = self.operand(choice)
            if value.constant is None:
                raise NotNative("IN with a choice that is no constant")
            same = compared(operand, "=", value)
            found = same if found is None else or_(found, same)
        assert found is not None
        return not_(found) if node.negated else found

    def _like(self, node: syntax.Like) -> Verdict:
        pattern = node.pattern.value if isinstance(node.pattern, syntax.Literal) else None
        if not isinstance(pattern, str) or "\\" in pattern or node.escape is not None:
            raise NotNative("a pattern that is no plain text")
        operand = self.operand(node.operand)
        if Kind.TEXT not in operand.kinds:
            raise NotNative("LIKE of something that is no text")
        when, text = operand.kinds[Kind.TEXT]
        # Blanks at the end count here, other than where texts are compared.
        found = Verdict(f"({text} LIKE {text_literal(pattern)})", either(when, operand.null))
        return not_(found) if node.negated else found

    def _is(self, node: syntax.Is) -> Verdict:
        if node.test == "NULL":
            operand = self.operand(node.operand)
            found = Verdict(operand.null, operand.known)
        elif node.test in _TRUTHS:
            found = is_value(self.verdict(node.operand), _TRUTHS[node.test])
        else:
            raise NotNative(f"IS {node.test}")
        return not_(found) if node.negated else found

    def _boolean(self, operand: Operand) -> Verdict:
        when, value = operand.kinds.get(Kind.BOOLEAN, (FALSE, "CAST(NULL AS BOOLEAN)"))
        certain = either(when, operand.null)
        if certain == FALSE:
            raise NotNative("a value that is no condition")
        if when == TRUE:
            return Verdict(value)
        return Verdict(f"(CASE WHEN {operand.null} THEN NULL ELSE {value} END)", certain)
