"""QoS 0, 1 and 2 towards clients: windows, reconnects, slow readers, what a client can take."""

import pytest

from broker.clients import Scene
from heliograph.broker.core.limits import WhenFull
from heliograph.mqtt import Disconnect, PubAck, PubComp, Publish, PubRec, PubRel, Reason

DAY = 86_400


@pytest.fixture
def scene():
    return Scene()


def subscriber(scene, client_id="r", version=5, *, qos=1, clean=True, **properties):
    if version == 5:
        properties.setdefault("session_expiry_interval", DAY)
    client = scene.client(client_id, version, clean=clean if version == 5 else False, **properties)
    client.subscribe("a", qos)
    return client


def come_back(scene, client_id="r", version=5, **properties):
    if version == 5:
        properties.setdefault("session_expiry_interval", DAY)
    return scene.client(client_id, version, clean=False, **properties)


def publish(scene, *payloads, qos=1, topic="a", **properties):
    publisher = scene.client("p")
    for payload in payloads:
        publisher.publish(topic, payload, qos, **properties)


def summary(messages):
    return [(m.payload, m.packet_id, m.dup) for m in messages]


# Acknowledgements and reconnects


@pytest.mark.parametrize("version", [3, 4, 5])
@pytest.mark.parametrize("qos", [1, 2])
def test_what_is_not_acknowledged_is_sent_again_with_dup_and_its_identifier(scene, version, qos):
    client = subscriber(scene, version=version, qos=2)
    publish(scene, b"1", b"2", b"3", qos=qos)
    first, _, _ = client.messages()
    client.acknowledge(first)
    client.lose()
    again = come_back(scene, version=version)
    assert summary(again.messages()) == [(b"2", 2, True), (b"3", 3, True)]


def test_what_is_acknowledged_is_not_sent_again(scene):
    client = subscriber(scene, qos=2)
    publish(scene, b"1", qos=1)
    publish(scene, b"2", qos=2)
    client.acknowledge(*client.messages())
    client.lose()
    assert come_back(scene).take() == []


def test_after_pubrec_only_pubrel_is_sent_again(scene):
    client = subscriber(scene, qos=2)
    publish(scene, b"1", b"2", b"3", qos=2)
    client.messages()
    client.send(PubRec(1), PubRec(2))
    assert client.take() == [PubRel(1), PubRel(2)]
    client.send(PubComp(1))
    client.lose()
    again = come_back(scene)
    pubrel, message = again.take()
    assert pubrel == PubRel(2)
    assert summary([message]) == [(b"3", 3, True)]
    again.send(PubComp(2))
    again.acknowledge(message)
    again.lose()
    assert come_back(scene).take() == []


def test_a_second_pubrec_is_answered_with_pubrel_again(scene):
    client = subscriber(scene, qos=2)
    publish(scene, b"1", qos=2)
    client.messages()
    client.send(PubRec(1), PubRec(1))
    assert client.take() == [PubRel(1), PubRel(1)]


def test_pubrec_of_an_unknown_identifier(scene):
    client = subscriber(scene, qos=2)
    unknown = Reason.PACKET_IDENTIFIER_NOT_FOUND
    client.send(PubRec(9))
    assert client.take() == [PubRel(9, unknown)]
    publish(scene, b"1", b"2", qos=2)
    client.messages()
    client.send(*[PubRec(packet_id) for packet_id in (1, 2, 3)])
    assert client.take() == [PubRel(1), PubRel(2), PubRel(3, unknown)]
    old = subscriber(scene, "old", 4, qos=2)
    old.send(PubRec(9))
    assert old.take() == [PubRel(9)]


def test_acknowledgements_of_unknown_identifiers_are_ignored(scene):
    client = subscriber(scene, qos=2)
    client.send(PubAck(5), PubComp(6))
    publish(scene, b"1", qos=2)
    client.messages()
    client.send(PubAck(5), PubComp(5))
    assert client.take() == []
    assert scene.broker.sessions["r"].window.in_flight == 1


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize(
    ("qos", "wrong"),
    [
        (1, [PubRec(1)]),
        (1, [PubComp(1)]),
        (2, [PubAck(1)]),
        (2, [PubComp(1)]),
        (2, [PubRec(1), PubAck(1)]),
    ],
)
def test_the_wrong_kind_of_acknowledgement_is_a_protocol_error(scene, version, qos, wrong):
    client = subscriber(scene, version=version, qos=qos)
    publish(scene, b"1", qos=qos)
    client.messages()
    client.send(*wrong)
    end = [packet for packet in client.take() if not isinstance(packet, PubRel)]
    assert [packet.reason for packet in end] == ([Reason.PROTOCOL_ERROR] if version == 5 else [])
    assert client.outlet.finished


def test_pubrec_with_an_error_for_qos_1_is_a_protocol_error(scene):
    client = subscriber(scene, qos=1)
    publish(scene, b"1", qos=1)
    client.messages()
    client.send(PubRec(1, Reason.QUOTA_EXCEEDED))
    assert [packet.reason for packet in client.take()] == [Reason.PROTOCOL_ERROR]


def test_what_was_received_before_a_wrong_pubrec_is_received(scene):
    client = subscriber(scene, qos=2)
    publish(scene, b"1", qos=2)
    publish(scene, b"2", qos=1)
    client.messages()
    client.send(PubRec(1), PubRec(2))
    assert [type(packet) for packet in client.take()] == [PubRel, Disconnect]


def test_pubrec_with_an_error_ends_the_delivery(scene):
    client = subscriber(scene, qos=2, receive_maximum=1)
    publish(scene, b"1", b"2", qos=2)
    client.messages()
    client.send(PubRec(1, Reason.QUOTA_EXCEEDED))
    assert [m.payload for m in client.messages()] == [b"2"], "no PUBREL, and the next one"


def test_acknowledgements_with_reason_and_properties_count_too(scene):
    client = subscriber(scene, qos=2, receive_maximum=1)
    publish(scene, b"1", b"2", b"3", qos=1)
    client.messages()
    client.send(PubAck(1, Reason.SUCCESS, {"reason_string": "fine"}))
    client.messages()
    client.send(PubAck(2, Reason.UNSPECIFIED_ERROR))
    assert client.payloads() == [b"3"]


def test_the_long_form_of_acknowledgements_says_the_same_as_the_short_one(scene):
    said = {"user_property": [("a", "b")]}
    client = subscriber(scene, qos=2)
    client.send(PubRec(9, Reason.SUCCESS, said), PubRec(9, Reason.UNSPECIFIED_ERROR, said), PubComp(9, 0, said))
    assert client.take() == [PubRel(9, Reason.PACKET_IDENTIFIER_NOT_FOUND)]
    publish(scene, b"1", qos=2)
    client.messages()
    client.send(PubRec(1, Reason.SUCCESS, said))
    assert client.take() == [PubRel(1)]
    client.send(PubComp(1, Reason.SUCCESS, said))
    assert scene.broker.sessions["r"].window.in_flight == 0
    client.publish("b", b"", 2, packet_id=7)
    client.send(PubRel(7, Reason.SUCCESS, said))
    assert client.take() == [PubComp(7)]


def test_messages_of_a_topic_keep_their_order_through_window_buffer_and_reconnect(scene):
    client = subscriber(scene, receive_maximum=3)
    payloads = [b"%02d" % index for index in range(20)]
    publish(scene, *payloads[:10])
    got = []
    for _ in range(2):
        messages = client.messages()
        got += [m.payload for m in messages]
        client.acknowledge(*messages)
    client.lose()
    publish(scene, *payloads[10:])
    client = come_back(scene, receive_maximum=3)
    while messages := client.messages():
        got += [m.payload for m in messages]
        client.acknowledge(*messages)
    assert sorted(set(got)) == payloads
    assert [p for index, p in enumerate(got) if p not in got[:index]] == payloads


def test_a_session_can_go_on_with_another_version_of_mqtt(scene):
    client = subscriber(scene, version=4)
    publish(scene, b"1", content_type="t")
    client.lose()
    (message,) = come_back(scene, version=5).messages()
    assert (message.payload, message.dup, message.properties) == (b"1", True, {"content_type": "t"})


# What a client takes


@pytest.mark.parametrize("qos", [1, 2])
def test_no_more_is_in_flight_than_receive_maximum_says(scene, qos):
    client = subscriber(scene, qos=qos, receive_maximum=2)
    publish(scene, b"1", b"2", b"3", b"4", qos=qos)
    first, second = client.messages()
    client.acknowledge(first)
    (third,) = client.messages()
    client.acknowledge(second, third)
    assert client.payloads() == [b"4"]


def test_qos_2_is_in_flight_until_pubcomp(scene):
    client = subscriber(scene, qos=2, receive_maximum=1)
    publish(scene, b"1", b"2", qos=2)
    client.messages()
    client.send(PubRec(1))
    assert client.take() == [PubRel(1)]
    client.send(PubComp(1))
    assert client.payloads() == [b"2"]


def test_the_server_limits_what_is_in_flight_to_clients_that_do_not():
    scene = Scene(inflight=2)
    client = subscriber(scene, version=4)
    publish(scene, b"1", b"2", b"3")
    assert client.payloads() == [b"1", b"2"]


def test_qos_0_does_not_count_as_in_flight(scene):
    client = subscriber(scene, receive_maximum=1)
    publish(scene, b"1", b"2", b"3", qos=0)
    assert client.payloads() == [b"1", b"2", b"3"]


@pytest.mark.parametrize("qos", [1, 2])
def test_a_client_that_comes_back_with_a_smaller_receive_maximum_gets_the_rest_as_it_acknowledges(scene, qos):
    client = subscriber(scene, qos=qos)
    publish(scene, b"1", b"2", b"3", b"4", b"5", qos=qos)
    client.messages()
    client.lose()
    again = come_back(scene, receive_maximum=2)
    publish(scene, b"6", qos=qos)
    got = []
    while messages := again.messages():
        assert len(messages) <= 2
        got += messages
        again.acknowledge(messages[0])
        got += (more := again.messages())
        assert len(more) <= 1
        again.acknowledge(*messages[1:], *more)
    assert summary(got) == [(b"%d" % i, i, True) for i in range(1, 6)] + [(b"6", 6, False)]
    again.lose()
    assert come_back(scene).take() == []


def test_what_has_not_been_sent_again_is_sent_after_the_next_reconnect(scene):
    client = subscriber(scene)
    publish(scene, b"1", b"2", b"3")
    client.lose()
    again = come_back(scene, receive_maximum=1)
    assert summary(again.messages()) == [(b"1", 1, True)]
    again.lose()
    assert summary(come_back(scene).messages()) == [(b"1", 1, True), (b"2", 2, True), (b"3", 3, True)]


def test_nothing_new_overtakes_what_has_to_be_sent_again(scene):
    client = subscriber(scene)
    publish(scene, b"1", b"2", b"3")
    client.lose()
    again = come_back(scene, receive_maximum=2)
    one, two = again.messages()
    # Both acknowledgements, and a message of its own in the same bytes, before anything can be sent again.
    again.send(PubAck(one.packet_id), PubAck(two.packet_id), Publish("a", b"4", 1, packet_id=1))
    got = [packet for packet in again.take() if isinstance(packet, Publish)]
    assert summary(got) == [(b"3", 3, True), (b"4", 4, False)]


def test_a_slow_client_gets_the_rest_when_it_reads_again(scene):
    client = subscriber(scene)
    publish(scene, b"1", b"2")
    client.lose()
    again = come_back(scene, receive_maximum=1)
    (one,) = again.messages()
    again.connection.pause()
    again.acknowledge(one)
    assert again.take() == []
    again.connection.resume()
    assert summary(again.messages()) == [(b"2", 2, True)]


def test_a_message_too_large_for_the_client_is_not_sent_and_counted(scene):
    client = subscriber(scene, qos=1, maximum_packet_size=20)
    largest = b"x" * (20 - len(b"\x32\x12\x00\x01a\x00\x01\x00"))
    publish(scene, largest + b"x", largest, largest + b"xx")
    assert client.payloads() == [largest]
    assert scene.broker.stats.too_large == 2
    assert not client.ended


@pytest.mark.parametrize("size", range(18, 26))
def test_a_topic_alias_does_not_make_a_message_too_large(scene, size):
    plain = subscriber(scene, "plain", qos=0, maximum_packet_size=size)
    alias = subscriber(scene, "alias", qos=0, maximum_packet_size=size, topic_alias_maximum=5)
    publish(scene, b"x" * 13, qos=0)
    publish(scene, b"y" * 13, qos=0)
    assert alias.payloads() == plain.payloads()


def test_what_is_too_large_after_a_reconnect_is_done_with(scene):
    client = subscriber(scene)
    publish(scene, b"1", b"x" * 100, b"3")
    client.messages()
    client.lose()
    again = come_back(scene, maximum_packet_size=50, receive_maximum=1)
    (one,) = again.messages()
    again.acknowledge(one)
    (three,) = again.messages()
    assert (three.payload, three.packet_id) == (b"3", 3)
    again.acknowledge(three)
    again.lose()
    assert come_back(scene).take() == []
    assert scene.broker.stats.too_large == 1


def test_the_client_gets_as_many_topic_aliases_as_it_asked_for(scene):
    client = scene.client("r", topic_alias_maximum=2)
    client.subscribe("#", 1)
    publisher = scene.client("p", 4)
    for topic in ("a", "b", "c", "a", "b", "c"):
        publisher.publish(topic, b"", 1)
    got = [(m.topic, m.properties.get("topic_alias")) for m in client.messages()]
    assert got == [("a", 1), ("b", 2), ("c", None), ("", 1), ("", 2), ("c", None)]


def test_no_alias_is_used_towards_a_client_that_did_not_ask(scene):
    client = subscriber(scene)
    publish(scene, b"1", b"2")
    assert [(m.topic, m.properties) for m in client.messages()] == [("a", {})] * 2


def test_the_server_uses_no_more_aliases_than_its_own_limit():
    scene = Scene(topic_alias_maximum=1)
    client = scene.client("r", topic_alias_maximum=10)
    client.subscribe("#")
    for topic in ("a", "b"):
        scene.client("p").publish(topic)
    assert [m.properties.get("topic_alias") for m in client.messages()] == [1, None]


def test_aliases_are_forgotten_with_the_connection(scene):
    client = subscriber(scene, topic_alias_maximum=2)
    publish(scene, b"1", b"2")
    client.lose()
    publish(scene, b"3", b"4")
    again = come_back(scene, topic_alias_maximum=2)
    got = [(m.topic, m.payload, m.properties.get("topic_alias")) for m in again.messages()]
    assert got == [("a", b"1", None), ("a", b"2", None), ("a", b"3", 1), ("", b"4", 1)]


# Expiry


def test_the_expiry_interval_counts_down_while_a_message_waits(scene):
    client = subscriber(scene)
    client.lose()
    publish(scene, b"1", message_expiry_interval=10)
    scene.pass_time(4)
    (message,) = come_back(scene).messages()
    assert message.properties == {"message_expiry_interval": 6}


def test_a_message_that_has_waited_too_long_is_dropped(scene):
    client = subscriber(scene)
    client.lose()
    publish(scene, b"1", message_expiry_interval=10)
    publish(scene, b"2")
    publish(scene, b"3", message_expiry_interval=10)
    publish(scene, b"4", message_expiry_interval=11)
    scene.pass_time(10)
    assert come_back(scene).payloads() == [b"2", b"4"]
    assert scene.broker.stats.expired == 2
    assert scene.broker.sessions["r"].subscriptions["a"].buffer.expired == 2


def test_a_message_on_its_way_is_sent_again_even_if_it_has_expired_meanwhile(scene):
    client = subscriber(scene)
    publish(scene, b"1", message_expiry_interval=10)
    client.lose()
    scene.pass_time(100)
    assert come_back(scene).payloads() == [b"1"]


def test_expired_messages_make_room_for_new_ones():
    scene = Scene(max_messages=2)
    subscriber(scene).lose()
    publish(scene, b"1", b"2", message_expiry_interval=10)
    scene.pass_time(10)
    publish(scene, b"3", b"4")
    assert come_back(scene).payloads() == [b"3", b"4"]


# Clients that read slowly


@pytest.mark.parametrize("version", [4, 5])
def test_a_slow_client_gets_everything_in_order_when_it_reads_again(scene, version):
    slow = subscriber(scene, "slow", version)
    quick = subscriber(scene, "quick", version)
    publisher = scene.client("p", version)
    slow.connection.pause()
    for index in range(6):
        publisher.publish("a", b"%d" % index, index % 2)
    assert slow.take() == []
    assert quick.payloads() == [b"%d" % index for index in range(6)]
    slow.connection.resume()
    got = slow.messages()
    assert [m.payload for m in got if m.qos == 0] == [b"0", b"2", b"4"]
    assert [m.payload for m in got if m.qos == 1] == [b"1", b"3", b"5"]
    publisher.publish("a", b"6", 0)
    assert slow.payloads() == [b"6"]


@pytest.mark.parametrize("qos", [0, 1])
@pytest.mark.parametrize(
    ("when_full", "kept"), [(WhenFull.REJECT_NEW, [b"0", b"1", b"2"]), (WhenFull.DISCARD_OLD, [b"2", b"3", b"4"])]
)
def test_the_buffer_of_a_slow_client_is_bounded(qos, when_full, kept):
    scene = Scene(max_messages=3, when_full=when_full)
    slow = subscriber(scene)
    slow.connection.pause()
    publish(scene, *[b"%d" % index for index in range(5)], qos=qos)
    buffer = scene.broker.sessions["r"].subscriptions["a"].buffer
    lost = (2, 0) if when_full is WhenFull.REJECT_NEW else (0, 2)
    assert (buffer.count, buffer.high_water, (buffer.rejected, buffer.discarded)) == (3, 3, lost)
    slow.connection.resume()
    assert slow.payloads() == kept
    assert buffer.count == 0


def test_packets_of_different_lengths_forwarded_as_they_are_wait_as_well(scene):
    slow = scene.client("slow", 4)
    slow.subscribe("#")
    publisher = scene.client("p", 4)
    slow.connection.pause()
    publisher.send(*[Publish("a" * size, b"x" * 50 * size) for size in range(1, 5)])
    slow.connection.resume()
    assert [m.topic for m in slow.messages()] == ["a", "aa", "aaa", "aaaa"]


def test_qos_0_that_waited_is_dropped_when_the_client_goes(scene):
    slow = subscriber(scene)
    slow.connection.pause()
    publish(scene, b"0", qos=0)
    publish(scene, b"1", qos=1)
    slow.lose()
    assert come_back(scene).payloads() == [b"1"]


def test_a_client_that_is_away_drops_nothing_that_is_counted(scene):
    subscriber(scene, qos=0, version=4).lose()
    publisher = scene.client("p", 4)
    publisher.publish("a", b"1")
    publisher.publish("a", b"2")
    assert scene.broker.stats.dropped == 0


def test_acknowledgements_reach_a_slow_client(scene):
    slow = scene.client("slow")
    slow.connection.pause()
    assert slow.publish("a", b"x", 1).packet_id == 1


# What publishers are told


def test_a_publisher_is_told_that_nobody_subscribed(scene):
    publisher, old = scene.client("p"), scene.client("old", 4)
    assert publisher.publish("a", b"", 1).reason == Reason.NO_MATCHING_SUBSCRIBERS
    assert publisher.publish("a", b"", 2).reason == Reason.NO_MATCHING_SUBSCRIBERS
    assert old.publish("a", b"", 1) == PubAck(1)


def test_a_publisher_is_told_that_nobody_could_take_its_message():
    scene = Scene(max_messages=1)
    client = subscriber(scene, receive_maximum=1)
    publisher, old = scene.client("p"), scene.client("old", 4)
    reasons = [publisher.publish("a", b"", 1).reason for _ in range(3)]
    assert reasons == [Reason.SUCCESS, Reason.SUCCESS, Reason.QUOTA_EXCEEDED]
    assert publisher.publish("a", b"", 2).reason == Reason.QUOTA_EXCEEDED
    assert old.publish("a", b"", 1) == PubAck(1)
    assert len(client.messages()) == 1
    subscriber(scene, "other")
    assert publisher.publish("a", b"", 1).reason == Reason.SUCCESS, "one who takes it is enough"


def test_a_refused_qos_2_message_can_be_published_again_with_its_identifier():
    scene = Scene(max_messages=1)
    client = subscriber(scene, receive_maximum=1)
    publisher = scene.client("p")
    publisher.publish("a", b"1", 1)
    publisher.publish("a", b"2", 1)
    assert publisher.publish("a", b"3", 2, packet_id=9).reason == Reason.QUOTA_EXCEEDED
    client.acknowledge(*client.messages())
    assert publisher.publish("a", b"3", 2, packet_id=9, dup=True).reason == Reason.SUCCESS
    publisher.send(PubRel(9))
    assert publisher.take() == [PubComp(9)]


def test_a_publisher_is_told_that_a_retained_message_found_no_room():
    scene = Scene(retained_messages=1)
    publisher = scene.client("p")
    assert publisher.publish("a", b"x", 1, retain=True).reason == Reason.NO_MATCHING_SUBSCRIBERS
    assert publisher.publish("b", b"x", 1, retain=True).reason == Reason.QUOTA_EXCEEDED


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_nobody_publishes_to_sys(scene, qos):
    watcher = scene.client("w")
    watcher.subscribe("$SYS/#", 2)
    for publisher in (scene.client("v5"), scene.client("v3", 4)):
        answer = publisher.publish("$SYS/broker/a", b"x", qos, retain=True)
        if qos and publisher.version == 5:
            assert answer.reason == Reason.NOT_AUTHORIZED
        assert not publisher.ended
    assert watcher.take() == []
    assert scene.broker.retained.count == 0
    assert scene.broker.stats.publishes_refused == 2


# QoS 2 from publishers


@pytest.mark.parametrize("version", [4, 5])
def test_a_qos_2_message_sent_again_before_pubrel_is_delivered_once(scene, version):
    client = subscriber(scene, qos=2)
    publisher = scene.client("p", version)
    for dup in (False, True, False):
        assert publisher.publish("a", b"x", 2, packet_id=5, dup=dup) == PubRec(5)
    assert client.payloads() == [b"x"]
    publisher.send(PubRel(5))
    assert publisher.take() == [PubComp(5)]
    publisher.publish("a", b"y", 2, packet_id=5)
    assert client.payloads() == [b"y"]


def test_qos_2_identifiers_are_remembered_across_reconnects(scene):
    client = subscriber(scene, qos=2)
    publisher = scene.client("p", session_expiry_interval=DAY)
    publisher.publish("a", b"x", 2, packet_id=5)
    publisher.lose()
    publisher = scene.client("p", clean=False)
    assert publisher.publish("a", b"x", 2, packet_id=5, dup=True) == PubRec(5)
    assert client.payloads() == [b"x"]


def test_repeated_and_new_qos_2_messages_in_one_run_are_told_apart(scene):
    client = subscriber(scene, qos=2)
    publisher = scene.client("p", 4)
    ids = [5, 6, 5, 7, 6, 8]
    publisher.send(*[Publish("a", b"%d" % packet_id, 2, packet_id=packet_id) for packet_id in ids])
    assert publisher.take() == [PubRec(packet_id) for packet_id in ids]
    assert client.payloads() == [b"5", b"6", b"7", b"8"]


def test_pubrel_of_an_unknown_identifier(scene):
    publisher, old = scene.client("p"), scene.client("old", 4)
    publisher.publish("a", b"", 2, packet_id=5)
    publisher.send(PubRel(4), PubRel(5), PubRel(6))
    unknown = Reason.PACKET_IDENTIFIER_NOT_FOUND
    assert publisher.take() == [PubComp(4, unknown), PubComp(5), PubComp(6, unknown)]
    old.send(PubRel(4))
    assert old.take() == [PubComp(4)]
