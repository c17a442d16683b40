"""What was meant by a word that is not known."""

from heliograph.common.suggestions import closest_name


def test_the_closest_known_word_is_suggested_whatever_its_case() -> None:
    assert closest_name("max_mesages", ["max_bytes", "max_messages"]) == "max_messages"
    assert closest_name("STARTINGOFFSET", ["startingOffsets", "filter"]) == "startingOffsets"


def test_nothing_is_suggested_for_a_word_like_no_other() -> None:
    assert closest_name("xyz", ["level", "format"]) == ""
    assert closest_name("level", []) == ""


def test_a_stricter_cutoff_suggests_less() -> None:
    assert closest_name("abcd", ["abxy"], cutoff=0.5) == "abxy"
    assert closest_name("abcd", ["abxy"], cutoff=0.7) == ""


def test_a_word_that_is_far_too_long_is_not_compared() -> None:
    assert closest_name("level" * 1000, ["level" * 1000]) == ""
