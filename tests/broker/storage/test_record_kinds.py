"""What stands in the records of sessions."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.durable_clients import durable
from heliograph.broker.storage import record_kinds
from heliograph.broker.storage.record_kinds import Move, decode_moves, session_record, will_of, will_record
from heliograph.log import FIRST_APPLICATION_KIND
from heliograph.mqtt import Will

MOVES = st.builds(
    Move,
    what=st.integers(1, 5),
    qos=st.integers(0, 2),
    first=st.integers(1, 65535),
    number=st.integers(1, 65535),
    session=st.integers(1, 2**32 - 1),
    cursor=st.integers(0, 2**32 - 1),
    offset=st.integers(0, 2**64 - 1),
)


@given(st.lists(MOVES, max_size=5))
def test_moves_are_read_back_one_after_the_other(moves):
    assert decode_moves(b"".join(move.encode() for move in moves)) == moves


def test_kinds_differ_and_the_last_one_is_the_highest():
    kinds = [
        value
        for name, value in vars(record_kinds).items()
        if name.isupper() and isinstance(value, int) and value >= FIRST_APPLICATION_KIND
        if name not in {"FIRST_APPLICATION_KIND", "LAST"}
    ]
    assert max(kinds) == record_kinds.LAST
    assert sorted(kinds) == list(range(FIRST_APPLICATION_KIND, record_kinds.LAST + 1))


@pytest.mark.parametrize(
    "will",
    [
        None,
        Will("a/b", b""),
        Will("a", b"\xff\0", 2, True, {"will_delay_interval": 5, "user_property": [("k", "v"), ("k", "w")]}),
    ],
)
def test_a_will_is_the_same_when_it_comes_from_the_log(will):
    assert will_of(json.loads(json.dumps(will_record(will)))) == will


def test_a_session_is_told_with_all_that_is_on_its_way(scene):
    client = durable(scene, "c")
    client.subscribe("a", 1)
    client.subscribe("b", 2)
    client.publish("x", b"", qos=2, packet_id=77)
    publisher = scene.client("p")
    for topic in "ab":
        publisher.publish(topic, b"m", qos=2)
    session = scene.broker.sessions["c"]
    fact = json.loads(record_kinds.as_json(session_record(session, {"session": 5, "away": None})))
    cursors = {one.filter: one.spool.cursor.number for one in session.subscriptions.values()}
    assert (fact["session"], fact["client"], fact["received"], fact["next_id"]) == (5, "c", [77], 3)
    assert [(first, count, qos, cursor) for first, count, qos, cursor, _ in fact["sent"]] == [
        (1, 1, 1, cursors["a"]),
        (2, 1, 2, cursors["b"]),
    ]
    assert {one["filter"]: (one["qos"], one["cursor"]) for one in fact["subscriptions"]} == {
        "a": (1, cursors["a"]),
        "b": (2, cursors["b"]),
    }
    assert fact["retired"] == []


def test_a_subscription_that_has_gone_is_told_as_long_as_something_is_on_its_way(scene):
    client = durable(scene, "c")
    client.subscribe("a", 1)
    scene.client("p").publish("a", b"m", qos=1)
    (message,) = client.messages()
    client.unsubscribe("a")
    session = scene.broker.sessions["c"]
    assert [one["filter"] for one in session_record(session, {})["retired"]] == ["a"]
    client.acknowledge(message)
    assert session_record(session, {})["retired"] == []
