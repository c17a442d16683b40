"""Selectors become Python: one function of a message view, with nothing left to decide about the selector itself.

Only messages for which a condition is true are wanted, so unknown need not be carried along. Each condition is
rendered as the expression that holds when it is true, or as the one that holds when it is false; NOT changes from one
to the other, and what is unknown is neither.
"""

from collections.abc import Callable
from typing import Any as Anything

from heliograph.amqp.messages import sections
from heliograph.broker.queues.message_view import MessageView
from heliograph.broker.queues.selectors import arithmetic
from heliograph.broker.queues.selectors.expressions import (
    All,
    Among,
    Any,
    Arithmetic,
    Comparison,
    Condition,
    Identifier,
    IsNull,
    Like,
    Literal,
    Negative,
    Not,
    Value,
)
from heliograph.broker.queues.selectors.parsing import parse
from heliograph.common.bounded_dict import BoundedDict
from heliograph.common.like_pattern import like_matcher
from heliograph.mapping import AMQP_FIELD_PREFIX, PRIORITY_PROPERTY, USER_ID_PROPERTY, field_name


def _header(position: int) -> str:
    return f"view.header[{position}]"


def _field(position: int) -> str:
    return f"view.fields[{position}]"


FIELDS = {
    "JMSMessageID": f"as_text({_field(sections.MESSAGE_ID)})",
    "JMSCorrelationID": f"as_text({_field(sections.CORRELATION_ID)})",
    "JMSType": _field(sections.SUBJECT),
    "JMSPriority": _header(sections.PRIORITY),
    "JMSDeliveryMode": f"'PERSISTENT' if {_header(sections.DURABLE)} else 'NON_PERSISTENT'",
    "JMSTimestamp": _field(sections.CREATION_TIME),
    "JMSExpiration": "view.expiration",
    "JMSXGroupID": _field(sections.GROUP_ID),
    "JMSXGroupSeq": _field(sections.GROUP_SEQUENCE),
    "JMSXUserID": "view.user",
    "JMSXDeliveryCount": "view.delivery_count + 1",
    "JMSReplyTo": _field(sections.REPLY_TO),
    "JMSDestination": _field(sections.TO),
    AMQP_FIELD_PREFIX + "durable": _header(sections.DURABLE),
    PRIORITY_PROPERTY: _header(sections.PRIORITY),
    AMQP_FIELD_PREFIX + "ttl": _header(sections.TTL),
    AMQP_FIELD_PREFIX + "first_acquirer": _header(sections.FIRST_ACQUIRER),
    AMQP_FIELD_PREFIX + "delivery_count": "view.delivery_count",
    **{field_name(position): _field(position) for position in range(len(sections.PROPERTY_NAMES))},
    USER_ID_PROPERTY: "view.user",
}
"""Names that stand for fields of the message, and how a view tells them. All others are application properties."""

_OPERATIONS = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide"}
# Each order comparison as a function, and whether the operands change places.
_ORDERS = {">": ("above", False), ">=": ("at_least", False), "<": ("above", True), "<=": ("at_least", True)}
_MIRRORED = {">": "<", "<": ">", ">=": "<=", "<=": ">=", "=": "=", "<>": "<>"}


class Code:
    """The Python source of one selector, and the values that it refers to."""

    def __init__(self, condition: Condition) -> None:
        self._locals: dict[str, str] = {}
        self._constants: dict[str, object] = {}
        answer = self._when(condition, True)
        lines = ["def matches(view):"]
        if any(name not in FIELDS for name in self._locals):
            lines.append("    get = view.application.get")
        for name, local in self._locals.items():
            lines.append(f"    {local} = {FIELDS.get(name) or f'get({name!r})'}")
        lines.append(f"    return {answer}")
        self.source = "\n".join(lines) + "\n"

    def function(self) -> Callable[[Anything], bool]:
        """The source, compiled."""
        names: dict[str, Anything] = {
            "numbers": arithmetic.NUMBERS,
            "as_text": arithmetic.as_text,
            "equal": arithmetic.equal,
            "above": arithmetic.above,
            "at_least": arithmetic.at_least,
            "add": arithmetic.add,
            "subtract": arithmetic.subtract,
            "multiply": arithmetic.multiply,
            "divide": arithmetic.divide,
            "negate": arithmetic.negate,
            **self._constants,
        }
        # The source has no text of the selector in it but literals and names as `repr` writes them.
        exec(compile(self.source, "<selector>", "exec"), names)  # noqa: S102
        found: Callable[[Anything], bool] = names["matches"]
        return found

    def _local(self, identifier: Identifier) -> str:
        return self._locals.setdefault(identifier.name, f"v{len(self._locals)}")

    def _constant(self, value: object) -> str:
        name = f"k{len(self._constants)}"
        self._constants[name] = value
        return name

    # Conditions

    def _when(self, condition: Condition, wanted: bool) -> str:
        """The expression that holds when the condition is true, or else the one that holds when it is false."""
        match condition:
            case Not(operand):
                return self._when(operand, not wanted)
            case All(operands) | Any(operands):
                word = " and " if isinstance(condition, All) is wanted else " or "
                return f"({word.join([self._when(operand, wanted) for operand in operands])})"
            case Comparison():
                return self._compare(condition.operator, condition.left, condition.right, wanted)
            case Like(operand, pattern, escape):
                local = self._local(operand)
                is_text = f"{local}.__class__ is str and len({local}) <= {arithmetic.LONGEST_TEXT}"
                return f"({is_text} and {self._constant(like_matcher(pattern, escape))}({local}) is {wanted})"
            case Among(operand, values):
                local, constant = self._local(operand), self._constant(frozenset(values))
                return (
                    f"({local} in {constant})"
                    if wanted
                    else f"({local}.__class__ is str and {local} not in {constant})"
                )
            case IsNull(operand):
                return f"({self._local(operand)} is {'' if wanted else 'not '}None)"
            case Identifier():
                return f"({self._local(condition)} is {wanted})"
            case Literal(value):
                return str(value is wanted)

    def _compare(self, operator: str, left: Value, right: Value, wanted: bool) -> str:
        if operator == "<>":
            return self._compare("=", left, right, not wanted)
        if isinstance(left, Literal):
            operator, left, right = _MIRRORED[operator], right, left
        if isinstance(left, Identifier) and isinstance(right, Literal):
            return self._compare_with_literal(operator, self._local(left), right.value, wanted)
        if operator == "=":
            return f"(equal({self._value(left)}, {self._value(right)}) is {wanted})"
        name, swapped = _ORDERS[operator]
        first, second = (right, left) if swapped else (left, right)
        return f"({name}({self._value(first)}, {self._value(second)}) is {wanted})"

    def _compare_with_literal(self, operator: str, local: str, value: object, wanted: bool) -> str:
        """What nearly all comparisons are. The class of a property is looked at only where the result depends on it."""
        if value is None:
            return "False"
        if isinstance(value, bool):
            return f"({local} is {value is wanted})"
        is_alike = f"{local}.__class__ is str" if isinstance(value, str) else f"{local}.__class__ in numbers"
        if operator != "=":
            return f"({is_alike} and {'' if wanted else 'not '}{local} {operator} {value!r})"
        if not wanted:
            return f"({is_alike} and {local} != {value!r})"
        if value in {0, 1}:  # which Python takes for False and True
            return f"({is_alike} and {local} == {value!r})"
        return f"({local} == {value!r})"

    # Values

    def _value(self, value: Value) -> str:
        match value:
            case Literal(constant):
                return repr(constant)
            case Identifier():
                return self._local(value)
            case Negative(operand):
                return f"negate({self._value(operand)})"
            case Arithmetic(operator, left, right):
                return f"{_OPERATIONS[operator]}({self._value(left)}, {self._value(right)})"


_KNOWN_MOST = 1000
_known: BoundedDict[str, "Selector"] = BoundedDict(_KNOWN_MOST)
_KNOWN_LONGEST = 1000


class Selector:
    """A compiled selector. `matches(view)` says whether a message is wanted."""

    __slots__ = ("matches", "python", "text")

    def __init__(self, text: str) -> None:
        """What cannot be understood raises SelectorError; see `selector_for`, which compiles each text once."""
        self.text = text
        code = Code(parse(text))
        self.python = code.source
        """What it was compiled to, for display."""
        self.matches: Callable[[MessageView], bool] = code.function()

    def __repr__(self) -> str:
        return f"Selector({self.text!r})"

    def __reduce__(self) -> tuple[Callable[[str], "Selector"], tuple[str]]:
        return selector_for, (self.text,)


def selector_for(text: str) -> Selector:
    """The selector that a text describes; consumers with the same text share one, unless it is very long."""
    known = _known.get(text)
    if known is None:
        known = Selector(text)
        if len(text) <= _KNOWN_LONGEST:
            _known[text] = known
    return known
