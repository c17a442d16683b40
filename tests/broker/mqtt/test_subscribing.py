"""SUBSCRIBE and UNSUBSCRIBE of any size: what is asked for, in slices, and in the right order with all the rest."""

import pytest

from broker.clients import Scene
from heliograph.broker.core.slices import SLICE
from heliograph.mqtt import PingReq, PingResp, Publish, Reason, SubAck, Subscribe, Subscription, UnsubAck, Unsubscribe

MANY = 50


class SlowScene(Scene):
    """Each look at the clock takes a fifth of a slice, once `slow` is set: whatever has steps takes several slices."""

    def __init__(self, **limits):
        self.slow = False
        super().__init__(**limits)
        self.broker.now = self.broker.services.now = self.broker.slices._now = self._look

    def _look(self):
        if self.slow:
            self.now += SLICE / 5
        return self.now


def subscribe(*filters, packet_id=1, **options):
    return Subscribe(packet_id, tuple(Subscription(one, **options) for one in filters))


def retain(scene, number=MANY, topic="t"):
    publisher = scene.client("publisher")
    for index in range(number):
        publisher.publish(f"{topic}/{index}", b"%d" % index, retain=True)
    return publisher


def topics(packets):
    return [packet.topic for packet in packets if isinstance(packet, Publish)]


def test_equal_filters_count_once_with_the_options_that_come_last():
    scene = Scene()
    retain(scene, 3)
    client = scene.client("c")
    asked = [Subscription("t/#", 0), Subscription("other", 1), *[Subscription("t/#", 2)] * 1000]
    client.send(Subscribe(1, tuple(asked)))
    answer, *messages = client.take()
    assert answer == SubAck(1, (0, 1, *[2] * 1000))
    assert topics(messages) == ["t/0", "t/1", "t/2"]
    assert scene.broker.sessions["c"].subscriptions["t/#"].qos == 2
    assert scene.broker.subscriptions.count == 2


def test_a_packet_that_breaks_the_rules_somewhere_changes_nothing():
    scene = Scene()
    client = scene.client("c")
    body = b"\x00\x01\x00" + b"\x00\x01a\x00" + b"\x00\x01b\x03"
    client.send_bytes(b"\x82" + bytes([len(body)]) + body)
    assert client.ended
    assert scene.broker.subscriptions.count == 0


def test_what_is_retained_comes_in_slices_and_all_of_it():
    scene = SlowScene()
    retain(scene)
    client = scene.client("c")
    scene.slow = True
    client.send(subscribe("#"))
    first = client.take()
    assert isinstance(first[0], SubAck)
    assert len(first) < 10
    assert scene.run_slices() > 5
    assert topics(first + client.take()) == [f"t/{index}" for index in range(MANY)]


def test_what_is_sent_behind_a_large_packet_waits_for_it():
    scene = SlowScene()
    client = scene.client("c")
    scene.slow = True
    client.send(subscribe(*[f"f/{index}" for index in range(MANY)]), PingReq())
    assert client.take() == []
    client.send(Unsubscribe(2, tuple(f"f/{index}" for index in range(MANY))))
    assert client.take() == []
    scene.run_slices()
    suback, pong, unsuback = client.take()
    assert suback == SubAck(1, (0,) * MANY)
    assert pong == PingResp()
    assert unsuback == UnsubAck(2, (Reason.SUCCESS,) * MANY)
    assert scene.broker.subscriptions.count == 0


def test_others_are_served_meanwhile():
    scene = SlowScene()
    other = scene.client("other")
    other.subscribe("news")
    client = scene.client("c")
    scene.slow = True
    client.send(subscribe(*[f"f/{index}" for index in range(MANY)]))
    assert scene.broker.slices.busy
    other.publish("news", b"now")
    assert other.payloads() == [b"now"]


def test_a_newer_message_of_a_topic_comes_after_what_is_retained_of_it():
    scene = SlowScene()
    publisher = retain(scene)
    client = scene.client("c")
    scene.slow = True
    client.send(subscribe("#"))
    last = f"t/{MANY - 1}"
    assert last not in topics(client.take())
    publisher.publish(last, b"newer")
    scene.run_slices()
    publisher.publish(last, b"newest")
    scene.run_slices()
    got = [packet.payload for packet in client.take() if packet.topic == last]
    assert got == [b"%d" % (MANY - 1), b"newer", b"newest"]


def test_a_message_that_is_retained_meanwhile_comes_once_and_after_the_one_it_replaces():
    scene = SlowScene()
    publisher = retain(scene)
    client = scene.client("c")
    scene.slow = True
    client.send(subscribe("#"))
    client.take()
    last = f"t/{MANY - 1}"
    publisher.publish(last, b"replaces it", retain=True)
    publisher.publish("t/new", b"new", retain=True)
    scene.run_slices()
    got = [packet for packet in client.take() if packet.topic in {last, "t/new"}]
    assert [(packet.topic, packet.payload, packet.retain) for packet in got] == [
        (last, b"%d" % (MANY - 1), True),
        (last, b"replaces it", False),
        ("t/new", b"new", False),
    ]


def test_a_client_that_wants_nothing_retained_gets_only_what_is_published_meanwhile():
    scene = SlowScene()
    publisher = retain(scene)
    client = scene.client("c", version=5)
    scene.slow = True
    client.send(subscribe(*[f"t/{index}" for index in range(MANY)], retain_handling=2))
    while not scene.broker.subscriptions.count:
        scene.broker.slices.run()
    assert scene.broker.slices.busy
    publisher.publish("t/0", b"now")
    scene.run_slices()
    got = [packet for packet in client.take() if isinstance(packet, Publish)]
    assert [(packet.topic, packet.payload, packet.retain) for packet in got] == [("t/0", b"now", False)]


@pytest.mark.parametrize("how", ["lose", "disconnect"])
def test_a_client_that_goes_meanwhile_leaves_no_work_behind(how):
    scene = SlowScene()
    publisher = retain(scene)
    client = scene.client("c")
    scene.slow = True
    client.send(subscribe("#"))
    if how == "lose":
        client.lose()
    else:
        client.disconnect()
        scene.run_slices()
    assert not scene.broker.slices.is_working(client.connection)
    assert scene.broker.subscriptions.count == 0
    publisher.publish("t/0", b"nobody is there")
    scene.run_slices()


def test_a_client_that_reads_slowly_gets_the_rest_when_it_has_room():
    scene = SlowScene()
    retain(scene)
    client = scene.client("c")
    client.connection.pause()
    client.send(subscribe("#"))
    assert not scene.broker.slices.busy
    held = scene.broker.held.messages
    assert held < 10
    client.connection.resume()
    scene.run_slices()
    assert len(topics(client.take())) == MANY


def test_a_long_run_of_small_packets_is_taken_in_slices_too():
    scene = SlowScene()
    client = scene.client("c")
    client.subscribe("x/#")
    scene.slow = True
    client.send(*[Publish(f"x/{index}", b"") for index in range(500)])
    assert scene.broker.slices.busy
    assert len(client.take()) < 500
    scene.run_slices()
    scene.slow = False
    assert scene.broker.stats.messages_received == 500


def recount(broker):
    return sum(place.count for _, places in broker.backlogs() for place in places)


def test_the_running_total_of_waiting_messages_is_what_a_recount_finds(make):
    scene = make()

    def check(expected):
        assert scene.broker.waiting == recount(scene.broker) == expected

    check(0)
    kept = scene.client("kept", session_expiry_interval=100)
    for topic_filter in ("a", "a/#", "+", "$share/g/a"):
        kept.subscribe(topic_filter, 1)
    passing = scene.client("passing", receive_maximum=1)
    passing.subscribe("a", 1)
    kept.lose()
    publisher = scene.client("publisher")
    for _ in range(10):
        publisher.publish("a", b"x", 1)
    check(40 + 9)
    passing.unsubscribe("a")
    check(40)
    scene.restart()
    check(40)
    kept = scene.client("kept", clean=False, session_expiry_interval=100, receive_maximum=5)
    check(35)
    kept.unsubscribe("a/#")
    kept.lose()
    rest = recount(scene.broker)
    check(rest)
    assert rest
    scene.pass_time(101)
    check(0)


def test_the_number_of_subscriptions_is_what_a_recount_finds(make):
    scene = make()

    def check(expected):
        found = sum(len(session.subscriptions) for session in scene.broker.sessions.values())
        assert scene.broker.subscriptions.count == found == expected

    one = scene.client("one", session_expiry_interval=10)
    two = scene.client("two")
    for client in (one, two):
        client.send(subscribe("a", "b", "a", "$share/g/c"))
    check(6)
    one.unsubscribe("a", "a", "no such")
    check(5)
    two.lose()
    check(2)
    scene.restart()
    check(2)
    scene.pass_time(11)
    check(0)
