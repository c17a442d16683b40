"""Three-valued logic."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.flow.errors import INCOMPATIBLE_TYPES, ExpressionError
from heliograph.flow.language.values.comparison import and_, is_false, is_true, is_unknown, not_, or_

T, F, U = True, False, None
truths = st.sampled_from([T, F, U])


@pytest.mark.parametrize(
    ("left", "right", "both", "either"),
    [
        (T, T, T, T),
        (T, F, F, T),
        (T, U, U, T),
        (F, T, F, T),
        (F, F, F, F),
        (F, U, F, U),
        (U, T, U, T),
        (U, F, F, U),
        (U, U, U, U),
    ],
)
def test_and_and_or(left: bool | None, right: bool | None, both: bool | None, either: bool | None) -> None:
    assert and_(left, right) is both
    assert or_(left, right) is either


@pytest.mark.parametrize(("operand", "result"), [(T, F), (F, T), (U, U)])
def test_not(operand: bool | None, result: bool | None) -> None:
    assert not_(operand) is result


@pytest.mark.parametrize(("operand", "true", "false", "unknown"), [(T, T, F, F), (F, F, T, F), (U, F, F, T)])
def test_is_tests_are_never_unknown(operand: bool | None, true: bool, false: bool, unknown: bool) -> None:
    assert (is_true(operand), is_false(operand), is_unknown(operand)) == (true, false, unknown)


@pytest.mark.parametrize("operand", [1, "TRUE", 0.0, b"\1"])
def test_only_booleans_are_operands(operand: object) -> None:
    for work in (lambda: and_(True, operand), lambda: or_(operand, True), lambda: not_(operand)):
        with pytest.raises(ExpressionError) as caught:
            work()
        assert caught.value.number == INCOMPATIBLE_TYPES


@given(truths, truths)
def test_de_morgan(left: bool | None, right: bool | None) -> None:
    assert not_(and_(left, right)) is or_(not_(left), not_(right))


@given(truths, truths, truths)
def test_and_goes_over_or(left: bool | None, middle: bool | None, right: bool | None) -> None:
    assert and_(left, or_(middle, right)) is or_(and_(left, middle), and_(left, right))
    assert and_(left, middle) is and_(middle, left)
