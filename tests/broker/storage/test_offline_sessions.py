"""Sessions of clients that are away survive being packed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.durable_clients import durable
from heliograph.broker.storage import offline_sessions
from heliograph.broker.storage.offline_sessions import OfflineSession, OfflineSubscription, options_of
from heliograph.mqtt import Will

UINT = st.integers(0, 2**32 - 1)
NAMES = st.text(max_size=20)
SUBSCRIPTIONS = st.builds(
    OfflineSubscription,
    filter=NAMES,
    cursor=UINT,
    options=st.integers(0, 15),
    extra=st.sampled_from([b"", b"\x0b\x05", b"\x0b\xff\xff\xff\x7f"]),
)
SESSIONS = st.builds(
    OfflineSession,
    number=UINT,
    client=NAMES,
    expiry=UINT,
    away=st.integers(-(2**63), 2**63 - 1),
    next_id=st.integers(1, 65535),
    subscriptions=st.lists(SUBSCRIPTIONS, max_size=4),
)


@given(SESSIONS)
def test_a_session_is_the_same_when_it_is_unpacked(session):
    assert offline_sessions.decode(session.encode()) == session


@given(st.lists(SESSIONS, max_size=4))
def test_many_in_one_record_are_told_apart(sessions):
    packed = [one.encode() for one in sessions]
    assert list(offline_sessions.split(b"".join(packed))) == [
        (one.number, body) for one, body in zip(sessions, packed, strict=True)
    ]


@given(SESSIONS, st.data())
def test_a_record_that_is_cut_is_no_record(session, data):
    body = session.encode()
    cut = data.draw(st.integers(1, len(body) - 1))
    with pytest.raises(ValueError, match=r"a session of \d+ bytes at byte 0"):
        list(offline_sessions.split(body[:cut]))


def test_a_length_that_cannot_be_is_a_mistake():
    with pytest.raises(ValueError, match="a session of 3 bytes at byte 0 of 40"):
        list(offline_sessions.split(b"\3\0\0\0" + bytes(36)))


@pytest.mark.parametrize("qos", [0, 1, 2])
@pytest.mark.parametrize("no_local", [True, False])
@pytest.mark.parametrize("retain", [True, False])
def test_options_are_told_as_a_fact(qos, no_local, retain):
    options = options_of(qos, no_local=no_local, retain_as_published=retain)
    fact = OfflineSubscription("a", 7, options, b"\x0b\x05").fields()
    assert fact == {
        "filter": "a",
        "qos": qos,
        "no_local": no_local,
        "retain_as_published": retain,
        "extra": "0b05",
        "cursor": 7,
    }


def test_a_session_of_a_broker_is_packed_with_all_that_there_is_to_say(scene):
    client = durable(scene, "c")
    client.subscribe("a/#", 2, identifier=5, no_local=True)
    client.subscribe("b", 0, retain_as_published=True)
    client.lose()
    session = scene.broker.sessions["c"]
    assert offline_sessions.is_simple(session)
    packed = offline_sessions.decode(offline_sessions.of_session(session, 123).encode())
    assert (packed.client, packed.away, packed.expiry) == ("c", 123, session.expiry)
    first, second = packed.subscriptions
    assert (first.filter, first.extra, second.filter, second.cursor) == ("a/#", b"\x0b\x05", "b", 0)
    assert first.cursor == session.subscriptions["a/#"].spool.cursor.number
    for one in packed.subscriptions:
        there = session.subscriptions[one.filter]
        fresh = there.copy()
        fresh.set_options(0, not there.no_local, not there.retain_as_published, None)
        one.set_options(fresh)
        for name in ("qos", "no_local", "retain_as_published", "extra"):
            assert getattr(fresh, name) == getattr(there, name), name


def test_sessions_of_which_there_is_more_to_say_are_not_simple(scene):
    here = durable(scene, "here")
    assert not offline_sessions.is_simple(here.connection.session)
    durable(scene, "will", will=Will("a", b"", properties={"will_delay_interval": 5})).lose()
    assert not offline_sessions.is_simple(scene.broker.sessions["will"])
    reader = durable(scene, "reader")
    reader.subscribe("t", 1)
    scene.client("p").publish("t", b"x", qos=1)
    reader.lose()
    assert not offline_sessions.is_simple(scene.broker.sessions["reader"])
    writer = durable(scene, "writer")
    writer.publish("t", b"y", qos=2)
    writer.lose()
    assert not offline_sessions.is_simple(scene.broker.sessions["writer"])
