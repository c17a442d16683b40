"""Retained messages: the last of each topic, found by filter."""

from hypothesis import given
from hypothesis import strategies as st

from broker.core.test_topics import filters, matches, topics
from heliograph.broker.core.limits import Limits
from heliograph.broker.core.retained import Retained, cost_of
from heliograph.broker.core.span import message

NOW = 1000.0


def keep(retained, topic, payload, expires=0.0, **limits):
    span = message(topic.encode(), payload, qos=1, retain=True, properties=b"\x01\x01", expires=expires)
    return retained.keep(span, 0, Limits(**limits))


def found(retained, topic_filter, now=NOW):
    return {span.topic.decode(): span.payloads(0, 1)[0] for span in retained.matching(topic_filter, now)}


def is_bare(retained):
    return not retained._root.branches and retained._root.kept is None


@given(st.lists(st.tuples(topics, st.sampled_from([b"", b"1", b"22"])), max_size=15), filters)
def test_a_filter_finds_the_last_message_of_each_topic_that_it_matches(published, topic_filter):
    retained = Retained()
    expected = {}
    for topic, payload in published:
        assert keep(retained, topic, payload)
        expected[topic] = payload
    expected = {topic: payload for topic, payload in expected.items() if payload}
    assert found(retained, topic_filter) == {t: p for t, p in expected.items() if matches(topic_filter, t)}
    assert retained.count == len(expected)
    assert retained.bytes == sum(map(cost_of, retained.all()))


@given(st.lists(topics, max_size=10, unique=True), st.data())
def test_clearing_everything_leaves_no_branches(names, data):
    retained = Retained()
    for name in names:
        keep(retained, name, b"x")
    for name in data.draw(st.permutations(names)):
        retained.clear(name)
    assert is_bare(retained)
    assert (retained.count, retained.bytes) == (0, 0)


def test_clearing_a_topic_without_a_message_does_nothing():
    retained = Retained()
    keep(retained, "a/b", b"x")
    for name in ("a", "a/b/c", "x"):
        retained.clear(name)
    assert found(retained, "#") == {"a/b": b"x"}


def test_a_retained_message_keeps_what_receivers_get():
    retained = Retained()
    keep(retained, "a", b"x", expires=NOW + 5)
    (span,) = retained.matching("a", NOW)
    assert (span.qos, span.properties, span.expires, span.is_retained) == (1, b"\x01\x01", NOW + 5, True)


def test_no_more_messages_are_kept_than_the_limit_says():
    retained = Retained()
    assert keep(retained, "a", b"1", retained_messages=2)
    assert keep(retained, "b", b"1", retained_messages=2)
    assert not keep(retained, "c", b"1", retained_messages=2)
    assert keep(retained, "a", b"2", retained_messages=2), "one that replaces another needs no room"
    assert found(retained, "#") == {"a": b"2", "b": b"1"}
    assert retained.rejected == 1


def test_no_more_bytes_are_kept_than_the_limit_says():
    retained = Retained()
    keep(retained, "a", b"1")
    most = 2 * (retained.bytes - 1) + 8  # topics and properties count, too
    assert keep(retained, "a", b"12345", retained_bytes=most)
    assert not keep(retained, "b", b"1234", retained_bytes=most)
    assert keep(retained, "a", b"1234", retained_bytes=most)
    assert keep(retained, "b", b"1234", retained_bytes=most)
    assert not keep(retained, "b", b"12345", retained_bytes=most)
    assert (retained.bytes, retained.rejected) == (most, 2)


def test_what_has_expired_is_forgotten_when_somebody_looks():
    retained = Retained()
    keep(retained, "a/b", b"1", expires=NOW + 5)
    keep(retained, "a/c", b"2", expires=NOW + 6)
    assert found(retained, "a/+", NOW + 4) == {"a/b": b"1", "a/c": b"2"}
    assert found(retained, "a/+", NOW + 5) == {"a/c": b"2"}
    assert retained.count == 1
