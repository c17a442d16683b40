"""A set of packet identifiers is a set, however its members come."""

from hypothesis import given
from hypothesis import strategies as st

from heliograph.broker.sessions.identifier_set import IdentifierSet

IDS = st.integers(1, 65_535)
RUNS = st.builds(lambda first, count: range(first, min(first + count, 65_536)), IDS, st.integers(0, 50))
SOME = st.one_of(RUNS, st.lists(IDS, max_size=10), st.lists(st.integers(1, 20), max_size=10))


@given(st.lists(st.tuples(st.booleans(), SOME), max_size=12), SOME)
def test_it_is_a_set(changes, asked) -> None:
    found, expected = IdentifierSet(), set[int]()
    for comes, ids in changes:
        if comes:
            found.add_all(ids)
            expected.update(ids)
        else:
            found.discard_all(ids)
            expected.difference_update(ids)
    assert found.numbers() == sorted(expected)
    assert found.count == len(expected)
    assert found.known(asked) == len(expected.intersection(asked))
