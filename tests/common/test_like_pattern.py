"""LIKE: the same answer as letter by letter, in time that grows with the text alone."""

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from heliograph.common import like_pattern as like


def is_like(text: str, pattern: str, escape: str) -> bool:
    """Letter by letter: all places of the text that can be reached."""
    places, letters = {0}, iter(pattern)
    for letter in letters:
        if letter == escape:
            wanted = next(letters, escape)
            places = {at + 1 for at in places if text[at : at + 1] == wanted}
        elif letter == "%":
            places = set(range(min(places, default=len(text) + 1), len(text) + 1))
        else:
            places = {at + 1 for at in places if at < len(text) and letter in ("_", text[at])}
    return len(text) in places


@pytest.mark.parametrize("quick", [like._QUICK, 0], ids=["short", "long"])
@settings(max_examples=1000, deadline=None)
@given(st.text("ab%_!\u00e9\U0001f600", max_size=12), st.text("abb%\n\u00e9\U0001f600\ud800", max_size=14))
@example("%a_b%", "aab")
@example("%_a__b_%a_b", "xaxxbxaxb")
@example("%\u01fe_a%", "\u00fexa")
def test_a_text_is_like_a_pattern_if_it_is_so_letter_by_letter(quick: int, pattern: str, text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(like, "_QUICK", quick)
        assert like.like_matcher(pattern, "!")(text) is is_like(text, pattern, "!")


@pytest.mark.parametrize(
    "pattern",
    [
        "%" + "_" * 5000 + "x%",
        "%" + "a_" * 3000 + "b%",
        "%" + "a" * 5000 + "b%",
        "%" + "a" * 5000 + "b",
        "%a_a" * 1000 + "%b_b%",
        "%a" * 5000 + "b",
    ],
    ids=["any", "every other", "same", "same at the end", "many pieces", "many letters"],
)
@pytest.mark.parametrize("letter", ["a", "\u00e9"], ids=["ASCII", "others"])
def test_no_pattern_takes_long(pattern: str, letter: str) -> None:
    text = "a" * 3_499_999 + letter
    matches = like.like_matcher(pattern)
    began = time.thread_time()
    assert not matches(text)
    assert time.thread_time() - began < 5
