"""Acknowledgements of clients, alone and in runs, of what is known and of what is not."""

import pytest

from broker.clients import Scene
from broker.durable_clients import durable
from heliograph.mqtt import Disconnect, PubAck, PubComp, Publish, PubRec, PubRel, Reason

UNKNOWN = Reason.PACKET_IDENTIFIER_NOT_FOUND


@pytest.fixture(params=["in memory", "with a log"])
def scene(request, make):
    return Scene() if request.param == "in memory" else make()


def reader(scene, number, qos, version=5):
    """A client to which so many messages are on their way."""
    client = durable(scene, "r") if version == 5 else scene.client("r", version, clean=False)
    client.subscribe("a", qos)
    publisher = scene.client("p")
    for payload in range(number):
        publisher.publish("a", b"%d" % payload, qos)
    assert [m.packet_id for m in client.messages()] == list(range(1, number + 1))
    return client


def window(client):
    return client.connection.session.window


def test_a_run_of_pubacks_is_the_end_of_all_of_them(scene):
    client = reader(scene, 5, 1)
    client.send(*map(PubAck, (1, 2, 3)))
    assert window(client).in_flight == 2
    client.send(PubAck(5), PubAck(4))
    assert (window(client).in_flight, client.take()) == (0, [])


@pytest.mark.parametrize("version", [4, 5])
def test_a_run_of_pubrecs_is_answered_with_a_run_of_pubrels(scene, version):
    client = reader(scene, 4, 2, version)
    client.send(*map(PubRec, (1, 2, 3)))
    assert client.take() == [PubRel(1), PubRel(2), PubRel(3)]
    client.send(*map(PubComp, (1, 2, 3)))
    assert window(client).in_flight == 1


@pytest.mark.parametrize(("version", "reason"), [(4, Reason.SUCCESS), (5, UNKNOWN)])
def test_pubrec_for_what_is_not_known(scene, version, reason):
    client = reader(scene, 2, 2, version)
    client.send(PubRec(2), PubRec(3))
    assert client.take() == [PubRel(2), PubRel(3, reason)]
    fresh = scene.client("fresh", version)
    fresh.send(PubRec(1), PubRec(2))  # it has never been sent anything
    assert fresh.take() == [PubRel(1, reason), PubRel(2, reason)]


def test_pubrec_in_the_long_form_is_as_good(scene):
    client = reader(scene, 1, 2)
    long = b"\x50\x03\x00\x01\x00"
    client.send_bytes(long)
    assert client.take() == [PubRel(1)]
    fresh = scene.client("fresh")
    fresh.send_bytes(long)
    assert fresh.take() == [PubRel(1, UNKNOWN)]


def test_pubrec_with_an_error_ends_the_delivery(scene):
    client = reader(scene, 1, 2)
    client.send(PubRec(1, Reason.UNSPECIFIED_ERROR))
    assert (client.take(), window(client).in_flight) == ([], 0)


@pytest.mark.parametrize("version", [3, 4, 5])
def test_pubrels_free_identifiers(scene, version):
    client = scene.client("w", version, clean=False, **({"session_expiry_interval": 60} if version == 5 else {}))
    client.send(*[Publish("x", b"", 2, packet_id=number) for number in (1, 2, 3, 5)])
    client.take()
    session = client.connection.session
    assert session.received.numbers() == [1, 2, 3, 5]
    client.send(*map(PubRel, (1, 2, 3)))
    assert client.take() == list(map(PubComp, (1, 2, 3)))
    assert session.received.numbers() == [5]
    client.send(PubRel(5))
    assert client.take() == [PubComp(5)]
    assert session.received.numbers() == []


@pytest.mark.parametrize(("version", "reason"), [(4, Reason.SUCCESS), (5, UNKNOWN)])
def test_pubrel_for_what_is_not_known(scene, version, reason):
    client = scene.client("w", version)
    client.send(PubRel(9))
    assert client.take() == [PubComp(9, reason)]
    client.publish("x", b"", 2, packet_id=2)
    client.send(*map(PubRel, (1, 2, 3)))
    assert client.take() == [PubComp(1, reason), PubComp(2), PubComp(3, reason)]


def test_mqtt_3_1_may_say_that_it_repeats_a_pubrel(scene):
    client = scene.client("w", 3)
    client.publish("x", b"", 2, packet_id=7)
    client.send_bytes(b"\x6a\x02\x00\x07")
    assert client.take() == [PubComp(7)]


@pytest.mark.parametrize("first", [0x41, 0x60, 0x6A, 0x52, 0x78])
def test_wrong_flags_are_the_end(scene, first):
    client = scene.client("c")
    client.send_bytes(bytes((first, 2, 0, 1)))
    (end,) = client.take()
    assert (type(end), end.reason) == (Disconnect, Reason.MALFORMED_PACKET)


@pytest.mark.parametrize("kind", [0x40, 0x50, 0x62, 0x70])
def test_no_packet_has_identifier_0(scene, kind):
    client = reader(scene, 1, 1)
    client.send_bytes(bytes((kind, 2, 0, 0)))
    (end,) = client.take()
    assert end.reason is Reason.PROTOCOL_ERROR


def test_pubrel_of_a_durable_session_is_answered_when_that_is_safe(make):
    scene = make()
    client = durable(scene, "w")
    client.publish("x", b"", 2, packet_id=7)
    client.take()
    with scene.held():
        client.send(PubRel(7))
        assert client.take() == []
    assert client.take() == [PubComp(7)]
    scene.restart()
    assert not scene.broker.sessions["w"].received


def test_what_was_received_is_so_after_a_crash(make):
    scene = make()
    client = reader(scene, 3, 2)
    client.send(*map(PubRec, (1, 2)))
    client.send(PubComp(1))
    scene.restart()
    again = durable(scene, "r")
    pubrel, message = again.take()
    assert pubrel == PubRel(2)
    assert (message.payload, message.packet_id, message.dup) == (b"2", 3, True)


def test_a_client_that_does_not_know_what_it_was_sent_is_told_when_it_is_safe(make):
    scene = make()
    client = reader(scene, 1, 2)
    with scene.held():
        client.send(PubRec(1))
        assert client.take() == []
    assert client.take() == [PubRel(1)]
