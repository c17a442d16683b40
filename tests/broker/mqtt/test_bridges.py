"""Other servers as clients, as mosquitto does it: a bit of the protocol level says that a client is a bridge."""

import pytest

from broker.clients import Scene
from heliograph.mqtt import Connect, Publish, Reason, Subscribe, Subscription, Will, decode, encode

STATE = "$SYS/broker/connection/here.there/state"


@pytest.fixture
def scene():
    return Scene()


def bridge(scene, version=4, **options):
    client = scene.stranger(version)
    client.send(Connect("bridge", version, bridge=True, **options))
    (connack,) = client.take()
    assert connack.reason == Reason.SUCCESS
    return client


@pytest.mark.parametrize(("version", "level"), [(3, 0x83), (4, 0x84)])
def test_the_bit_is_in_the_level(version, level):
    data = encode(Connect("c", version, bridge=True), version)
    assert data[8 + 2 * (version == 3)] == level
    assert decode(data[0], data[2:], version) == Connect("c", version, bridge=True)


@pytest.mark.parametrize("version", [3, 4])
def test_a_bridge_gets_nothing_back_and_retain_flags_as_they_were(scene, version):
    client, other = bridge(scene, version), scene.client("other")
    client.send(Subscribe(1, (Subscription("#", 1),)))
    client.take()
    client.send(Publish("a", b"own"), Publish("a", b"own", retain=True))
    other.publish("a", b"plain", 1)
    other.publish("b", b"kept", 1, retain=True)
    assert [(m.payload, m.retain) for m in client.messages()] == [(b"plain", False), (b"kept", True)]


def test_another_client_of_that_version_gets_both(scene):
    client = scene.client("c", 4)
    client.subscribe("#")
    client.send(Publish("a", b"own", retain=True))
    assert [(m.payload, m.retain) for m in client.messages()] == [(b"own", False)]


def test_a_bridge_may_share(scene):
    client = bridge(scene)
    client.send(Subscribe(1, (Subscription("$share/g/a", 1),)))
    assert [packet.reasons for packet in client.take()] == [(1,)]
    client.send(Publish("a", b"own"))
    assert [m.payload for m in client.messages()] == [b"own"], "as the standard has it"


@pytest.mark.parametrize("version", [4, 5])
def test_any_client_tells_the_state_of_its_bridge(scene, version):
    watcher = scene.client("w")
    watcher.subscribe("$SYS/#")
    client = scene.client("b", version, will=Will(STATE, b"0", 1, retain=True))
    client.publish(STATE, b"1", 1, retain=True)
    client.lose()
    assert [(m.topic, m.payload) for m in watcher.messages()] == [(STATE, b"1"), (STATE, b"0")]


@pytest.mark.parametrize(
    "topic",
    [
        "$SYS/broker/connection/state",
        "$SYS/broker/connection//state",
        "$SYS/broker/connection/a/b/state",
        "$SYS/broker/connection/a/state/b",
        "$SYS/broker/connection/a",
        "$SYS/broker/uptime",
        "$share/g/a",
    ],
)
def test_the_rest_is_not_for_clients(scene, topic):
    client = scene.client("c")
    assert client.publish(topic, b"1", 1, retain=True).reason == Reason.NOT_AUTHORIZED
    assert scene.broker.retained.count == 0
    assert scene.client("d", will=Will(topic)).connack.reason == Reason.NOT_AUTHORIZED
