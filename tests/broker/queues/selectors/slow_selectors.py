"""Selectors the slow way: a tree is walked, unknown is a value of its own, LIKE is decided letter by letter."""

from fractions import Fraction
from functools import cache
from math import isinf, isnan

from heliograph.broker.queues.selectors import expressions as e


def evaluate(condition, properties):
    """True, False or None (unknown)."""
    match condition:
        case e.Not(operand):
            inner = evaluate(operand, properties)
            return None if inner is None else not inner
        case e.All(operands):
            found = [evaluate(operand, properties) for operand in operands]
            return False if False in found else None if None in found else True
        case e.Any(operands):
            found = [evaluate(operand, properties) for operand in operands]
            return True if True in found else None if None in found else False
        case e.Comparison(operator, left, right):
            return compare(operator, value(left, properties), value(right, properties))
        case e.Like(operand, pattern, escape):
            text = value(operand, properties)
            return is_like(text, pattern, escape) if isinstance(text, str) else None
        case e.Among(operand, values):
            text = value(operand, properties)
            return text in values if isinstance(text, str) else None
        case e.IsNull(operand):
            return value(operand, properties) is None
        case e.Identifier() | e.Literal():
            found = value(condition, properties)
            return found if isinstance(found, bool) else None


def value(expression, properties):
    match expression:
        case e.Literal(constant):
            return constant
        case e.Identifier(name):
            return properties.get(name)
        case e.Negative(operand):
            return calculate("-", 0, value(operand, properties))
        case e.Arithmetic(operator, left, right):
            return calculate(operator, value(left, properties), value(right, properties))


def kind(found):
    if isinstance(found, bool):
        return "boolean"
    if isinstance(found, int | float):
        return "number"
    return "string" if isinstance(found, str) else None


def compare(operator, left, right):
    if kind(left) is None or kind(left) != kind(right):
        return None
    if operator == "=":
        return left == right
    if operator == "<>":
        return left != right
    if kind(left) != "number":
        return None
    return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[operator]


def calculate(operator, left, right):
    if kind(left) != "number" or kind(right) != "number" or (operator == "/" and right == 0):
        return None
    if isinstance(left, int) and isinstance(right, int):
        result = {
            "+": left + right,
            "-": left - right,
            "*": left * right,
            "/": int(Fraction(left, right)) if right else None,
        }[operator]
        return result if -(2**63) <= result < 2**63 else None
    result = {
        "+": lambda: left + right,
        "-": lambda: left - right,
        "*": lambda: left * right,
        "/": lambda: left / right,
    }[operator]()
    return None if isnan(result) or isinf(result) else result


def is_like(text, pattern, escape):
    @cache
    def rest(at, p):
        if p == len(pattern):
            return at == len(text)
        if escape and pattern[p] == escape:
            return at < len(text) and text[at] == pattern[p + 1] and rest(at + 1, p + 2)
        if pattern[p] == "%":
            return rest(at, p + 1) or (at < len(text) and rest(at + 1, p))
        return at < len(text) and pattern[p] in {"_", text[at]} and rest(at + 1, p + 1)

    return rest(0, 0)


def render(expression):
    """The text of a tree, with parentheses around all that has an operator."""
    match expression:
        case e.Literal(None):
            return "NULL"
        case e.Literal(bool() as constant):
            return str(constant).upper()
        case e.Literal(str() as constant):
            return quoted(constant)
        case e.Literal(constant):
            return repr(constant)
        case e.Identifier(name):
            return '"' + name.replace('"', '""') + '"' if not name.isidentifier() else name
        case e.Negative(operand):
            return f"-({render(operand)})"
        case e.Arithmetic(operator, left, right) | e.Comparison(operator, left, right):
            return f"({render(left)}) {operator} ({render(right)})"
        case e.Like(operand, pattern, escape):
            tail = f" ESCAPE {quoted(escape)}" if escape else ""
            return f"{render(operand)} LIKE {quoted(pattern)}{tail}"
        case e.Among(operand, values):
            return f"{render(operand)} IN ({', '.join(map(quoted, values))})"
        case e.IsNull(operand):
            return f"{render(operand)} IS NULL"
        case e.Not(operand):
            return f"NOT ({render(operand)})"
        case e.All(operands):
            return " AND ".join(f"({render(operand)})" for operand in operands)
        case e.Any(operands):
            return " OR ".join(f"({render(operand)})" for operand in operands)


def quoted(text):
    return "'" + text.replace("'", "''") + "'"
