"""A dictionary with a limit."""

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.common.bounded_dict import BoundedDict


class Noting(BoundedDict[int, str]):
    def __init__(self, most: int) -> None:
        super().__init__(most)
        self.gone: list[tuple[int, str]] = []

    def dropped(self, key: int, value: str) -> None:
        self.gone.append((key, value))


def filled(most: int, entries: int) -> Noting:
    noting = Noting(most)
    for number in range(entries):
        noting[number] = str(number)
    return noting


def test_the_oldest_eighth_makes_room() -> None:
    assert list(filled(16, 16)) == list(range(16))
    assert list(filled(16, 17)) == list(range(2, 17))
    assert filled(16, 17).gone == [(0, "0"), (1, "1")]


def test_of_few_entries_one_makes_room() -> None:
    assert list(filled(3, 5)) == [2, 3, 4]


def test_setting_what_is_there_drops_nothing() -> None:
    noting = filled(3, 3)
    noting[0] = "other"
    assert (dict(noting), noting.gone) == ({0: "other", 1: "1", 2: "2"}, [])


def test_a_renewed_entry_stays_longer() -> None:
    noting = filled(3, 3)
    noting.renew(0)
    noting[3] = "3"
    assert list(noting) == [2, 0, 3]
    with pytest.raises(KeyError):
        noting.renew(99)


def test_copies_and_pickles_have_the_same_limit() -> None:
    bounded: BoundedDict[int, str] = BoundedDict(3)
    bounded.update([(1, "a"), (2, "b")])
    for other in (copy.copy(bounded), copy.deepcopy(bounded), pickle.loads(pickle.dumps(bounded))):
        assert (other, other.most) == (bounded, 3)


@given(st.integers(1, 20), st.lists(st.integers(0, 30)))
def test_no_way_of_setting_entries_passes_the_limit(most: int, keys: list[int]) -> None:
    bounded: BoundedDict[int, int] = BoundedDict(most)
    for key in keys:
        bounded[key] = key
        assert bounded[key] == key
        assert len(bounded) <= most
        bounded.setdefault(key + 1, 0)
        bounded.update([(key + 2, 0), (key + 3, 0)])
        assert len(bounded) <= most
