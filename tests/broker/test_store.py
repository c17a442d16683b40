"""A broker with a store: what it has acknowledged outlives it, and it acknowledges nothing that would not."""

import errno
import os
import tracemalloc

import pytest

from broker.clients import DurableScene
from heliograph.broker.limits import WhenFull
from heliograph.mqtt import (
    ConnAck,
    PubAck,
    PubComp,
    Publish,
    PubRec,
    PubRel,
    Reason,
    SubAck,
    Subscribe,
    Subscription,
    UnsubAck,
    Unsubscribe,
    Will,
)

DAY = 86_400


@pytest.fixture
def make(tmp_path):
    """Makes a scene with these limits."""
    scenes = []

    def start(**limits):
        scenes.append(DurableScene(tmp_path / "logs", **limits))
        return scenes[-1]

    yield start
    for scene in scenes:
        scene.close()


@pytest.fixture
def scene(make):
    return make()


def durable(scene, client_id, version=5, *, clean=False, **properties):
    """A client whose session outlives its connection."""
    if version == 5:
        properties.setdefault("session_expiry_interval", DAY)
    return scene.client(client_id, version, clean=clean, **properties)


def subscriber(scene, client_id="s", topic_filter="a", qos=1, **options):
    """A client with a durable subscription."""
    client = durable(scene, client_id)
    assert client.subscribe(topic_filter, qos, **options) == qos
    return client


def kinds(client):
    return [type(packet) for packet in client.take()]


BOTH = pytest.mark.parametrize("crash", [True, False], ids=["crash", "stop"])


# What is held until it is safe


def test_a_durable_session_is_welcomed_when_it_is_safe(scene) -> None:
    with scene.held():
        client = scene.stranger(5)
        client.connect("s", clean=False, session_expiry_interval=DAY)
        assert client.take() == []
    assert kinds(client) == [ConnAck]


def test_what_a_client_sends_before_connack_is_taken_afterwards(scene) -> None:
    with scene.held():
        client = scene.stranger(5)
        client.connect("s", clean=False, session_expiry_interval=DAY)
        client.send(Subscribe(1, (Subscription("a", 1),)))
        assert client.take() == []
    assert kinds(client) == [ConnAck, SubAck]


def test_a_session_that_ends_with_its_connection_waits_for_nothing(scene) -> None:
    with scene.held():
        client = scene.client("s")
        assert client.connack is not None
        assert client.subscribe("a", 1) == 1
        assert client.unsubscribe("a") == (Reason.SUCCESS,)


def test_subscribing_is_acknowledged_when_it_is_safe(scene) -> None:
    client = durable(scene, "s")
    with scene.held():
        client.send(Subscribe(1, (Subscription("a", 1),)))
        assert client.take() == []
    assert kinds(client) == [SubAck]
    with scene.held():
        client.send(Unsubscribe(1, ("a",)))
        assert client.take() == []
    assert kinds(client) == [UnsubAck]


@pytest.mark.parametrize(("qos", "answer"), [(1, PubAck), (2, PubRec)])
def test_a_stored_message_is_acknowledged_and_delivered_when_it_is_safe(scene, qos, answer) -> None:
    receiver = subscriber(scene, qos=qos)
    publisher = scene.client("p")
    with scene.held():
        publisher.send(Publish("a", b"x", qos, packet_id=1))
        assert publisher.take() == []
        assert receiver.take() == []
    assert kinds(publisher) == [answer]
    assert receiver.payloads() == [b"x"]


def test_acknowledgements_keep_their_order(scene) -> None:
    subscriber(scene, topic_filter="stored")
    publisher = scene.client("p")
    with scene.held():
        for packet_id, topic in enumerate(("nobody", "stored", "nobody", "stored"), 1):
            publisher.send(Publish(topic, b"x", 1, packet_id=packet_id))
        assert [packet.packet_id for packet in publisher.take()] == [1]
    assert [packet.packet_id for packet in publisher.take()] == [2, 3, 4]


def test_messages_without_durable_receivers_are_not_stored(scene) -> None:
    volatile = scene.client("v")
    volatile.subscribe("a", 1)
    subscriber(scene, topic_filter="b")
    publisher = scene.client("p")
    end = scene.store.ledger.end
    with scene.held():
        assert publisher.publish("a", b"1", 1).packet_id == 1
        assert publisher.publish("nobody", b"2", 2).packet_id == 2
        publisher.publish("b", b"3", 0)
        assert volatile.payloads() == [b"1"]
    assert scene.store.ledger.end == end


def test_pubrel_to_a_durable_publisher_is_answered_when_it_is_safe(scene) -> None:
    publisher = durable(scene, "p")
    publisher.publish("a", b"x", 2)
    with scene.held():
        publisher.send(PubRel(1))
        assert publisher.take() == []
    assert kinds(publisher) == [PubComp]


def test_pubrel_to_a_durable_receiver_leaves_when_it_is_safe(scene) -> None:
    receiver = subscriber(scene, qos=2)
    scene.client("p").publish("a", b"x", 2)
    (message,) = receiver.messages()
    with scene.held():
        receiver.send(PubRec(message.packet_id))
        assert receiver.take() == []
    assert receiver.take() == [PubRel(message.packet_id)]


def test_a_crash_before_it_is_safe_takes_back_what_nobody_was_told_of(scene) -> None:
    subscriber(scene).disconnect()
    publisher = scene.client("p")
    scene.stop_the_clock_of_the_log()
    publisher.send(Publish("a", b"x", 1, packet_id=1))
    assert publisher.take() == []
    scene.restart()
    assert durable(scene, "s").messages() == []


def test_a_message_read_back_does_not_overtake_one_that_is_held(make) -> None:
    scene = make(inflight=2)
    receiver = subscriber(scene)
    publisher = scene.client("p")
    publisher.publish("a", b"1", 1)
    (first,) = receiver.messages()
    scene.stop_the_clock_of_the_log()
    publisher.send(Publish("a", b"2", 1, packet_id=2))  # sent, but held
    publisher.send(Publish("a", b"3", 1, packet_id=3))  # no room: has to be read back
    scene.broker.end_turn()
    assert scene.store.ledger.wait()  # safe, but the broker has not been told yet
    receiver.send(PubAck(first.packet_id))
    scene._held = False
    scene.turn_ends()
    assert receiver.payloads() == [b"2", b"3"]


# Sessions and what waits for them


@BOTH
def test_a_session_and_its_subscriptions_outlive_the_server(scene, crash) -> None:
    subscriber(scene)
    scene.restart(crash=crash)
    receiver = durable(scene, "s")
    assert receiver.connack.session_present
    scene.client("p").publish("a", b"x", 1)
    assert receiver.payloads() == [b"x"]


@BOTH
def test_options_of_subscriptions_outlive_the_server(scene, crash) -> None:
    client = durable(scene, "s")
    client.subscribe("a", 1, identifier=77, no_local=True, retain_as_published=True)
    client.subscribe("b", 2)
    client.subscribe("c", 0)
    client.disconnect()
    scene.restart(crash=crash)
    client = durable(scene, "s")
    client.publish("a", b"own", 1)
    assert client.messages() == []
    publisher = scene.client("p")
    publisher.publish("a", b"1", 2, retain=True)
    publisher.publish("b", b"2", 2, retain=True)
    publisher.publish("c", b"3", 2)
    one, two, three = client.messages()
    assert (one.qos, one.retain, one.properties) == (1, True, {"subscription_identifier": [77]})
    assert (two.qos, two.retain, two.properties) == (2, False, {})
    assert three.qos == 0


@BOTH
@pytest.mark.parametrize("qos", [1, 2])
def test_what_waits_outlives_the_server(scene, crash, qos) -> None:
    subscriber(scene, qos=qos).disconnect()
    publisher = scene.client("p")
    for n in range(100):
        publisher.publish("a", b"%d" % n, qos, content_type="text")
    scene.restart(crash=crash)
    got = durable(scene, "s").messages()
    assert [message.payload for message in got] == [b"%d" % n for n in range(100)]
    assert {(message.topic, message.qos, message.dup) for message in got} == {("a", qos, False)}
    assert got[0].properties == {"content_type": "text"}


@BOTH
def test_messages_on_their_way_are_sent_again_with_their_identifiers(scene, crash) -> None:
    receiver = subscriber(scene, qos=2)
    publisher = scene.client("p")
    for n in range(6):
        publisher.publish("a", b"%d" % n, 1 + n % 2)
    sent = receiver.messages()
    receiver.acknowledge(sent[1], sent[2])
    scene.restart(crash=crash)
    receiver = durable(scene, "s")
    got = receiver.messages()
    left = [sent[0], *sent[3:]]
    assert [(m.payload, m.packet_id, m.qos) for m in got] == [(m.payload, m.packet_id, m.qos) for m in left]
    assert all(message.dup for message in got)
    receiver.acknowledge(*got)
    scene.client("p").publish("a", b"new", 2)
    (new,) = receiver.messages()
    assert (new.payload, new.dup) == (b"new", False)
    scene.restart(crash=crash)
    receiver = durable(scene, "s")
    assert [message.payload for message in receiver.messages()] == [b"new"]


@BOTH
def test_released_identifiers_are_released_again(scene, crash) -> None:
    receiver = subscriber(scene, qos=2)
    scene.client("p").publish("a", b"x", 2)
    (message,) = receiver.messages()
    receiver.send(PubRec(message.packet_id))
    scene.restart(crash=crash)
    receiver = durable(scene, "s")
    assert receiver.take() == [PubRel(message.packet_id)]
    receiver.send(PubComp(message.packet_id))
    scene.restart(crash=crash)
    assert durable(scene, "s").take() == []


def test_a_receipt_cut_in_two_by_a_crash_never_delivers_twice(scene) -> None:
    """The receipt of a QoS 2 message is more than one record: with any part of them, it is either all or nothing."""
    receiver = subscriber(scene, qos=2)
    scene.client("p").publish("a", b"x", 2)
    (message,) = receiver.messages()
    safe = scene.store.ledger.end
    receiver.send(PubRec(message.packet_id))
    end = scene.store.ledger.end
    assert receiver.take() == [PubRel(message.packet_id)]
    log = scene.log
    for cut in range(safe, end + 1, 8):
        scene.log = log
        scene.restart(cut=cut)
        assert kinds(durable(scene, "s")) in ([Publish], [PubRel])


@BOTH
def test_a_qos_2_publish_is_not_taken_twice(scene, crash) -> None:
    subscriber(scene, qos=2).disconnect()
    publisher = durable(scene, "p")
    publisher.publish("a", b"stored", 2, packet_id=1)
    publisher.publish("nobody", b"not stored", 2, packet_id=2)
    scene.restart(crash=crash)
    publisher = durable(scene, "p")
    assert publisher.connack.session_present
    publisher.publish("a", b"stored", 2, packet_id=1, dup=True)
    publisher.publish("nobody", b"not stored", 2, packet_id=2, dup=True)
    publisher.send(PubRel(1), PubRel(2))
    assert [packet.reason for packet in publisher.take()] == [Reason.SUCCESS, Reason.SUCCESS]
    assert durable(scene, "s").payloads() == [b"stored"]
    scene.restart(crash=crash)
    publisher = durable(scene, "p")
    publisher.publish("a", b"another", 2, packet_id=1)
    assert [m.payload for m in durable(scene, "s").messages()] == [b"stored", b"another"]


@BOTH
def test_clean_start_forgets(scene, crash) -> None:
    receiver = subscriber(scene)
    publisher = scene.client("p")
    publisher.publish("a", b"on its way", 1)
    receiver.disconnect()
    publisher.publish("a", b"waiting", 1)
    receiver = durable(scene, "s", clean=True)
    assert not receiver.connack.session_present
    assert receiver.messages() == []
    scene.restart(crash=crash)
    receiver = durable(scene, "s")
    publisher = scene.client("p")
    publisher.publish("a", b"later", 1)
    assert receiver.messages() == []
    assert scene.store.ledger.cursors == {}


def test_what_was_on_its_way_to_a_session_that_ends_is_not_kept(scene) -> None:
    receiver = subscriber(scene)
    scene.client("p").publish("a", b"x", 1)
    assert len(receiver.messages()) == 1
    receiver.disconnect(session_expiry_interval=0)
    assert scene.store.ledger.cursors == {}


def test_a_clean_start_without_a_durable_session_is_safe_before_it_is_told(scene) -> None:
    subscriber(scene).disconnect()
    scene.stop_the_clock_of_the_log()
    client = scene.client("s", clean=True)
    told = client.connack is not None
    scene.restart()
    assert not told or "s" not in scene.broker.sessions


@BOTH
def test_a_session_expires_while_the_server_is_away(scene, crash) -> None:
    durable(scene, "short", session_expiry_interval=100).disconnect()
    durable(scene, "long", session_expiry_interval=1000).disconnect()
    scene.pass_time(60)
    scene.turn_ends()
    scene.now += 60
    scene.restart(crash=crash)
    scene.pass_time(1)
    assert not scene.client("short", clean=False).connack.session_present
    assert scene.client("long", clean=False).connack.session_present


@BOTH
def test_a_message_expires_while_the_server_is_away(scene, crash) -> None:
    subscriber(scene).disconnect()
    publisher = scene.client("p")
    publisher.publish("a", b"short", 1, message_expiry_interval=10)
    publisher.publish("a", b"long", 1, message_expiry_interval=100)
    scene.now += 30
    scene.restart(crash=crash)
    (message,) = durable(scene, "s").messages()
    assert message.payload == b"long"
    assert message.properties["message_expiry_interval"] == 70


# Retained messages and wills


@BOTH
def test_retained_messages_outlive_the_server(scene, crash) -> None:
    publisher = scene.client("p")
    for qos in range(3):
        publisher.publish(f"a/{qos}", b"old", qos, retain=True)
        publisher.publish(f"a/{qos}", b"%d" % qos, qos, retain=True)
    publisher.publish("a/gone", b"x", 1, retain=True)
    publisher.publish("a/gone", b"", 0, retain=True)
    scene.turn_ends()
    scene.restart(crash=crash)
    client = scene.client("c")
    client.subscribe("a/#", 2)
    assert sorted((m.topic, m.payload, m.qos, m.retain) for m in client.messages()) == [
        (f"a/{qos}", b"%d" % qos, qos, True) for qos in range(3)
    ]


def test_a_retained_message_is_acknowledged_when_it_is_safe(scene) -> None:
    publisher = scene.client("p")
    with scene.held():
        publisher.send(Publish("a", b"x", 1, retain=True, packet_id=1))
        assert publisher.take() == []
    assert kinds(publisher) == [PubAck]


def test_a_message_is_retained_for_good_though_a_receiver_has_no_room(make) -> None:
    scene = make(max_messages=1)
    subscriber(scene).disconnect()
    publisher = scene.client("p", 4)
    publisher.publish("a", b"1", 1)
    publisher.publish("a", b"2", 1, retain=True)
    scene.restart()
    client = scene.client("c")
    client.subscribe("a", 1)
    assert client.payloads() == [b"2"]


@BOTH
def test_retained_messages_for_a_new_subscription_are_sent_again(scene, crash) -> None:
    scene.client("p").publish("a", b"x", 1, retain=True)
    receiver = subscriber(scene)
    (message,) = receiver.messages()
    assert message.retain
    scene.restart(crash=crash)
    receiver = durable(scene, "s")
    (again,) = receiver.messages()
    assert (again.payload, again.retain, again.dup) == (b"x", True, True)
    receiver.acknowledge(again)
    scene.restart(crash=crash)
    assert durable(scene, "s").messages() == []


def test_the_will_of_a_client_that_a_crash_cut_off_is_published(scene) -> None:
    subscriber(scene).disconnect()
    durable(scene, "w", will=Will("a", b"gone", 1, False, {}))
    scene.restart()
    scene.pass_time(1)
    assert durable(scene, "s").payloads() == [b"gone"]


@BOTH
def test_a_will_that_waits_is_published_by_the_next_server(scene, crash) -> None:
    subscriber(scene).disconnect()
    will = Will("a", b"gone", 1, False, {"will_delay_interval": 100})
    durable(scene, "w", will=will).lose()
    durable(scene, "back", will=will).lose()
    scene.now += 60
    scene.restart(crash=crash)
    scene.pass_time(1)
    durable(scene, "back")
    assert durable(scene, "s").payloads() == []
    scene.pass_time(60)
    receiver = durable(scene, "s")
    assert receiver.payloads() == [b"gone"]


@BOTH
def test_a_will_that_was_published_or_given_up_is_not_published_again(scene, crash) -> None:
    receiver = subscriber(scene)
    durable(scene, "lost", will=Will("a", b"once", 1, False, {})).lose()
    durable(scene, "good", will=Will("a", b"never", 1, False, {})).disconnect()
    receiver.acknowledge(*receiver.messages())
    receiver.disconnect()
    scene.restart(crash=crash)
    scene.pass_time(DAY // 2)
    assert durable(scene, "s").messages() == []


# Shared subscriptions

SHARED = "$share/g/a"


@BOTH
def test_what_waits_for_a_group_outlives_the_server(scene, crash) -> None:
    for name in "xy":
        subscriber(scene, name, SHARED).disconnect()
    publisher = scene.client("p")
    for n in range(10):
        publisher.publish("a", b"%d" % n, 1)
    scene.restart(crash=crash)
    receiver = durable(scene, "y")
    assert receiver.payloads() == [b"%d" % n for n in range(10)]


def test_after_a_crash_others_get_what_was_on_its_way_to_a_member(scene) -> None:
    one, other = (subscriber(scene, name, SHARED) for name in "xy")
    publisher = scene.client("p")
    for n in range(10):
        publisher.publish("a", b"%d" % n, 1)
    first = one.messages()
    second = other.messages()
    assert len(first) + len(second) == 10
    one.acknowledge(*first[:2])
    scene.restart()
    receiver = durable(scene, "y")
    expected = {m.payload for m in first[2:]} | {m.payload for m in second}
    assert set(receiver.payloads()) == expected


def test_members_who_stay_get_what_was_on_its_way_to_one_who_goes(scene) -> None:
    one, other = (subscriber(scene, name, SHARED) for name in "xy")
    publisher = scene.client("p")
    for n in range(10):
        publisher.publish("a", b"%d" % n, 1)
    unacknowledged = {m.payload for m in one.messages()}
    had = other.messages()
    other.acknowledge(*had)
    one.lose()
    assert {m.payload for m in other.messages()} == unacknowledged


def test_a_group_has_durable_and_other_members(scene) -> None:
    keeper = subscriber(scene, "x", SHARED)
    passing = scene.client("v")
    passing.subscribe(SHARED, 1)
    publisher = scene.client("p")
    for n in range(10):
        publisher.publish("a", b"%d" % n, 1)
    kept, passed = keeper.messages(), passing.messages()
    assert len(kept) == len(passed) == 5
    keeper.acknowledge(*kept)
    scene.restart()
    keeper = durable(scene, "x")
    assert {m.payload for m in keeper.messages()} == {m.payload for m in passed}


def test_a_member_without_qos_is_in_a_durable_group_after_a_restart(scene) -> None:
    """It joined before the group had a place in the log."""
    light = durable(scene, "light")
    light.subscribe(SHARED, 0)
    subscriber(scene, "x", SHARED).disconnect()
    light.disconnect()
    scene.restart()
    light = durable(scene, "light")
    scene.client("p").publish("a", b"1", 1)
    assert light.payloads() == [b"1"]


def test_what_a_member_had_with_qos_2_is_not_given_to_others(scene) -> None:
    one = subscriber(scene, "x", SHARED, 2)
    scene.client("p").publish("a", b"1", 2)
    assert len(one.messages()) == 1
    other = subscriber(scene, "y", SHARED, 2)
    one.disconnect(session_expiry_interval=0)
    assert other.messages() == []
    other.disconnect()
    scene.restart()
    assert durable(scene, "y").messages() == []


# Changes of subscriptions


@BOTH
@pytest.mark.parametrize("qos", [1, 2])
def test_messages_on_their_way_are_completed_after_unsubscribing(scene, crash, qos) -> None:
    receiver = subscriber(scene, qos=qos)
    publisher = scene.client("p")
    publisher.publish("a", b"1", qos)
    (message,) = receiver.messages()
    receiver.unsubscribe("a")
    scene.restart(crash=crash)
    receiver = durable(scene, "s")
    (again,) = receiver.messages()
    assert (again.payload, again.packet_id, again.dup) == (b"1", message.packet_id, True)
    receiver.acknowledge(again)
    scene.restart(crash=crash)
    assert durable(scene, "s").messages() == []


def test_a_cursor_goes_with_its_last_message_after_a_restart_too(scene) -> None:
    receiver = subscriber(scene)
    scene.client("p").publish("a", b"1", 1)
    receiver.messages()
    receiver.unsubscribe("a")
    scene.restart()
    receiver = durable(scene, "s")
    receiver.acknowledge(*receiver.messages())
    assert scene.store.ledger.cursors == {}


def test_after_unsubscribing_a_reconnect_sends_what_was_on_its_way(scene) -> None:
    receiver = subscriber(scene)
    scene.client("p").publish("a", b"1", 1)
    receiver.messages()
    receiver.unsubscribe("a")
    receiver.lose()
    receiver = durable(scene, "s")
    (again,) = receiver.messages()
    receiver.acknowledge(again)
    assert scene.store.ledger.cursors == {}


@pytest.mark.parametrize("end", ["reconnect", "crash", "stop"])
@pytest.mark.parametrize("back", [False, True], ids=["to 0", "to 0 and 1"])
def test_messages_on_their_way_outlive_a_change_of_qos(scene, end, back) -> None:
    receiver = subscriber(scene)
    publisher = scene.client("p")
    publisher.publish("a", b"1", 1)
    assert receiver.payloads() == [b"1"]
    receiver.subscribe("a", 0)
    if back:
        receiver.subscribe("a", 1)
        publisher.publish("a", b"2", 1)
    if end == "reconnect":
        receiver.lose()
    else:
        scene.restart(crash=end == "crash")
    receiver = durable(scene, "s")
    got = receiver.messages()
    assert [m.payload for m in got] == [b"1", b"2"][: 1 + back]
    receiver.acknowledge(*got)
    receiver.disconnect()
    assert durable(scene, "s").messages() == []


@BOTH
def test_a_subscription_can_go_down_to_qos_0_and_up_again(scene, crash) -> None:
    receiver = subscriber(scene)
    receiver.subscribe("a", 0)
    receiver.disconnect()
    publisher = scene.client("p")
    publisher.publish("a", b"1", 1)
    scene.restart(crash=crash)
    receiver = durable(scene, "s")
    assert receiver.messages() == []
    receiver.subscribe("a", 1)
    receiver.disconnect()
    scene.client("p").publish("a", b"2", 1)
    scene.restart(crash=crash)
    assert durable(scene, "s").payloads() == [b"2"]


# Limits


def publish_many(scene, number, size=0):
    publisher = scene.client("p")
    return [publisher.publish("a", b"%d" % n + bytes(size), 1).reason for n in range(number)]


@BOTH
def test_a_full_spool_rejects_new_messages(make, crash) -> None:
    scene = make(max_messages=5)
    subscriber(scene).disconnect()
    assert publish_many(scene, 8) == [Reason.SUCCESS] * 5 + [Reason.QUOTA_EXCEEDED] * 3
    scene.restart(crash=crash)
    assert publish_many(scene, 1) == [Reason.QUOTA_EXCEEDED]
    assert durable(scene, "s").payloads() == [b"%d" % n for n in range(5)]


@BOTH
def test_a_full_spool_discards_old_messages_if_so_configured(make, crash) -> None:
    scene = make(max_messages=5, when_full=WhenFull.DISCARD_OLD)
    subscriber(scene).disconnect()
    assert publish_many(scene, 8) == [Reason.SUCCESS] * 8
    scene.restart(crash=crash)
    assert durable(scene, "s").payloads() == [b"%d" % n for n in range(3, 8)]


def test_a_spool_rejects_what_is_too_many_bytes(make) -> None:
    scene = make(max_bytes=10_000)
    subscriber(scene).disconnect()
    reasons = publish_many(scene, 20, 1000)
    assert reasons[0] == Reason.SUCCESS
    assert 6 <= reasons.count(Reason.SUCCESS) <= 10
    assert len(durable(scene, "s").messages()) == reasons.count(Reason.SUCCESS)


def test_a_spool_discards_what_is_too_many_bytes_if_so_configured(make) -> None:
    scene = make(max_bytes=1_000_000, when_full=WhenFull.DISCARD_OLD)
    subscriber(scene).disconnect()
    assert set(publish_many(scene, 40, 100_000)) == {Reason.SUCCESS}
    got = durable(scene, "s").payloads()
    assert 5 <= len(got) <= 10
    assert got[-1].startswith(b"39")


def test_a_backlog_costs_no_memory_for_its_messages(make) -> None:
    scene = make(max_messages=1_000_000, receive_maximum=65_535)
    subscriber(scene).disconnect()
    publisher = scene.client("p", 4)
    payload = bytes(100)

    def publish(rounds):
        for _ in range(rounds):
            publisher.send(*[Publish("a", payload, 1, packet_id=n) for n in range(1, 1001)])
            publisher.take()

    publish(5)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    publish(95)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 1_000_000
    assert scene.broker.sessions["s"].subscriptions["a"].spool.count == 100_000


def test_messages_too_large_for_a_client_are_left_out(scene) -> None:
    subscriber(scene).disconnect()
    publisher = scene.client("p")
    for size in (10, 1000, 10):
        publisher.publish("a", bytes(size), 1)
    scene.restart()
    receiver = durable(scene, "s", maximum_packet_size=100)
    got = receiver.messages()
    assert [len(m.payload) for m in got] == [10, 10]
    receiver.acknowledge(*got)
    receiver.disconnect()
    assert durable(scene, "s").messages() == []


def test_topic_aliases_are_used_for_what_is_read_back(scene) -> None:
    subscriber(scene).disconnect()
    publisher = scene.client("p")
    for n in range(3):
        publisher.publish("a", b"%d" % n, 1)
    got = durable(scene, "s", topic_alias_maximum=5).messages()
    assert [(m.topic, m.properties["topic_alias"]) for m in got] == [("a", 1), ("", 1), ("", 1)]


def test_a_client_of_another_version_takes_what_was_published_in_the_first(scene) -> None:
    subscriber(scene).disconnect()
    scene.client("p", 5).publish("a", b"1", 1, content_type="x")
    scene.client("p", 4).publish("a", b"2", 1)
    scene.restart()
    assert durable(scene, "s", 4).payloads() == [b"1", b"2"]


# Trouble with the disk


@pytest.fixture
def disk(monkeypatch):
    """Can be told to fail, and to work again."""

    class Disk:
        write = staticmethod(os.pwritev)

        def fail(self, scene, code):
            def broken(*_):
                raise OSError(code, os.strerror(code))

            monkeypatch.setattr(os, "pwritev", broken)
            # Somebody tries to write, and finds out.
            scene._held = True
            scene.broker.publish_message("x", b"1", retain=True)
            scene.broker.end_turn()
            assert not scene.store.ledger.wait()

        def work(self, scene):
            monkeypatch.setattr(os, "pwritev", self.write)
            while not scene.store.ledger.wait():
                pass
            scene._held = False
            scene.turn_ends()

    return Disk()


TROUBLES = pytest.mark.parametrize(
    ("code", "reason"),
    [(errno.ENOSPC, Reason.QUOTA_EXCEEDED), (errno.EIO, Reason.IMPLEMENTATION_SPECIFIC_ERROR)],
    ids=["full", "broken"],
)


@TROUBLES
@pytest.mark.parametrize("qos", [1, 2])
def test_publishers_are_told_that_nothing_can_be_stored(scene, disk, code, reason, qos) -> None:
    receiver = subscriber(scene, qos=2)
    publisher, old = scene.client("p"), scene.client("old", 4)
    disk.fail(scene, code)
    assert publisher.publish("a", b"refused", qos).reason == reason
    old.send(Publish("a", b"late", qos, packet_id=1))
    scene.broker.end_turn()
    assert old.take() == []
    assert receiver.take() == []
    disk.work(scene)
    assert kinds(old) == [PubAck if qos == 1 else PubRec]
    assert receiver.payloads() == [b"late"]
    assert publisher.publish("a", b"again", qos).reason == Reason.SUCCESS
    assert receiver.payloads() == [b"again"]
    scene.restart()
    assert [m.payload for m in durable(scene, "s").messages()] == [b"late", b"again"]


def test_a_durable_publisher_is_told_at_once_that_a_qos_2_message_cannot_be_stored(scene, disk) -> None:
    subscriber(scene, qos=2)
    publisher = durable(scene, "p")
    disk.fail(scene, errno.ENOSPC)
    try:
        assert publisher.publish("a", b"refused", 2).reason == Reason.QUOTA_EXCEEDED
    finally:
        disk.work(scene)


@TROUBLES
def test_durable_sessions_are_refused_while_nothing_can_be_stored(scene, disk, code, reason) -> None:
    subscriber(scene).disconnect()
    disk.fail(scene, code)
    refused = durable(scene, "s")
    assert refused.connack.reason == Reason.SERVER_UNAVAILABLE
    assert refused.ended
    old = durable(scene, "old", 4)
    assert old.connack.reason == 3
    disk.work(scene)
    assert durable(scene, "s").connack.session_present


@TROUBLES
def test_what_is_not_stored_goes_on_while_nothing_can_be_stored(scene, disk, code, reason) -> None:
    keeper = subscriber(scene, topic_filter="a")
    disk.fail(scene, code)
    passing = scene.client("v")
    passing.subscribe("b", 1)
    publisher = scene.client("p")
    publisher.publish("a", b"0", 0)
    assert keeper.payloads() == [b"0"]
    assert publisher.publish("b", b"1", 1).reason == Reason.SUCCESS
    assert passing.payloads() == [b"1"]
    disk.work(scene)
