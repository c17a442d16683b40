"""What cannot be opened is set aside: named, kept with its messages, told once, and tried again."""

import json

import pytest

from heliograph.broker.storage import record_kinds
from heliograph.broker.storage.set_aside import SetAsides, read_set_aside, reason
from heliograph.errors import Problem
from heliograph.log import MESSAGES, Record
from heliograph.mqtt import ProtocolError, Reason

UNREADABLE = b"{not json"


def record(kind, fact, position=100):
    return Record(position, kind, fact if isinstance(fact, bytes) else json.dumps(fact).encode())


def only(asides):
    (one,) = asides
    return one


@pytest.mark.parametrize(
    ("kind", "fact", "name"),
    [
        (record_kinds.SESSION, {"client": "meter"}, 'session "meter"'),
        (record_kinds.SUBSCRIBED, {"filter": "a/#"}, 'subscription "a/#"'),
        (record_kinds.STREAM, {"stream": "plant"}, 'stream "plant"'),
        (record_kinds.QUEUE, {"queue": 7}, "queue at position 100"),
        (record_kinds.QUEUE, [], "queue at position 100"),
        (record_kinds.QUEUE, UNREADABLE, "queue at position 100"),
        (MESSAGES, b"\0", "messages at position 100"),
        (record_kinds.MOVES, b"\0", "packet identifiers at position 100"),
        (record_kinds.ENDED, {}, f"fact of kind {record_kinds.ENDED} at position 100"),
    ],
)
def test_everything_has_a_name(kind, fact, name):
    asides = SetAsides()
    asides.add(record(kind, fact), ValueError())
    assert only(asides).name == name


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (Problem("two\nlines"), "two; lines"),
        (ProtocolError(Reason.MALFORMED_PACKET, "no filter"), "no filter"),
        (KeyError("filter"), "KeyError: 'filter'"),
        (ValueError("a\n b\udc80"), "ValueError: a b\\udc80"),
        (ValueError("x" * 1000), "ValueError: " + "x" * 488),
    ],
)
def test_reasons_are_one_line(error, text):
    assert reason(error) == text


def test_the_same_fact_is_one_object_with_the_newest_reason_and_the_first_position():
    asides = SetAsides()
    fact = {"queue": "Q", "cursor": 3}
    asides.add(record(record_kinds.QUEUE, fact, 100), ValueError("first"))
    asides.add(record(record_kinds.QUEUE, fact, 200), ValueError("second"))
    assert (only(asides).position, only(asides).why) == (100, "ValueError: second")


def test_it_is_read_back_from_the_log_and_told_only_once():
    asides = SetAsides()
    asides.add(record(record_kinds.QUEUE, {"queue": "Q", "cursor": 3}), ValueError("x"))
    (news,) = asides.news()
    assert asides.news() == []
    kind, body = news.record()
    assert kind == record_kinds.SET_ASIDE
    assert read_set_aside(body) == news
    later = SetAsides()
    assert later.take(body) == news
    assert later.news() == []
    assert not later.outdated
    later.remove(news)
    assert len(later) == 0
    assert later.outdated


def test_cursors_are_found_anywhere_in_a_fact():
    asides = SetAsides()
    fact = {
        "client": "c",
        "subscriptions": [{"filter": "a", "cursor": 3}, {"filter": "b", "cursor": 0}],
        "deep": {"cursors": [5, "x", 4]},
        "number": 9,
    }
    asides.add(record(record_kinds.SESSION, fact), ValueError())
    assert only(asides).cursors == (3, 4, 5)


def test_cursors_that_others_have_or_that_are_gone_are_not_kept():
    asides = SetAsides()
    asides.add(record(record_kinds.STREAM, {"stream": "s", "cursors": [1, 2, 3]}), ValueError())
    assert asides.keep_cursors({1, 2, 4}, {1}) == {2}
    assert only(asides).cursors == (2,)


@pytest.mark.parametrize(("kind", "body"), [(record_kinds.QUEUE, UNREADABLE), (record_kinds.AWAY, b"\0")])
def test_what_cannot_be_read_at_all_keeps_whatever_nobody_else_has(kind, body):
    asides = SetAsides()
    asides.add(record(record_kinds.STREAM, {"stream": "s", "cursors": [2]}), ValueError())
    asides.add(record(kind, body), ValueError())
    assert asides.keep_cursors({1, 2, 3}, {1}) == {2, 3}
    assert [one.cursors for one in asides] == [(2,), (3,)]
