"""Conditions in SQL that are TRUE, FALSE or NULL as in ESQL, and for which messages that is certain.

Where it is not certain, the value means nothing: ESQL may have raised an exception there.
"""

from dataclasses import dataclass

TRUE, FALSE, NULL = "TRUE", "FALSE", "NULL"


class NotNative(Exception):
    """ESQL that Spark is not asked to decide. No error: the flow runs in Python, as all flows can."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A condition. All of these are texts of SQL."""

    value: str
    """A boolean that may be NULL."""
    certain: str = TRUE
    """A boolean that is never NULL."""
    seldom_true: bool = False
    """Whether few messages are expected to make it TRUE: those, for one, in which a field has one text of many."""
    seldom_false: bool = False

    def is_(self, outcome: bool | None) -> str:
        """Whether this is the value, for certain."""
        test = {True: "IS TRUE", False: "IS FALSE", None: "IS NULL"}[outcome]
        return both(self.certain, f"({self.value} {test})")


def both(left: str, right: str) -> str:
    """`left AND right`, without what says nothing."""
    if FALSE in (left, right):
        return FALSE
    return right if left == TRUE else left if right == TRUE else f"({left} AND {right})"


def either(left: str, right: str) -> str:
    """`left OR right`, without what says nothing."""
    if TRUE in (left, right):
        return TRUE
    return right if left == FALSE else left if right == FALSE else f"({left} OR {right})"


def and_(left: Verdict, right: Verdict) -> Verdict:
    """ESQL's AND: the right side is not looked at where the left is FALSE."""
    return Verdict(
        f"({left.value} AND {right.value})",
        both(left.certain, either(f"({left.value} IS FALSE)", right.certain) if right.certain != TRUE else TRUE),
        left.seldom_true or right.seldom_true,
        left.seldom_false and right.seldom_false,
    )


def or_(left: Verdict, right: Verdict) -> Verdict:
    """ESQL's OR: the right side is not looked at where the left is TRUE."""
    return Verdict(
        f"({left.value} OR {right.value})",
        both(left.certain, either(f"({left.value} IS TRUE)", right.certain) if right.certain != TRUE else TRUE),
        left.seldom_true and right.seldom_true,
        left.seldom_false or right.seldom_false,
    )


def not_(operand: Verdict) -> Verdict:
    """ESQL's NOT."""
    return Verdict(f"(NOT {operand.value})", operand.certain, operand.seldom_false, operand.seldom_true)


def is_value(operand: Verdict, outcome: bool | None) -> Verdict:
    """`IS TRUE`, `IS FALSE`, `IS UNKNOWN`."""
    return Verdict(Verdict(operand.value).is_(outcome), operand.certain)


def chosen(condition: Verdict, then: Verdict, otherwise: Verdict) -> Verdict:
    """`IF condition THEN ... ELSE ...`: a condition that is NULL is not met."""
    met = f"{condition.value} IS TRUE"
    certain = TRUE
    if (then.certain, otherwise.certain) != (TRUE, TRUE):
        certain = f"(CASE WHEN {met} THEN {then.certain} ELSE {otherwise.certain} END)"
    return Verdict(
        f"(CASE WHEN {met} THEN {then.value} ELSE {otherwise.value} END)",
        both(condition.certain, certain),
        then.seldom_true and otherwise.seldom_true,
        then.seldom_false and otherwise.seldom_false,
    )
