"""Arithmetic of parameters: `${producers * rate}` in the files of scenarios.

A text that is one expression and nothing else becomes what the expression is worth; one with more around it becomes
text. What stands in braces without a dollar (`{client}`) belongs to the load, and stays.
"""

import ast
import math
import operator
import re
from collections.abc import Callable
from typing import Any

from heliograph.lab.errors import InvalidScenario

Value = int | float | str | bool

_EXPRESSION = re.compile(r"\$\{([^}]*)\}")
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {"min": min, "max": max, "ceil": math.ceil, "floor": math.floor}

Lookup = Callable[[str], Value]
"""The value of a parameter by its name; raises a `Problem` if there is none."""


def is_expression(value: object) -> bool:
    """Whether there is anything to work out."""
    return isinstance(value, str) and _EXPRESSION.search(value) is not None


def names_in(text: str) -> set[str]:
    """The parameters that a text mentions."""
    trees = [_parsed(found[1]) for found in _EXPRESSION.finditer(text)]
    names = {node.id for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return names - _FUNCTIONS.keys()


def evaluate(text: str, lookup: Lookup) -> Value:
    """What the text is worth with these parameters; numbers that are whole are `int`."""
    whole = _EXPRESSION.fullmatch(text)
    if whole:
        return _value(whole[1], lookup)
    return _EXPRESSION.sub(lambda found: str(_value(found[1], lookup)), text)


def _value(source: str, lookup: Lookup) -> Value:
    try:
        return _plain(_worth(_parsed(source).body, lookup, source))
    except ZeroDivisionError:
        raise InvalidScenario(f"${{{source}}} divides by zero") from None
    except TypeError as error:
        raise InvalidScenario(f"${{{source}}} mixes numbers and words: {error}") from None


def _parsed(source: str) -> ast.Expression:
    try:
        return ast.parse(source.strip(), mode="eval")
    except SyntaxError:
        raise InvalidScenario(f"${{{source}}} is not arithmetic of parameters") from None


def _plain(value: Value) -> Value:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _worth(node: ast.expr, lookup: Lookup, source: str) -> Any:
    match node:
        case ast.Constant(value=int() | float() | str() as value):
            return value
        case ast.Name(id=name):
            return lookup(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_worth(operand, lookup, source)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_worth(left, lookup, source), _worth(right, lookup, source))
        case ast.Call(func=ast.Name(id=name), args=[_, *_] as arguments, keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_worth(argument, lookup, source) for argument in arguments))
    raise InvalidScenario(f"${{{source}}}: expected numbers, parameters, + - * / // %, {', '.join(_FUNCTIONS)}")
