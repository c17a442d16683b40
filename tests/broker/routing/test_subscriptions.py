"""Subscriptions: which messages they bring, and how."""

import pytest

from broker.clients import Scene
from heliograph.mqtt import PubAck, Publish, Reason, SubAck, Subscribe, Subscription, UnsubAck, Unsubscribe


@pytest.fixture
def scene():
    return Scene()


def topics(client):
    return [message.topic for message in client.messages()]


def test_wildcards_bring_the_messages_of_all_topics_that_match(scene):
    plus, hash_, publisher = scene.client("plus"), scene.client("hash"), scene.client("p")
    plus.subscribe("a/+")
    hash_.subscribe("a/#")
    for topic in ("a", "a/b", "a/b/c", "b"):
        publisher.publish(topic)
    assert topics(plus) == ["a/b"]
    assert topics(hash_) == ["a", "a/b", "a/b/c"]


def test_overlapping_subscriptions_bring_a_copy_each(scene):
    receiver, publisher = scene.client("r"), scene.client("p")
    receiver.subscribe("a/b", 0, identifier=1)
    receiver.subscribe("a/#", 1, identifier=2)
    publisher.publish("a/b", b"x", 1)
    copies = {m.properties["subscription_identifier"][0]: m.qos for m in receiver.messages()}
    assert copies == {1: 0, 2: 1}


def test_a_message_has_the_lower_qos_of_publication_and_subscription(scene):
    publisher = scene.client("p")
    for subscribed in range(3):
        receiver = scene.client(f"r{subscribed}")
        receiver.subscribe("a", subscribed)
        for published in range(3):
            publisher.publish("a", b"", published)
            (message,) = receiver.messages()
            assert message.qos == min(subscribed, published)


def test_a_subscription_identifier_comes_with_every_message(scene):
    receiver, publisher = scene.client("r"), scene.client("p")
    receiver.subscribe("a", identifier=268_435_455)
    publisher.publish("a")
    assert receiver.messages()[0].properties == {"subscription_identifier": [268_435_455]}


def test_no_local_keeps_a_clients_own_messages_from_it(scene):
    client, other = scene.client("c"), scene.client("o")
    client.subscribe("a", no_local=True)
    client.publish("a", b"own")
    other.publish("a", b"others")
    assert client.payloads() == [b"others"]


def test_without_no_local_a_client_gets_its_own_messages(scene):
    client = scene.client("c", 4)
    client.subscribe("a")
    client.publish("a", b"own")
    assert client.payloads() == [b"own"]


@pytest.mark.parametrize("keep_flag", [True, False])
def test_retain_as_published_keeps_the_flag_of_new_messages(scene, keep_flag):
    receiver, publisher = scene.client("r"), scene.client("p")
    receiver.subscribe("a", retain_as_published=keep_flag)
    publisher.publish("a", b"x", retain=True)
    publisher.publish("a", b"y", retain=False)
    assert [m.retain for m in receiver.messages()] == [keep_flag, False]


def test_retained_messages_come_with_the_retain_flag_and_after_suback(scene):
    scene.client("p").publish("a", b"x", 1, retain=True)
    receiver = scene.client("r", 4)
    receiver.send(Subscribe(7, (Subscription("a", 2), Subscription("b", 0))))
    assert receiver.take() == [SubAck(7, (2, 0)), Publish("a", b"x", 1, True, False, 1)]


def test_a_retained_message_is_the_last_one_and_an_empty_one_clears_it(scene):
    publisher = scene.client("p")
    for payload in (b"1", b"2"):
        publisher.publish("a", payload, retain=True)
    publisher.publish("a", b"not retained")
    first = scene.client("first")
    first.subscribe("a")
    assert first.payloads() == [b"2"]
    publisher.publish("a", b"", retain=True)
    assert first.payloads() == [b""], "those who are there get the empty message like any other"
    second = scene.client("second")
    second.subscribe("a")
    assert second.take() == []


def test_retained_properties_come_along_with_the_expiry_counted_down(scene):
    pairs = [("b", "1"), ("a", "2")]
    scene.client("p").publish("a", b"x", retain=True, user_property=pairs, message_expiry_interval=10)
    scene.pass_time(3)
    receiver = scene.client("r")
    receiver.subscribe("a", identifier=5)
    expected = {"message_expiry_interval": 7, "user_property": pairs, "subscription_identifier": [5]}
    assert receiver.messages()[0].properties == expected
    scene.pass_time(7)
    assert receiver.subscribe("a", identifier=5) == 0
    assert receiver.take() == []


@pytest.mark.parametrize(("handling", "at_first", "again"), [(0, [b"x"], [b"x"]), (1, [b"x"], []), (2, [], [])])
def test_retain_handling_says_when_retained_messages_are_sent(scene, handling, at_first, again):
    scene.client("p").publish("a", b"x", retain=True)
    receiver = scene.client("r")
    receiver.subscribe("a", retain_handling=handling)
    assert receiver.payloads() == at_first
    receiver.subscribe("a", retain_handling=handling)
    assert receiver.payloads() == again


def test_subscribing_again_changes_the_options_and_makes_no_second_subscription(scene):
    receiver, publisher = scene.client("r"), scene.client("p")
    receiver.subscribe("a", 0, identifier=1)
    publisher.publish("a", b"1", 1)
    receiver.subscribe("a", 1, identifier=2, retain_as_published=True)
    publisher.publish("a", b"2", 1, retain=True)
    one, two = receiver.messages()
    assert (one.qos, one.retain, one.properties) == (0, False, {"subscription_identifier": [1]})
    assert (two.qos, two.retain, two.properties) == (1, True, {"subscription_identifier": [2]})
    assert scene.broker.subscriptions.count == 1


def test_suback_has_a_code_for_each_filter():
    scene = Scene(subscriptions_per_client=2, topic_levels=3)
    asked = tuple(Subscription(f, q) for f, q in [("a", 0), ("a/b/c/d", 1), ("b", 2), ("c", 1), ("a", 1)])
    v5, v3 = scene.client("v5", 5), scene.client("v3", 4)
    v5.send(Subscribe(1, asked))
    v3.send(Subscribe(2, asked))
    refused = (Reason.TOPIC_FILTER_INVALID, Reason.QUOTA_EXCEEDED)
    assert v5.take() == [SubAck(1, (0, refused[0], 2, refused[1], 1))]
    assert v3.take() == [SubAck(2, (0, 0x80, 2, 0x80, 1))]


def test_a_filter_that_nobody_can_subscribe_to_ends_the_connection(scene):
    for client in (scene.client("v5", 5), scene.client("v3", 4)):
        client.send(Subscribe(1, (Subscription("a/#/b"),)))
        assert client.ended
        if client.version == 5:
            assert client.take()[0].reason == Reason.TOPIC_FILTER_INVALID


def test_unsubscribing_stops_the_messages(scene):
    receiver, publisher = scene.client("r"), scene.client("p")
    receiver.subscribe("a")
    receiver.subscribe("b")
    publisher.publish("a", b"1")
    assert receiver.unsubscribe("a", "nothing") == (Reason.SUCCESS, Reason.NO_SUBSCRIPTION_EXISTED)
    publisher.publish("a", b"2")
    publisher.publish("b", b"3")
    assert receiver.payloads() == [b"1", b"3"]


def test_unsuback_of_mqtt_3_has_no_codes(scene):
    client = scene.client("c", 4)
    client.send(Unsubscribe(9, ("a",)))
    assert client.take() == [UnsubAck(9)]


def test_what_waited_for_a_subscription_goes_with_it(scene):
    receiver, publisher = scene.client("r", receive_maximum=1), scene.client("p")
    receiver.subscribe("a", 1)
    publisher.publish("a", b"1", 1)
    publisher.publish("a", b"2", 1)
    (first,) = receiver.messages()
    receiver.unsubscribe("a")
    receiver.send(PubAck(first.packet_id))
    assert receiver.take() == []


def test_messages_of_all_kinds_of_publishers_reach_all_kinds_of_subscribers(scene):
    receivers = [scene.client(f"r{version}", version) for version in (3, 4, 5)]
    for receiver in receivers:
        receiver.subscribe("a", 2)
    for version in (3, 4, 5):
        publisher = scene.client(f"p{version}", version)
        for qos in range(3):
            publisher.publish("a", b"%d" % qos, qos)
    for receiver in receivers:
        assert [(m.qos, m.payload) for m in receiver.messages()] == [(0, b"0"), (1, b"1"), (2, b"2")] * 3


def test_properties_are_passed_on_unchanged_and_in_order(scene):
    carried = {
        "payload_format_indicator": 1,
        "content_type": "text/plain",
        "response_topic": "reply/here",
        "correlation_data": b"\x00\x01",
        "user_property": [("b", "1"), ("a", "2"), ("b", "1")],
    }
    receiver, publisher = scene.client("r"), scene.client("p")
    receiver.subscribe("a", 1)
    for qos in range(3):
        publisher.publish("a", b"x", qos, **carried)
    assert [m.properties for m in receiver.messages()] == [carried] * 3
