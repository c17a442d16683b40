"""Sessions: what outlives a connection, and for how long; and the will."""

import pytest

from broker.clients import Scene
from heliograph.mqtt import Disconnect, Publish, Reason, Will

FOR_EVER = 0xFFFFFFFF
AN_AGE = 10 * 365 * 24 * 3600


@pytest.fixture
def scene():
    return Scene()


def session_is_there(scene, client_id, version=5):
    return scene.client(client_id, version, clean=False).connack.session_present


def watcher(scene, topic_filter="will/#", **options):
    client = scene.client("watcher")
    client.subscribe(topic_filter, 2, **options)
    return client


# How long a session lives


def test_a_session_is_present_until_its_expiry_interval_is_over(scene):
    for seconds, present in ((9, True), (10, False)):
        client = scene.client("c", session_expiry_interval=10)
        client.lose()
        scene.pass_time(seconds)
        assert session_is_there(scene, "c") is present
        scene.pass_time(100)


def test_a_session_without_an_expiry_interval_ends_with_its_connection(scene):
    scene.client("c").lose()
    assert not session_is_there(scene, "c")
    assert not scene.broker.sessions["c"].subscriptions


def test_a_session_can_last_for_ever(scene):
    scene.client("c", session_expiry_interval=FOR_EVER).lose()
    scene.pass_time(AN_AGE)
    assert session_is_there(scene, "c")


def test_mqtt_3_keeps_a_session_for_ever_unless_it_is_clean(scene):
    scene.client("kept", 4, clean=False).lose()
    scene.client("clean", 4, clean=True).lose()
    scene.pass_time(AN_AGE)
    assert session_is_there(scene, "kept", 4)
    assert not session_is_there(scene, "clean", 4)


def test_the_server_caps_how_long_a_session_lasts():
    scene = Scene(session_expiry_max=60)
    client = scene.client("c", session_expiry_interval=1000)
    assert client.connack.properties["session_expiry_interval"] == 60
    old = scene.client("old", 4, clean=False)
    client.lose()
    old.lose()
    scene.pass_time(60)
    assert scene.broker.sessions == {}
    assert scene.broker.stats.sessions_expired == 2


def test_a_client_that_comes_when_its_time_is_over_finds_no_session(scene):
    scene.client("c", session_expiry_interval=60).lose()
    scene.now += 60  # and nobody has looked yet what is due
    assert not scene.client("c", clean=False, session_expiry_interval=60).connack.session_present


def test_connack_does_not_repeat_an_expiry_interval_that_was_granted(scene):
    assert "session_expiry_interval" not in scene.client("c", session_expiry_interval=1000).connack.properties


def test_coming_back_in_time_starts_the_expiry_anew(scene):
    for _ in range(3):
        scene.client("c", clean=False, session_expiry_interval=10).lose()
        scene.pass_time(9)
    assert "c" in scene.broker.sessions


def test_a_clean_start_forgets_the_old_session(scene):
    client = scene.client("c", session_expiry_interval=100)
    client.subscribe("a", 1)
    client.lose()
    scene.client("p").publish("a", b"x", 1)
    again = scene.client("c", clean=True, session_expiry_interval=100)
    assert not again.connack.session_present
    assert again.take() == []
    assert scene.broker.subscriptions.count == 0


def test_subscriptions_and_messages_wait_for_the_client_to_come_back(scene):
    client = scene.client("c", session_expiry_interval=100)
    client.subscribe("a", 1)
    client.lose()
    publisher = scene.client("p")
    publisher.publish("a", b"0", 0)
    publisher.publish("a", b"1", 1)
    publisher.publish("a", b"2", 2)
    again = scene.client("c", clean=False)
    assert again.connack.session_present
    assert again.payloads() == [b"1", b"2"], "QoS 0 is not kept for a client that is away"
    publisher.publish("a", b"3", 0)
    assert again.payloads() == [b"3"]


def test_a_session_that_ends_takes_its_subscriptions_with_it(scene):
    client = scene.client("c")
    client.subscribe("a", 1)
    client.subscribe("$share/g/b", 1)
    client.lose()
    assert scene.broker.subscriptions.count == 0
    assert scene.client("p").publish("a", b"x", 1).reason == Reason.NO_MATCHING_SUBSCRIBERS


def test_disconnect_can_change_the_expiry_interval(scene):
    client = scene.client("c", session_expiry_interval=10)
    client.disconnect(session_expiry_interval=100)
    scene.pass_time(99)
    assert session_is_there(scene, "c")
    scene.client("d", session_expiry_interval=10).disconnect(session_expiry_interval=0)
    assert "d" not in scene.broker.sessions


def test_disconnect_cannot_make_a_session_outlive_its_connection(scene):
    client = scene.client("c")
    client.disconnect(session_expiry_interval=100)
    assert client.take()[0].reason == Reason.PROTOCOL_ERROR
    assert "c" not in scene.broker.sessions


def test_disconnect_cannot_lift_the_servers_cap():
    scene = Scene(session_expiry_max=60)
    scene.client("c", session_expiry_interval=10).disconnect(session_expiry_interval=FOR_EVER)
    scene.pass_time(60)
    assert scene.broker.sessions == {}


def test_clients_that_come_and_go_leave_nothing_behind(scene):
    for index in range(5000):
        scene.client(f"c{index % 7}", keep_alive=60, session_expiry_interval=AN_AGE).lose()
        scene.pass_time(0.01)
    assert len(scene.broker.timers) < 4000


# Take-over


def test_a_second_connection_with_the_same_identifier_ends_the_first(scene):
    first = scene.client("c", session_expiry_interval=10)
    second = scene.client("c", clean=False, session_expiry_interval=10)
    (goodbye,) = first.take()
    assert isinstance(goodbye, Disconnect)
    assert goodbye.reason == Reason.SESSION_TAKEN_OVER
    assert first.ended
    assert not second.ended
    assert second.connack.session_present
    first.lose()
    assert scene.broker.stats.connected == 1
    assert scene.broker.connections["c"] is second.connection


def test_an_mqtt_3_client_that_is_taken_over_is_told_nothing(scene):
    first = scene.client("c", 4)
    scene.client("c", 4)
    assert first.ended
    assert first.take() == []


def test_deliveries_go_on_with_the_new_connection(scene):
    first = scene.client("c", session_expiry_interval=10)
    first.subscribe("a", 1)
    publisher = scene.client("p")
    publisher.publish("a", b"1", 1)
    second = scene.client("c", clean=False)
    publisher.publish("a", b"2", 1)
    assert second.payloads() == [b"1", b"2"]
    assert b"2" not in [m.payload for m in first.take() if isinstance(m, Publish)]


# Wills


def leave(client, how):
    scene = client.scene
    match how:
        case "lost":
            client.lose()
        case "normal":
            client.disconnect()
        case "with will":
            client.disconnect(Reason.DISCONNECT_WITH_WILL)
        case "silent":
            scene.pass_time(15)
        case "taken over":
            scene.client("c")
        case "wrong":
            client.send_bytes(b"\xf0\x00" if client.version < 5 else b"\x00\x00")


@pytest.mark.parametrize(
    ("version", "how", "published"),
    [
        (4, "lost", True),
        (4, "normal", False),
        (4, "silent", True),
        (4, "taken over", True),
        (4, "wrong", True),
        (5, "lost", True),
        (5, "normal", False),
        (5, "with will", True),
        (5, "silent", True),
        (5, "taken over", True),
        (5, "wrong", True),
    ],
)
def test_the_will_is_published_unless_the_client_says_goodbye(scene, version, how, published):
    seen = watcher(scene)
    leave(scene.client("c", version, keep_alive=10, will=Will("will/c", b"gone", 1)), how)
    assert [(m.topic, m.payload, m.qos) for m in seen.messages()] == ([("will/c", b"gone", 1)] if published else [])


def test_a_will_is_published_once(scene):
    seen = watcher(scene)
    client = scene.client("c", will=Will("will/c", b"gone"), session_expiry_interval=10)
    client.lose()
    client.lose()
    scene.client("c", clean=False).disconnect()
    scene.pass_time(100)
    assert seen.payloads() == [b"gone"]


def test_the_properties_of_a_will_are_passed_on(scene):
    seen = watcher(scene)
    pairs = [("b", "1"), ("a", "2")]
    properties = {"will_delay_interval": 0, "content_type": "t", "user_property": pairs, "message_expiry_interval": 9}
    scene.client("c", will=Will("will/c", b"x", properties=properties)).lose()
    expected = {"content_type": "t", "user_property": pairs, "message_expiry_interval": 9}
    assert seen.messages()[0].properties == expected


def test_a_will_can_be_retained(scene):
    scene.client("c", 4, will=Will("will/c", b"gone", 1, True)).lose()
    assert [(m.payload, m.retain) for m in watcher(scene).messages()] == [(b"gone", True)]


def test_a_will_can_have_an_empty_payload(scene):
    seen = watcher(scene)
    scene.client("c", 4, will=Will("will/c")).lose()
    assert seen.payloads() == [b""]


def with_delay(scene, delay, expiry):
    will = Will("will/c", b"gone", properties={"will_delay_interval": delay})
    return scene.client("c", will=will, session_expiry_interval=expiry)


def test_a_will_waits_for_its_delay(scene):
    seen = watcher(scene)
    with_delay(scene, 5, 100).lose()
    scene.pass_time(4)
    assert seen.take() == []
    scene.pass_time(1)
    assert seen.payloads() == [b"gone"]


def test_coming_back_in_time_cancels_the_will(scene):
    seen = watcher(scene)
    with_delay(scene, 5, 100).lose()
    scene.pass_time(4)
    scene.client("c", clean=False, session_expiry_interval=100)
    scene.pass_time(50)
    assert seen.take() == []


def test_a_will_does_not_wait_longer_than_its_session(scene):
    seen = watcher(scene)
    with_delay(scene, 50, 5).lose()
    scene.pass_time(5)
    assert seen.payloads() == [b"gone"]


def test_a_clean_start_publishes_a_will_that_waits(scene):
    seen = watcher(scene)
    with_delay(scene, 50, 100).lose()
    scene.client("c", clean=True)
    assert seen.payloads() == [b"gone"]


def test_a_take_over_that_continues_the_session_cancels_a_will_with_a_delay(scene):
    seen = watcher(scene)
    with_delay(scene, 50, 100)
    scene.client("c", clean=False, session_expiry_interval=100)
    scene.pass_time(60)
    assert seen.take() == []


def test_each_connection_has_the_will_of_its_own_connect(scene):
    seen = watcher(scene)
    with_delay(scene, 5, 100).lose()
    will = Will("will/c", b"new", properties={"will_delay_interval": 5})
    scene.pass_time(3)
    scene.client("c", clean=False, will=will, session_expiry_interval=100).lose()
    scene.pass_time(4)
    assert seen.take() == []
    scene.pass_time(1)
    assert seen.payloads() == [b"new"]


def test_the_will_of_a_client_does_not_come_back_to_its_no_local_subscription(scene):
    client = scene.client("c", will=Will("will/c", b"gone", 1), session_expiry_interval=100)
    client.subscribe("will/c", 1, no_local=True)
    client.lose()
    assert scene.client("c", clean=False).take() == []
