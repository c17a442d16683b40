"""The parameters of a scenario, arithmetic on them (`${producers * rate}`), and their values at a scale.

A scaled parameter is multiplied by the scale and does not fall below its least value. Ratios are parameters of their
own that are not scaled (consumers of one topic, messages a second of one client); what follows from others is
arithmetic of them, so it fits them at every scale. A text that is one expression becomes its value; one with more
around it stays text. Braces without a dollar (`{client}`) belong to the load, and stay.
"""

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from heliograph.flow.definition import known, suggestion
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


@dataclass(frozen=True, slots=True)
class Parameter:
    """One figure of a scenario, as its document has it."""

    name: str
    value: Value
    scaled: bool = False
    least: float | None = None
    unit: str = ""

    def at_scale(self, value: Value, scale: float) -> Value:
        """The value at this scale; counts stay whole, and none becomes nothing.

        A value that is below the least at scale 1 stays what it is: the one client of a test with one client.
        """
        if not self.scaled or isinstance(value, str | bool):
            return value
        if isinstance(value, int):
            return max(int(value * scale + 0.5), min(int(self.least or 1), value))
        return max(value * scale, min(self.least or 0.0, value))

    def told(self, text: Value) -> Value:
        """The value of a text from the command line, in the type of this parameter."""
        if not isinstance(text, str):
            return text
        if isinstance(self.value, bool):
            if text.lower() in {"true", "false"}:
                return text.lower() == "true"
            raise InvalidScenario(f"{self.name} is true or false, not {text!r}")
        if isinstance(self.value, str) and not is_expression(self.value):
            return text
        try:
            number = float(text)
        except ValueError:
            raise InvalidScenario(f"{self.name} is a number, not {text!r}") from None
        return int(number) if number.is_integer() else number


class Values:
    """The parameters at one scale, each worked out when it is asked for."""

    def __init__(self, parameters: Mapping[str, Parameter], chosen: Mapping[str, Value], scale: float) -> None:
        """`chosen` is what a variant has instead; it is scaled like the value that it replaces."""
        self._parameters = parameters
        self._chosen = chosen
        self._scale = scale
        self._known: dict[str, Value] = {}
        self._open: list[str] = []

    def set(self, name: str, text: Value) -> None:
        """Fix a parameter, whatever the scale."""
        self._known[name] = self._parameter(name).told(text)

    def get(self, name: str) -> Value:
        """What a parameter is worth."""
        if name not in self._known:
            self._known[name] = self._worked_out(self._parameter(name))
        return self._known[name]

    def all(self) -> dict[str, Value]:
        """Every parameter with its value."""
        return {name: self.get(name) for name in self._parameters}

    def _parameter(self, name: str) -> Parameter:
        if name not in self._parameters:
            raise InvalidScenario(
                f"there is no parameter {name}{suggestion(name, self._parameters)}; there are {known(self._parameters)}"
            )
        return self._parameters[name]

    def _worked_out(self, parameter: Parameter) -> Value:
        value = self._chosen.get(parameter.name, parameter.value)
        if not is_expression(value):
            return parameter.at_scale(value, self._scale)
        if parameter.name in self._open:
            raise InvalidScenario(
                f"{' -> '.join([*self._open, parameter.name])}: these parameters depend on each other"
            )
        self._open.append(parameter.name)
        try:
            return evaluate(str(value), self.get)
        finally:
            self._open.pop()
