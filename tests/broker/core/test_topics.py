"""The subscription tree, against matching one filter at a time."""

from hypothesis import given
from hypothesis import strategies as st

from heliograph.broker.core.topics import TopicTree

LEVELS = ["", "a", "b", "$a"]
topics = st.lists(st.sampled_from(LEVELS), min_size=1, max_size=4).map("/".join).filter(bool)
filters = st.builds(
    lambda levels, tail: "/".join(levels + tail),
    st.lists(st.sampled_from([*LEVELS, "+"]), max_size=4),
    st.sampled_from([[], ["#"]]),
).filter(bool)


def matches(topic_filter, topic):
    """The standard's rules, level by level."""
    wanted, levels = topic_filter.split("/"), topic.split("/")
    if topic.startswith("$") and wanted[0] in ("+", "#"):
        return False
    if wanted[-1] == "#":
        wanted.pop()
        levels = levels[: len(wanted)]
    return len(wanted) == len(levels) and all(w in ("+", level) for w, level in zip(wanted, levels, strict=True))


def is_bare(tree):
    return not tree._root.children and not tree._root.here


@given(st.lists(st.tuples(filters, st.integers(0, 3)), max_size=12), topics)
def test_a_topic_finds_the_values_of_all_filters_that_match_it(entries, topic):
    tree = TopicTree()
    for topic_filter, number in entries:
        tree.add(topic_filter, (topic_filter, number))
    assert sorted(tree.match(topic)) == sorted({entry for entry in entries if matches(entry[0], topic)})


@given(st.lists(st.tuples(filters, st.integers(0, 3)), max_size=12, unique=True), st.data())
def test_what_is_removed_is_not_found_and_the_rest_still_is(entries, data):
    tree = TopicTree()
    for entry in entries:
        tree.add(entry[0], entry)
    kept = list(entries)
    for entry in data.draw(st.permutations(entries))[: data.draw(st.integers(0, len(entries)))]:
        tree.remove(entry[0], entry)
        kept.remove(entry)
    topic = data.draw(topics)
    assert sorted(tree.match(topic)) == sorted(entry for entry in kept if matches(entry[0], topic))


@given(st.lists(st.tuples(filters, st.integers(0, 3)), max_size=12, unique=True), st.data())
def test_removing_everything_leaves_no_branches(entries, data):
    tree = TopicTree()
    for entry in entries:
        tree.add(entry[0], entry)
    for entry in data.draw(st.permutations(entries)):
        tree.remove(entry[0], entry)
    assert is_bare(tree)


def found(topic_filter, *names):
    tree = TopicTree()
    tree.add(topic_filter, 1)
    return [name for name in names if tree.match(name)]


def test_a_hash_matches_the_level_above_it():
    assert found("a/#", "a", "a/b", "a/b/c", "b", "ab") == ["a", "a/b", "a/b/c"]


def test_a_plus_matches_exactly_one_level_which_may_be_empty():
    assert found("a/+", "a", "a/", "a/b", "a/b/c") == ["a/", "a/b"]
    assert found("+", "a", "/", "/a") == ["a"]
    assert found("+/+", "a", "/", "/a") == ["/", "/a"]


def test_wildcards_at_the_first_level_do_not_match_names_that_start_with_a_dollar():
    assert found("#", "$SYS/a", "a") == ["a"]
    assert found("+/a", "$SYS/a", "b/a") == ["b/a"]
    assert found("$SYS/#", "$SYS", "$SYS/a") == ["$SYS", "$SYS/a"]
    assert found("a/+", "a/$b") == ["a/$b"]


def test_adding_a_value_twice_finds_it_once():
    tree = TopicTree()
    tree.add("a", 1)
    tree.add("a", 1)
    assert tree.match("a") == [1]
