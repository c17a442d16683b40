"""A broker that is started again has all that the one before had."""

import gc
import json
import tracemalloc
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.clients import START, WALL, DurableScene
from broker.durable_clients import DAY, durable, session_fields, subscription_fields
from heliograph.broker.broker import Broker
from heliograph.broker.core.limits import Limits
from heliograph.broker.core.span import message
from heliograph.broker.core.timers import Clock
from heliograph.broker.sessions.session import FOR_EVER, session_cost, subscription_cost
from heliograph.broker.storage import offline_sessions, record_kinds
from heliograph.broker.storage.store import Store
from heliograph.log import Receivers, UniformMessages, encode_uniform_messages, log_kinds
from heliograph.log.log import LogOptions
from heliograph.log.message_log import MessageLog
from heliograph.mqtt import PubAck, PubComp, Publish, PubRec, PubRel, Subscription
from heliograph.mqtt.packets import Will

NAMES = ["one", "two", "three"]
FILTERS = ["a", "a/b", "a/+", "#", "$share/g/a", "$share/g/#", "$share/h/a/b"]
TOPICS = ["a", "a/b", "a/b/c"]
WILL = Will("gone", b"sadly", 1, False, {"will_delay_interval": 1000, "user_property": [("why", "lost")]})

clients = st.sampled_from(NAMES)
actions = st.one_of(
    st.tuples(st.just("connect"), clients, st.sampled_from([DAY, FOR_EVER]), st.booleans()),
    st.tuples(st.just("subscribe"), clients, st.sampled_from(FILTERS), st.integers(0, 2), st.booleans()),
    st.tuples(st.just("unsubscribe"), clients, st.sampled_from(FILTERS)),
    st.tuples(st.just("publish"), st.sampled_from(TOPICS), st.integers(0, 2), st.integers(1, 3), st.booleans()),
    st.tuples(st.just("publish twice"), clients, st.sampled_from(TOPICS)),
    st.tuples(st.just("take"), clients, st.sampled_from([0, 1, 2, 9, 9, 9])),
    st.tuples(st.sampled_from(["lose", "disconnect"]), clients),
    st.tuples(st.just("checkpoint")),
)


class Play:
    """Some clients of a scene, which do as they are told if they can."""

    def __init__(self, scene):
        self.scene = scene
        self.here = {}

    def do(self, what, *details):
        scene, here = self.scene, self.here
        if what == "checkpoint":
            scene.store.upkeep.checkpoint()
        elif what == "publish":
            topic, qos, number, retain = details
            publisher = scene.client("publisher")
            for n in range(number):
                publisher.publish(topic, b"%d" % n, qos, retain=retain)
            publisher.disconnect()
        elif what == "connect":
            name, expiry, with_will = details
            if name not in here:
                will = WILL if with_will else None
                here[name] = durable(scene, name, will=will, session_expiry_interval=expiry, receive_maximum=3)
        elif (client := here.get(details[0])) is not None:
            self._client_does(client, what, *details)

    def _client_does(self, client, what, name, *details):
        if what == "subscribe":
            topic_filter, qos, identified = details
            alone = not topic_filter.startswith("$share")
            client.subscribe(topic_filter, qos, identifier=300 if identified else None, retain_as_published=alone)
        elif what == "unsubscribe":
            client.unsubscribe(*details)
        elif what == "publish twice":  # with QoS 2, and PUBREL is still to come
            client.send(Publish(details[0], b"x", 2, packet_id=7))
        elif what == "take":
            for packet in client.take()[: details[0]]:
                if isinstance(packet, PubRel):
                    client.send(PubComp(packet.packet_id))
                elif isinstance(packet, Publish) and packet.qos:
                    client.send((PubAck if packet.qos == 1 else PubRec)(packet.packet_id))
        else:
            getattr(client, what)()
            del self.here[name]

    def all_go(self):
        for client in self.here.values():
            client.lose()
        # Acknowledgements that nobody waits for are written after a while.
        self.scene.pass_time(1)
        self.scene.pass_time(1)


def due(timer):
    return timer and round(timer[0], 3)


def flights(window):
    """What is in flight, message by message."""
    return {
        (flight.first + n, flight.qos, flight.cursor.number, flight.offset + n)
        for flight in window.sent
        for n in range(flight.count)
        if flight.cursor
    }


def picture_of_window(window):
    if window is None:
        return 1, set(), set()
    return window.next_id, flights(window), {first + n for first, count in window.released for n in range(count)}


def picture_of_subscription(one):
    spool = one.spool and (one.spool.cursor.number, list(one.spool.unsent), list(one.spool.cursor.pending_ranges()))
    return one.qos, one.no_local, one.retain_as_published, one.extra, spool


def picture(scene):
    """All that matters of a broker's sessions when their clients are away."""
    broker = scene.broker
    sessions = {
        name: {
            "number": session.number,
            "away": round(session.away, 3),
            "expiry": session.expiry,
            "ends": due(session.end_timer),
            "will": session.will,
            "will due": due(session.will_timer),
            "received": session.received.numbers() if session.received else [],
            "window": picture_of_window(session.window),
            "subscriptions": {full: picture_of_subscription(one) for full, one in session.subscriptions.items()},
            "backlog": {one.filter for one in session.backlog or () if one.spool and one.spool.count},
        }
        for name, session in broker.sessions.items()
    }
    groups = {
        name: ({member.session.client_id for member in group.members}, group.spool and group.spool.cursor.number)
        for name, group in broker.subscriptions.groups.items()
    }
    receivers = {topic: {who(one) for one in broker.routes.find(topic.encode(), 9).receivers} for topic in TOPICS}
    return sessions, groups, receivers, broker.waiting, broker.subscriptions.count, broker.retained.count


def charged(broker):
    """What sessions are charged for, and what they should be when nothing is in memory but themselves."""
    for name, session in broker.sessions.items():
        yield (
            session.account.used,
            session_cost(name, session.will) + sum(map(subscription_cost, session.subscriptions)),
        )


def who(receiver):
    return (receiver.session.client_id if hasattr(receiver, "session") else receiver.name), receiver.filter


@pytest.mark.parametrize("crash", [True, False], ids=["crash", "stop"])
@settings(max_examples=40, deadline=None)
@given(st.lists(actions, max_size=60))
def test_whatever_has_happened_a_restart_changes_nothing(crash, script) -> None:
    with TemporaryDirectory() as directory:
        scene = DurableScene(Path(directory), inflight=5)
        play = Play(scene)
        for name in NAMES:
            play.do("connect", name, DAY, False)
            play.do("subscribe", name, "a", 1, False)
        for action in script:
            play.do(*action)
        play.all_go()
        before = picture(scene)
        scene.restart(crash=crash)
        assert picture(scene) == before
        scene.restart(crash=False)
        assert picture(scene) == before
        scene.restart()  # from a checkpoint alone
        assert picture(scene) == before
        assert all(found == expected for found, expected in charged(scene.broker))
        scene.close()


def test_a_session_in_a_checkpoint_to_which_things_happen_afterwards(scene) -> None:
    client = durable(scene, "s")
    client.subscribe("a", 1)
    client.disconnect()
    scene.store.upkeep.checkpoint()
    client = durable(scene, "s")
    client.subscribe("b", 2)
    scene.client("p").publish("b", b"on its way", 2)
    client.take()
    client.unsubscribe("a")
    client.lose()
    scene.restart()
    again = durable(scene, "s")
    assert set(scene.broker.sessions["s"].subscriptions) == {"b"}
    assert again.payloads() == [b"on its way"]


def test_a_session_in_a_checkpoint_that_has_ended_since_is_not_there(scene) -> None:
    durable(scene, "s").disconnect()
    scene.store.upkeep.checkpoint()
    durable(scene, "s", clean=True).disconnect(session_expiry_interval=0)
    scene.restart()
    assert "s" not in scene.broker.sessions


def test_a_publisher_in_a_checkpoint_still_owes_its_pubrel(scene) -> None:
    durable(scene, "s").disconnect()
    durable(scene, "p").disconnect()
    scene.store.upkeep.checkpoint()
    receiver = durable(scene, "s")
    receiver.subscribe("a", 1)
    publisher = durable(scene, "p")
    publisher.publish("a", b"once", 2, packet_id=9)
    publisher.lose()
    receiver.lose()
    scene.restart()
    publisher = durable(scene, "p")
    publisher.publish("a", b"once", 2, packet_id=9, dup=True)
    publisher.send(PubRel(9))
    assert durable(scene, "s").payloads() == [b"once"]


@pytest.mark.parametrize("crash", [True, False], ids=["crash", "stop"])
def test_a_sharer_that_was_there_before_the_log_kept_anything_gets_what_waits(scene, crash) -> None:
    first = durable(scene, "first")
    first.subscribe("$share/g/a", 0)
    first.lose()
    second = durable(scene, "second")
    second.subscribe("$share/g/a", 1)
    second.lose()
    scene.client("p").publish("a", b"waits", 1)
    scene.restart(crash=crash)
    assert durable(scene, "first").payloads() == [b"waits"]


def reopened(directory):
    store = Store(directory, Clock(lambda: START, lambda: WALL), lambda: None, LogOptions(force=False))
    return Broker(Limits(), lambda: START, lambda: "", store=store), store


SUBSCRIPTION = {"qos": 1, "no_local": False, "retain_as_published": True, "extra": "0b05"}
PRESENCE = {"expiry": FOR_EVER, "away": 1_699_999_000_000, "will": None, "will_due": None}


def test_sessions_as_servers_wrote_them_before_they_packed_them(tmp_path) -> None:
    ledger = MessageLog(tmp_path / "log", lambda record: None, lambda record, receivers: None)
    cursors = [ledger.new_cursor() for _ in range(3)]
    ledger.append_record(log_kinds.CHECKPOINT)
    for cursor in cursors:
        ledger.append_cursor(cursor)
    plain = {"client": "plain", "received": [], "next_id": 1, "sent": [], "released": [], "retired": []}
    subscriptions = [{"filter": "a/b", **SUBSCRIPTION, "cursor": 1}]
    ledger.append_record(
        record_kinds.SESSION, record_kinds.as_json({"session": 4, **PRESENCE, **plain, "subscriptions": subscriptions})
    )
    will = {"topic": "gone", "payload": "eA==", "qos": 1, "retain": False, "properties": "00"}
    full = {
        "session": 5,
        "expiry": 100,
        "away": 1_699_999_990_000,
        "will": will,
        "will_due": 1_700_000_050_000,
        "client": "full",
        "received": [3, 4],
        "next_id": 9,
        "sent": [[7, 2, 2, 2, 0]],
        "released": [[5, 2]],
        "subscriptions": [{"filter": "$share/g/c", **SUBSCRIPTION, "qos": 2, "cursor": 3}],
        "retired": [{"filter": "b", **SUBSCRIPTION, "cursor": 2}],
    }
    ledger.append_record(record_kinds.SESSION, record_kinds.as_json(full))
    ledger.append_record(
        record_kinds.SESSION,
        record_kinds.as_json({"session": 6, **PRESENCE, **plain, "client": "young", "subscriptions": []}),
    )
    ledger.append_record(record_kinds.PRESENCE, record_kinds.as_json({"session": 6, **PRESENCE, "away": None}))
    ledger.append_record(
        record_kinds.SUBSCRIBED, record_kinds.as_json({"session": 6, "filter": "d/#", **SUBSCRIPTION, "cursor": 0})
    )
    ledger.append_record(record_kinds.PRESENCE, record_kinds.as_json({"session": 6, **PRESENCE}))
    ledger.append_record(record_kinds.UNSUBSCRIBED, record_kinds.as_json({"session": 4, "filter": "nothing"}))
    ledger.close()
    broker, store = reopened(tmp_path / "log")
    assert not len(store.set_aside)
    plain_one, full_one, young = (broker.sessions[name] for name in ("plain", "full", "young"))
    assert (plain_one.number, plain_one.expiry, plain_one.away) == (4, FOR_EVER, START - 1000)
    (subscription,) = plain_one.subscriptions.values()
    assert picture_of_subscription(subscription) == (1, False, True, b"\x0b\x05", (1, [], []))
    assert full_one.received.numbers() == [3, 4]
    assert picture_of_window(full_one.window) == (9, set(), {5, 6})
    assert (full_one.will.topic, due(full_one.will_timer), due(full_one.end_timer)) == ("gone", START + 50, START + 90)
    assert set(full_one.subscriptions) == {"$share/g/c"}
    assert set(young.subscriptions) == {"d/#"}
    store.close()


def test_a_name_or_filter_of_any_characters_can_be_packed() -> None:
    one = offline_sessions.OfflineSubscription(
        "p\u00e4th/\U0001f600/#",
        2**32 - 1,
        offline_sessions.options_of(2, no_local=True, retain_as_published=False),
        b"\x0b\x7f",
    )
    session = offline_sessions.OfflineSession(2**32 - 1, "n\u00e4me", FOR_EVER, -5, 65_535, [one, one])
    ((number, packed),) = offline_sessions.split(session.encode())
    assert number == session.number
    assert offline_sessions.decode(packed) == session
    assert json.dumps(session.fields())


COUNT = 3000


def bytes_each(make):
    """Memory that is taken for each session, and what was made."""
    gc.collect()
    tracemalloc.start()
    made = make()
    gc.collect()
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return taken / COUNT, made


def test_a_durable_session_takes_two_kilobytes_before_and_after_a_restart(tmp_path) -> None:
    def make():
        broker, store = reopened(tmp_path / "log")
        for number in range(COUNT):
            session, _ = broker.open_session(f"device-{number:07d}", clean_start=False, expiry=DAY)
            broker.subscriptions.subscribe(session, Subscription(f"plant/{number % 10}/device-{number:07d}/command", 1))
            broker.detach(session, publish_will=False)
            broker.turn.end()
        store.ledger.wait()
        return broker, store

    before, (_, store) = bytes_each(make)
    store.close()
    after, (broker, store) = bytes_each(lambda: reopened(tmp_path / "log"))
    assert len(broker.sessions) == broker.subscriptions.count == COUNT
    assert before < 2048
    assert after < 1.1 * before
    store.close()


# What makes no sense is set aside, and all else is there


def tell_log(scene, kind, body):
    """Write a record as another server might have done."""
    scene.store.ledger.append_record(kind, body)
    scene.broker.turn.held.when_safe(lambda: None)
    scene.turn_ends()


def strange_subscription(**changes):
    return subscription_fields(**{"qos": 0, "cursor": 0, **changes})


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"client": "bad\0name"}, "client identifier: "),
        ({"expiry": -1}, "expected an expiry"),
        ({"received": [1], "expiry": 2**32}, "expected an expiry"),
        ({"received": [1], "client": "bad\0name"}, "client identifier: "),
        ({"subscriptions": [strange_subscription(qos=7)]}, "expected a QoS of 0, 1 or 2, found 7"),
        ({"subscriptions": [strange_subscription(filter="a/#/b")]}, ""),
        ({"received": [1], "subscriptions": [strange_subscription(extra="xyz")]}, "ValueError"),
    ],
)
def test_a_session_that_makes_no_sense_is_set_aside_and_others_are_there(scene, changes, why) -> None:
    durable(scene, "fine").subscribe("a", 1)
    tell_log(
        scene,
        record_kinds.SESSION,
        record_kinds.as_json(session_fields(**{"away": int(WALL * 1000), "subscriptions": [], **changes})),
    )
    used = scene.broker.memory.used
    scene.restart()
    assert list(scene.broker.sessions) == ["fine"]
    (one,) = scene.store.set_aside
    assert one.kind == record_kinds.SESSION
    assert why in one.why
    assert scene.broker.memory.used <= used
    assert not [one for one in scene.broker.routes.find(b"a", 9).subscriptions if one.session.client_id != "fine"]


def test_a_packed_session_that_makes_no_sense_is_set_aside_too(scene) -> None:
    fine = offline_sessions.OfflineSession(76, "fine", DAY, int(WALL * 1000), 5, [])
    strange = fine._replace(number=77, client="bad\0name")
    tell_log(scene, record_kinds.AWAY, fine.encode() + strange.encode())
    scene.restart()
    assert list(scene.broker.sessions) == ["fine"]
    assert len(scene.store.set_aside) == 1
    assert scene.broker.sessions["fine"].window.next_id == 5


def test_a_retained_message_of_no_topic_is_set_aside(scene) -> None:
    scene.client("p").publish("a", b"kept", retain=True)
    span = message(b"a/+", b"x", retain=True)
    uniform = UniformMessages(span.topic, span.data, 1, 0, 0, 0, False, True, False, False, b"", 0, 0)
    body = encode_uniform_messages(uniform, Receivers((), (), ())) + uniform.data
    tell_log(scene, record_kinds.RETAINED, body)
    scene.restart()
    assert scene.broker.retained.count == 1
    assert [one.kind for one in scene.store.set_aside] == [record_kinds.RETAINED]
