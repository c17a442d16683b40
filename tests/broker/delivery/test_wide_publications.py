"""Messages that the log keeps for very many: part by part, in order, answered when all of it is safe."""

import pytest

from broker.clients import DurableScene
from broker.durable_clients import durable, subscriber
from heliograph.broker.routing import routes
from heliograph.mqtt import PubAck, Publish, PubRec, PubRel, Reason, Will
from heliograph.mqtt.errors import ProtocolError

MANY = 10


@pytest.fixture(autouse=True)
def _few_at_once(monkeypatch):
    monkeypatch.setattr(routes, "_DURABLE_AT_ONCE", 3)


@pytest.fixture
def scene(tmp_path):
    scene = DurableScene(tmp_path / "logs")
    yield scene
    scene.close()


@pytest.fixture
def crowd(scene):
    return [subscriber(scene, f"s{number}") for number in range(MANY)]


def slice_passes(scene):
    scene.broker.slices.run()
    scene.turn_ends()


def run(scene):
    """Do all work; how many slices that took."""
    slices = 0
    while scene.broker.slices.busy:
        slice_passes(scene)
        slices += 1
    return slices


def test_all_get_all_messages_in_order_and_then_the_publisher_is_answered(scene, crowd):
    publisher = scene.client("publisher")
    publisher.send(*[Publish("a", b"%d" % number, 1, packet_id=number) for number in (1, 2, 3)])
    answered = []
    while scene.broker.slices.busy:
        slice_passes(scene)
        if packets := publisher.take():
            answered += packets
            assert all(client.connection.session.window.in_flight >= len(answered) for client in crowd)
    assert answered == [PubAck(1), PubAck(2), PubAck(3)]
    assert [client.payloads() for client in crowd] == [[b"1", b"2", b"3"]] * MANY


def test_nothing_else_is_taken_from_the_publisher_meanwhile(scene, crowd):
    other = subscriber(scene, "other", "b")
    publisher = scene.client("publisher")
    publisher.send(Publish("a", b"1", 1, packet_id=1), Publish("b", b"2", 1, packet_id=2))
    publisher.send(Publish("b", b"3", 1, packet_id=3))
    assert publisher.take() == []
    assert other.take() == []
    run(scene)
    assert publisher.take() == [PubAck(1), PubAck(2), PubAck(3)]
    assert other.payloads() == [b"2", b"3"]


def test_of_two_publishers_each_receiver_gets_the_messages_in_the_same_order(scene, crowd):
    one, two = scene.client("one"), scene.client("two")
    one.send(Publish("a", b"1", 1, packet_id=1))
    two.send(Publish("a", b"2", 1, packet_id=1))
    run(scene)
    assert [client.payloads() for client in crowd] == [[b"1", b"2"]] * MANY
    assert (one.take(), two.take()) == ([PubAck(1)], [PubAck(1)])


def test_receivers_come_and_go_meanwhile(scene, crowd):
    publisher = scene.client("publisher")
    publisher.send(Publish("a", b"1", 1, packet_id=1))
    crowd[-1].unsubscribe("a")
    durable(scene, "s8", clean=True)
    late = subscriber(scene, "late")
    crowd[-3].lose()
    run(scene)
    assert publisher.take() == [PubAck(1)]
    assert [client.payloads() for client in crowd[:-3]] == [[b"1"]] * (MANY - 3)
    assert crowd[-1].take() == []
    assert late.take() == []
    assert durable(scene, "s7").payloads() == [b"1"]
    assert not scene.broker.stats.internal_errors


def test_a_publisher_that_goes_meanwhile_leaves_nobody_without_its_message(scene, crowd):
    publisher = scene.client("publisher")
    publisher.send(Publish("a", b"1", 1, packet_id=1))
    publisher.lose()
    run(scene)
    assert [client.payloads() for client in crowd] == [[b"1"]] * MANY


def test_a_crash_half_way_loses_nothing_that_was_answered(scene, crowd):
    publisher = scene.client("publisher")
    publisher.send(Publish("a", b"1", 1, packet_id=1))
    run(scene)
    assert publisher.take() == [PubAck(1)]
    publisher.send(Publish("a", b"2", 1, packet_id=2))
    slice_passes(scene)
    assert publisher.take() == []
    scene.restart()
    got = [durable(scene, f"s{number}").payloads() for number in range(MANY)]
    assert {tuple(payloads) for payloads in got} == {(b"1",), (b"1", b"2")}


def test_qos_2_is_published_in_one_go(scene, crowd):
    publisher = durable(scene, "publisher")
    publisher.send(Publish("a", b"1", 2, packet_id=1))
    assert publisher.take() == [PubRec(1)]
    assert [client.payloads() for client in crowd] == [[b"1"]] * MANY
    assert not scene.broker.slices.busy
    scene.restart()
    publisher = durable(scene, "publisher")
    publisher.send(Publish("a", b"1", 2, dup=True, packet_id=1), PubRel(1))
    assert [len(durable(scene, f"s{number}").messages()) for number in range(MANY)] == [1] * MANY


def test_what_others_retain_meanwhile_is_newer(scene, crowd):
    proud = subscriber(scene, "proud", retain_as_published=True)
    slow, quick = scene.client("slow"), scene.client("quick")
    slow.send(Publish("a", b"old", 1, retain=True, packet_id=1))
    quick.publish("a", b"new", 2, retain=True)
    run(scene)
    assert sorted((message.payload, message.retain) for message in proud.messages()) == [(b"new", True), (b"old", True)]
    assert all(not message.retain for client in crowd for message in client.messages())
    for crash in (False, True):
        reader = scene.client("reader")
        reader.subscribe("a")
        assert reader.payloads() == [b"new"]
        reader.lose()
        scene.restart(crash=crash)


def test_an_mqtt_5_publisher_is_told_if_nobody_has_room(scene, crowd):
    for client in crowd:
        client.lose()
    scene.broker.limits = type(scene.broker.limits)(max_messages=1)
    publisher = scene.client("publisher")
    publisher.send(*[Publish("a", b"x", 1, packet_id=number) for number in (1, 2)])
    run(scene)
    assert [packet.reason for packet in publisher.take()] == [Reason.SUCCESS, Reason.QUOTA_EXCEEDED]


def test_a_will_goes_to_all(scene, crowd):
    dying = scene.client("dying", will=Will("a", b"gone", 1))
    dying.lose()
    assert run(scene) >= 3
    assert [client.payloads() for client in crowd] == [[b"gone"]] * MANY


def test_a_defect_ends_the_publisher_and_nobody_else(scene, crowd, monkeypatch, failures):
    scene.broker.defects._journal = failures
    publisher, other = scene.client("publisher"), scene.client("other")
    scene.broker.defects.serving = publisher.outlet
    publisher.send(Publish("a", b"1", 1, packet_id=1))
    scene.broker.defects.serving = other.outlet
    other.send(Publish("a", b"2", 1, packet_id=1))
    scene.broker.defects.serving = None

    def fail(span, *_, publish=scene.broker.publish):
        if span.data.endswith(b"1"):
            raise ProtocolError(Reason.UNSPECIFIED_ERROR, "on purpose")
        return publish(span, *_)

    monkeypatch.setattr(scene.broker, "publish", fail)
    run(scene)
    assert scene.broker.defects.culprits == [publisher.outlet]
    assert other.take() == [PubAck(1)]
    assert all(client.payloads()[-1:] == [b"2"] for client in crowd)


@pytest.mark.parametrize(("size", "copies"), [(1000, 4), (100_000, 1)], ids=["small", "large"])
def test_a_large_message_is_stored_once_for_all(scene, crowd, size, copies):
    publisher = scene.client("publisher")
    before = scene.store.ledger.end
    publisher.send(Publish("a", bytes(size), 1, packet_id=1))
    run(scene)
    assert publisher.take() == [PubAck(1)]
    assert [len(payload) for client in crowd for payload in client.payloads()] == [size] * MANY
    assert copies * size < scene.store.ledger.end - before < copies * (size + 1000)
