"""The tree of a selector knows how deep it is."""

import pytest

from heliograph.broker.queues.selectors import expressions as e
from heliograph.broker.queues.selectors.parsing import parse

A = e.Identifier("a")


@pytest.mark.parametrize("leaf", [A, e.Literal(1), e.IsNull(A), e.Like(A, "x", ""), e.Among(A, ("x",))])
def test_leaves_are_no_level(leaf):
    assert e.depth_of(leaf) == 0


@pytest.mark.parametrize(
    ("text", "depth"),
    [("a", 0), ("a = 1", 1), ("NOT a", 1), ("NOT a = 1", 2), ("a AND b OR c", 2), ("a > -b * 2", 3), ("(((a)))", 0)],
)
def test_each_operator_is_a_level_above_its_deepest_part(text, depth):
    assert e.depth_of(parse(text)) == depth


def test_trees_with_the_same_meaning_are_equal_and_can_be_looked_up():
    assert {parse("a = 1 AND b"): "x"}[parse(" a=1  and b ")] == "x"
    assert parse("a = 1") != parse("a = '1'")
