"""Ranges are a set of whole numbers, whatever is put in and taken out."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from heliograph.log.ranges import Ranges

NUMBER = st.integers(0, 60)


class RangesAreASet(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.ranges = Ranges()
        self.numbers = set()

    @rule(lo=NUMBER, hi=NUMBER)
    def add(self, lo, hi):
        self.ranges.add(lo, hi)
        self.numbers.update(range(lo, hi))

    @rule(lo=NUMBER, hi=NUMBER)
    def remove(self, lo, hi):
        expected = len(self.numbers & set(range(lo, hi)))
        assert self.ranges.remove(lo, hi) == expected
        self.numbers.difference_update(range(lo, hi))

    @precondition(lambda self: self.numbers)
    @rule(most=st.integers(1, 20))
    def take(self, most):
        lo, hi = self.ranges.take(most)
        first = min(self.numbers)
        end = first
        while end in self.numbers and end < first + most:
            end += 1
        assert (lo, hi) == (first, end)
        self.numbers.difference_update(range(lo, hi))

    @rule(lo=NUMBER, hi=NUMBER)
    def within(self, lo, hi):
        lo, hi = sorted((lo, hi))
        assert self.ranges.within(lo, hi) == len(self.numbers & set(range(lo, hi)))

    @rule(lo=NUMBER, hi=NUMBER)
    def gaps(self, lo, hi):
        found = list(self.ranges.gaps(lo, hi))
        assert [n for start, end in found for n in range(start, end)] == sorted(set(range(lo, hi)) - self.numbers)
        assert all(start < end for start, end in found)

    @rule(number=NUMBER)
    def end_of(self, number):
        end = number
        while end in self.numbers:
            end += 1
        assert self.ranges.end_of(number) == end
        assert (number in self.ranges) == (number in self.numbers)

    @invariant()
    def is_the_same_set(self):
        found = list(self.ranges)
        assert [n for lo, hi in found for n in range(lo, hi)] == sorted(self.numbers)
        assert self.ranges.count == len(self.numbers)
        assert len(self.ranges) == len(found)
        if found:
            assert self.ranges.first == min(self.numbers)
        # Apart from each other: two that touch would be one.
        assert all(lo < hi for lo, hi in found)
        assert all(one[1] < other[0] for one, other in pairwise(found))


TestRangesAreASet = RangesAreASet.TestCase


@given(st.lists(st.tuples(NUMBER, NUMBER)))
def test_ranges_can_be_made_of_any_ranges(pairs) -> None:
    numbers = {n for lo, hi in pairs for n in range(lo, hi)}
    assert [n for lo, hi in Ranges(pairs) for n in range(lo, hi)] == sorted(numbers)
