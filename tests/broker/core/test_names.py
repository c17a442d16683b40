"""Names and filters are checked before they get into the log."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.broker.core.names import (
    LONGEST_PLAIN_NAME,
    MOST_LEVELS,
    filter_mistake,
    is_plain_name,
    plain_name_mistake,
    random_name,
)


@pytest.mark.parametrize("name", ["a", "7", "plant-1_b.c", "x" * LONGEST_PLAIN_NAME])
def test_plain_names(name):
    assert is_plain_name(name)
    assert plain_name_mistake(name) == ""


@pytest.mark.parametrize("name", ["", ".a", "-a", "_a", "a/b", "a b", "ä", "a\n", "..", "x" * (LONGEST_PLAIN_NAME + 1)])
def test_other_names_are_no_names_of_files(name):
    assert not is_plain_name(name)
    assert plain_name_mistake(name).startswith("expected letters, digits")


@pytest.mark.parametrize("name", [None, 7, b"a", ["a"]])
def test_only_strings_are_names(name):
    assert "found" in plain_name_mistake(name)


@given(st.text(max_size=20))
def test_a_plain_name_is_a_single_part_of_a_path(name):
    if is_plain_name(name):
        assert name.isascii()
        assert "/" not in name
        assert not name.startswith(".")


@pytest.mark.parametrize("topic_filter", ["a", "a/b", "+/b/#", "#", "/", "$SYS/#"])
def test_filters(topic_filter):
    assert filter_mistake(topic_filter) == ""


@pytest.mark.parametrize("topic_filter", ["", "a#", "a/#/b", "a+/b", "a\0", "$share//a", "$share/g"])
def test_what_is_no_filter(topic_filter):
    assert filter_mistake(topic_filter).startswith("expected a topic filter: ")


def test_a_shared_filter_collects_nothing():
    assert "that is not shared" in filter_mistake("$share/g/a")


@pytest.mark.parametrize("topic_filter", [None, 1, b"a"])
def test_only_strings_are_filters(topic_filter):
    assert filter_mistake(topic_filter).startswith("expected a topic filter, found ")


def test_levels_are_limited():
    assert filter_mistake("a/b/c", 3) == ""
    assert "at most 2 levels, found 3" in filter_mistake("a/b/c", 2)
    assert filter_mistake("/" * (MOST_LEVELS - 1)) == ""
    assert f"at most {MOST_LEVELS} levels" in filter_mistake("/" * MOST_LEVELS)


def test_random_names_are_names_that_nobody_has():
    names = {random_name() for _ in range(100)}
    assert len(names) == 100
    assert all(len(name) == 16 and is_plain_name(name) for name in names)
