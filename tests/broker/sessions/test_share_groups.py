"""Shared subscriptions: each message goes to one of the sharers."""

import pytest

from broker.clients import Scene
from heliograph.broker.delivery.memory_delivery import SHARERS_AT_ONCE
from heliograph.broker.sessions.session import Session
from heliograph.mqtt import PubAck, Publish, PubRec, Reason, Subscribe, Subscription


@pytest.fixture
def scene():
    return Scene(max_messages=5)


def sharers(scene, *names, qos=1, topic_filter="$share/g/a", version=5, **properties):
    clients = [scene.client(name, version, **properties) for name in names]
    for client in clients:
        assert client.subscribe(topic_filter, qos) == qos
    return clients


def publish(publisher, *payloads, qos=1):
    for payload in payloads:
        publisher.publish("a", payload, qos)


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("topic_filter", ["$share/g/+", "$SharedSubscription/g/+"])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_each_message_goes_to_one_sharer_in_turn(scene, version, topic_filter, qos):
    clients = sharers(scene, "1", "2", "3", qos=qos, topic_filter=topic_filter, version=version)
    publish(scene.client("p"), *[b"%d" % i for i in range(6)], qos=qos)
    got = [client.payloads() for client in clients]
    assert [len(payloads) for payloads in got] == [2, 2, 2]
    assert sorted(payload for payloads in got for payload in payloads) == [b"%d" % i for i in range(6)]


def test_both_prefixes_name_the_same_group(scene):
    (one,) = sharers(scene, "1", topic_filter="$share/g/a", version=5)
    (two,) = sharers(scene, "2", topic_filter="$SharedSubscription/g/a", version=4)
    publish(scene.client("p"), b"1", b"2")
    assert sorted(one.payloads() + two.payloads()) == [b"1", b"2"]
    assert len(scene.broker.subscriptions.groups) == 1


def test_each_group_and_each_plain_subscription_gets_its_own_copy(scene):
    (one,) = sharers(scene, "1", topic_filter="$share/g/a")
    (two,) = sharers(scene, "2", topic_filter="$share/h/a")
    (plain,) = sharers(scene, "3", topic_filter="a")
    publish(scene.client("p"), b"x")
    assert [one.payloads(), two.payloads(), plain.payloads()] == [[b"x"]] * 3


def test_a_long_span_is_dealt_out_in_equal_parts(scene):
    one, two = sharers(scene, "1", "2")
    publisher = scene.client("p", 4)
    publisher.send_bytes(b"".join(b"\x32\x06\x00\x01a\x00" + bytes((i, i)) for i in range(1, 11)))
    got = one.payloads(), two.payloads()
    assert [len(part) for part in got] == [5, 5]
    assert all(part == sorted(part) for part in got)


def test_retained_messages_do_not_go_to_sharers(scene):
    scene.client("p").publish("a", b"x", retain=True)
    (client,) = sharers(scene, "1")
    assert client.take() == []


def test_a_member_with_a_full_window_is_passed_over(scene):
    (busy,) = sharers(scene, "busy", receive_maximum=1)
    (idle,) = sharers(scene, "idle")
    publish(scene.client("p"), b"1", b"2", b"3", b"4")
    assert len(busy.payloads()) == 1
    assert len(idle.payloads()) == 3


@pytest.mark.parametrize("qos", [0, 1])
def test_a_slow_member_is_passed_over(scene, qos):
    slow, quick = sharers(scene, "slow", "quick", qos=qos)
    slow.connection.pause()
    publish(scene.client("p"), b"1", b"2", b"3", qos=qos)
    assert quick.payloads() == [b"1", b"2", b"3"]
    slow.connection.resume()
    assert slow.take() == []


@pytest.mark.parametrize("qos", [0, 1])
def test_when_all_are_slow_messages_wait_for_the_first_that_can_take_them(scene, qos):
    one, two = sharers(scene, "1", "2", qos=qos)
    one.connection.pause()
    two.connection.pause()
    publish(scene.client("p"), b"1", b"2", b"3", qos=qos)
    two.connection.resume()
    assert two.payloads() == [b"1", b"2", b"3"]
    one.connection.resume()
    assert one.take() == []


def test_when_all_windows_are_full_messages_wait_in_the_groups_buffer(scene):
    one, two = sharers(scene, "1", "2", receive_maximum=1)
    publisher = scene.client("p")
    publish(publisher, *[b"%d" % i for i in range(7)])
    assert publisher.publish("a", b"7", 1).reason == Reason.QUOTA_EXCEEDED, "two in flight and five waiting"
    (first,) = one.messages()
    one.send(PubAck(first.packet_id))
    assert one.payloads() == [b"2"]
    assert len(two.payloads()) == 1


def test_what_is_too_much_for_all_windows_together_waits(scene):
    one, two = sharers(scene, "1", "2", receive_maximum=2)
    publisher = scene.client("p", 4)
    publisher.send_bytes(b"".join(b"\x32\x06\x00\x01a\x00" + bytes((i, i)) for i in range(1, 9)))
    got = one.messages()
    assert len(got) == len(two.messages()) == 2
    one.acknowledge(*got)
    assert one.payloads() == [b"\x05", b"\x06"]


def test_a_member_with_qos_0_takes_what_waits_for_the_group(scene):
    (high,) = sharers(scene, "high", qos=1, session_expiry_interval=100)
    high.lose()
    publish(scene.client("p"), b"1", b"2")
    (low,) = sharers(scene, "low", qos=0)
    assert [(m.payload, m.qos) for m in low.messages()] == [(b"1", 0), (b"2", 0)]


def test_messages_for_a_group_whose_members_are_away_wait_for_the_first_to_come(scene):
    sharers(scene, "1", session_expiry_interval=100)[0].lose()
    publish(scene.client("p"), b"1", b"2")
    (other,) = sharers(scene, "2")
    assert other.payloads() == [b"1", b"2"]
    assert scene.client("1", clean=False).take() == []


def test_nothing_waits_for_members_that_are_away_and_asked_for_qos_0(scene):
    sharers(scene, "1", qos=0, session_expiry_interval=100)[0].lose()
    publisher = scene.client("p")
    publish(publisher, b"1", b"2")
    publish(publisher, b"3", qos=0)
    assert scene.client("1", clean=False).take() == []
    assert scene.broker.stats.dropped == 0


def test_what_a_member_left_unacknowledged_goes_to_the_others(scene):
    one, two = sharers(scene, "1", "2", session_expiry_interval=100)
    publish(scene.client("p"), b"1", b"2", b"3", b"4")
    left = one.payloads()
    two.payloads()
    one.lose()
    assert two.payloads() == left
    assert scene.client("1", clean=False, session_expiry_interval=100).take() == []


def test_what_is_redistributed_keeps_its_order_and_comes_before_newer_messages(scene):
    (one,) = sharers(scene, "1", session_expiry_interval=100)
    publisher = scene.client("p")
    publish(publisher, b"1", b"2", b"3")
    (first, *_) = one.messages()
    one.send(PubAck(first.packet_id))
    one.lose()
    publish(publisher, b"4")
    (two,) = sharers(scene, "2")
    assert two.payloads() == [b"2", b"3", b"4"]


def test_qos_2_stays_with_its_client(scene):
    one, two = sharers(scene, "1", "2", qos=2, session_expiry_interval=100)
    publish(scene.client("p"), b"1", b"2", qos=2)
    one_before, two_before = one.messages(), two.messages()
    assert len(one_before) == len(two_before) == 1
    one.lose()
    assert two.take() == []
    (again,) = scene.client("1", clean=False, session_expiry_interval=100).messages()
    assert (again.payload, again.packet_id, again.dup) == (one_before[0].payload, one_before[0].packet_id, True)


def test_qos_2_of_a_session_that_ends_goes_to_nobody_else(scene):
    one, two = sharers(scene, "1", "2", qos=2)
    publish(scene.client("p"), b"1", b"2", qos=2)
    one.messages()
    two.messages()
    one.lose()
    assert two.take() == []


def test_what_a_client_has_unacknowledged_when_it_unsubscribes_as_the_last_member_stays_with_it(scene):
    (one,) = sharers(scene, "1", session_expiry_interval=100)
    publish(scene.client("p"), b"1")
    (message,) = one.messages()
    one.unsubscribe("$share/g/a")
    one.lose()
    (again,) = scene.client("1", clean=False, session_expiry_interval=100).messages()
    assert (again.payload, again.packet_id, again.dup) == (b"1", message.packet_id, True)


def test_a_member_that_unsubscribes_gets_nothing_more(scene):
    one, two = sharers(scene, "1", "2")
    one.unsubscribe("$share/g/a")
    publish(scene.client("p"), b"1", b"2")
    assert (one.payloads(), two.payloads()) == ([], [b"1", b"2"])


def test_a_group_ends_with_its_last_member(scene):
    one, two = sharers(scene, "1", "2")
    one.unsubscribe("$share/g/a")
    two.lose()
    assert not scene.broker.subscriptions.groups
    publisher = scene.client("p")
    assert publisher.publish("a", b"x", 1).reason == Reason.NO_MATCHING_SUBSCRIBERS


def test_a_sharer_gets_messages_at_its_own_qos(scene):
    (low,) = sharers(scene, "low", qos=0)
    (high,) = sharers(scene, "high", qos=2)
    publish(scene.client("p"), b"1", b"2", qos=2)
    assert [m.qos for m in low.messages()] == [0]
    assert [m.qos for m in high.messages()] == [2]


def test_no_local_cannot_be_shared(scene):
    client = scene.client("c")
    client.send(Subscribe(1, (Subscription("$share/g/a", no_local=True),)))
    assert client.take()[0].reason == Reason.PROTOCOL_ERROR


def test_a_refused_qos_2_message_is_done_with(scene):
    (one,) = sharers(scene, "1", qos=2, receive_maximum=1)
    publish(scene.client("p"), b"1", b"2", qos=2)
    (first,) = one.messages()
    one.send(PubRec(first.packet_id, Reason.UNSPECIFIED_ERROR))
    assert one.payloads() == [b"2"]


class TestLargeGroups:
    def members(self, scene, number, **properties):
        clients = [scene.client(f"m{index}", **properties) for index in range(number)]
        for client in clients:
            client.subscribe("$share/g/a", 1)
        return clients

    def run_of(self, number):
        return [Publish("a", b"%06d" % index, 1, packet_id=index + 1) for index in range(number)]

    def test_a_run_goes_to_some_of_the_members_and_the_next_one_to_the_next(self):
        scene = Scene()
        clients = self.members(scene, 3 * SHARERS_AT_ONCE)
        publisher = scene.client("publisher", receive_maximum=65535)
        for _ in range(3):
            publisher.send(*self.run_of(2 * SHARERS_AT_ONCE))
        assert {len(client.messages()) for client in clients} == {2}

    def test_members_with_little_room_get_their_part_in_other_turns(self):
        scene = Scene()
        clients = self.members(scene, 4 * SHARERS_AT_ONCE, receive_maximum=1)
        scene.client("publisher").send(*self.run_of(4 * SHARERS_AT_ONCE))
        assert sum(bool(client.outlet.chunks) for client in clients) == 2 * SHARERS_AT_ONCE
        while scene.broker.slices.busy:
            scene.broker.slices.run()
        got = sorted(payload for client in clients for payload in client.payloads())
        assert got == [b"%06d" % index for index in range(4 * SHARERS_AT_ONCE)]

    def test_one_message_does_not_make_the_server_look_at_everybody(self, monkeypatch):
        scene = Scene()
        self.members(scene, 500)
        looked = []
        room = Session.window_room
        monkeypatch.setattr(Session, "window_room", lambda session: looked.append(session) or room(session))
        scene.client("publisher").send(Publish("a", b"x", 1, packet_id=1))
        assert 0 < len(looked) < 10
