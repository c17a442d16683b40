"""A broker with a store: retained messages, wills, shared subscriptions, and subscriptions that change."""

from functools import partial

import pytest

from broker.durable_clients import BOTH, DAY, durable, kinds, subscriber
from heliograph.mqtt import (
    PubAck,
    Publish,
    Will,
)

# Publications in a unit of work


@BOTH
@pytest.mark.parametrize("away", [True, False])
def test_publications_of_one_unit_of_work_come_in_order(scene, crash, away) -> None:
    receiver = subscriber(scene)
    if away:
        receiver.disconnect()
    work = scene.broker.queues.begin()
    for payload in (b"1", b"2", b"3"):
        work.publish(1, partial(scene.broker.publish_message, "a", payload, qos=1))
    work.commit(lambda refusal: None)
    scene.turn_ends()
    scene.restart(crash=crash)
    receiver = durable(scene, "s")
    messages = receiver.messages()
    assert [message.payload for message in messages] == [b"1", b"2", b"3"]
    for message in messages:
        receiver.acknowledge(message)
    assert [cursor.pending for cursor in scene.store.ledger.cursors.values()] == [0]


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
def test_the_state_of_a_bridge_waits_for_who_is_away_but_is_not_retained_by_the_next_server(scene, crash) -> None:
    state = "$SYS/broker/connection/there/state"
    receiver = durable(scene, "s")
    receiver.subscribe(state, 1)
    receiver.disconnect()
    scene.client("bridge").publish(state, b"1", 1, retain=True)
    scene.turn_ends()
    scene.restart(crash=crash)
    assert durable(scene, "s").payloads() == [b"1"]
    assert scene.broker.retained.count == 0


def test_a_will_to_a_topic_that_is_not_allowed_any_more_keeps_nobody_from_starting(make) -> None:
    scene = make()
    durable(scene, "w", will=Will("a/b/c", b"gone", 1, False, {}))
    scene.limits = {"topic_levels": 2}
    scene.restart()
    assert scene.broker.stats.publishes_refused == 1
    assert scene.broker.sessions["w"].will is None


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
