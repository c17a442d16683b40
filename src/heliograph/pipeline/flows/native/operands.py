"""Values that conditions compare: constants, fields, and CAST or COALESCE of these.

Only what Spark and ESQL compare in the same way has a kind here: texts without trailing blanks, by code points;
BOOLEAN; and numbers that have at most 15 characters. With those it makes no difference whether they are compared as
decimal numbers or, as ESQL does where a FLOAT is among them, as binary ones. What is of no kind is not certain.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import Enum
from typing import Any

from heliograph.pipeline.flows.native.verdicts import FALSE, NULL, TRUE, NotNative, Verdict, both, either

LONGEST_NUMBER = 15
NUMBER = f"DECIMAL({2 * LONGEST_NUMBER},{LONGEST_NUMBER})"
"""The type of numbers: it has room for all of so many characters."""
_plain_number = re.compile(r"-?\d+(\.\d+)?").fullmatch
_plain_text = re.compile(r"[A-Za-z0-9 _.:/@-]*").fullmatch


class Kind(Enum):
    """What can be compared with its like."""

    TEXT = "text"
    NUMBER = "number"
    BOOLEAN = "boolean"


@dataclass(frozen=True, slots=True)
class Operand:
    """A value: for each kind that it may be of, when it is, and the value then. All of these are texts of SQL."""

    kinds: Mapping[Kind, tuple[str, str]]
    null: str = FALSE
    """When it is NULL."""
    constant: Any = None
    """The value, if it is always the same."""
    default: Any = None
    """What it is in place of NULL, if it never is."""

    @property
    def known(self) -> str:
        """When it is NULL or of one of the kinds."""
        known = self.null
        for when, _ in self.kinds.values():
            known = either(known, when)
        return known


def constant(value: Any) -> Operand:
    """A value that ESQL has as a constant."""
    if value is None:
        return Operand({}, TRUE)
    if isinstance(value, bool):
        return Operand({Kind.BOOLEAN: (TRUE, TRUE if value else FALSE)}, constant=value)
    if isinstance(value, str):
        return Operand({Kind.TEXT: (TRUE, text_literal(value))}, constant=value)
    if isinstance(value, int | float | Decimal):
        text = str(value)
        if len(text) <= LONGEST_NUMBER and _plain_number(text):
            return Operand({Kind.NUMBER: (TRUE, f"CAST({text_literal(text)} AS {NUMBER})")}, constant=value)
    raise NotNative(f"the value {value}")


def text_literal(text: str) -> str:
    """A text in SQL, whatever is in it."""
    if _plain_text(text):
        return f"'{text}'"
    try:
        return f"CAST(X'{text.encode().hex()}' AS STRING)"
    except UnicodeEncodeError:
        raise NotNative("a text that is no Unicode") from None


def coalesced(first: Operand, second: Operand) -> Operand:
    """`COALESCE(first, second)`."""
    kinds = {}
    for kind in Kind:
        one, other = first.kinds.get(kind, (FALSE, NULL)), second.kinds.get(kind, (FALSE, NULL))
        when = either(one[0], both(first.null, other[0]))
        if when != FALSE:
            kinds[kind] = (when, f"(CASE WHEN {first.null} THEN {other[1]} ELSE {one[1]} END)")
    default = second.constant if second.constant is not None else second.default
    return Operand(kinds, both(first.null, second.null), default=default)


def only(operand: Operand, kind: Kind) -> Operand:
    """What a CAST to the type that it has already leaves as it is."""
    return replace(operand, kinds={kind: operand.kinds[kind]} if kind in operand.kinds else {})


def compared(left: Operand, operator: str, right: Operand) -> Verdict:
    """`left operator right`; NULL if one of them is."""
    alike = FALSE
    values = []
    for kind in Kind:
        if kind in left.kinds and kind in right.kinds:
            (left_is, one), (right_is, other) = left.kinds[kind], right.kinds[kind]
            when = both(left_is, right_is)
            alike = either(alike, when)
            if kind is Kind.TEXT:
                one, other = f"rtrim({one})", f"rtrim({other})"
            values.append((when, f"{one} {operator} {other}"))
    nothing = either(both(left.null, right.known), both(right.null, left.known))
    certain = either(alike, nothing)
    if certain == FALSE:
        raise NotNative("a comparison of different types")
    arms = " ".join(f"WHEN {when} THEN {value}" for when, value in values)
    value = f"(CASE {arms} END)" if arms else "CAST(NULL AS BOOLEAN)"
    seldom = _is_one_text(left, right)
    return Verdict(value, certain, seldom and operator == "=", seldom and operator == "<>")


def _is_one_text(left: Operand, right: Operand) -> bool:
    """Whether it is a field that is compared with a text, which is not what the field is when it is not there."""
    return any(
        isinstance(text, str) and field.constant is None and field.default != text
        for field, text in ((left, right.constant), (right, left.constant))
    )
