"""paho-mqtt, the client that most Python programs use."""

import threading
from typing import Any

import pytest
from paho.mqtt.client import Client
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.subscribeoptions import SubscribeOptions

from heliograph.mqtt import Reason
from paho_client import V5, V311, VERSIONS, PahoClient, properties
from running import PATIENCE, RunningServer

EVERY_VERSION = pytest.mark.parametrize("version", VERSIONS.values(), ids=VERSIONS)
EVERY_QOS = pytest.mark.parametrize("qos", [0, 1, 2])


@EVERY_VERSION
@EVERY_QOS
def test_messages_both_ways(server: RunningServer, topic: str, version: int, qos: int) -> None:
    with (
        PahoClient(version, "receiver").connect(server.port) as receiver,
        PahoClient(version, "sender").connect(server.port) as sender,
    ):
        assert receiver.subscribe(topic, qos) == [qos]
        for number in range(50):
            sender.publish(topic, b"%d" % number, qos)
        for number in range(50):
            message = receiver.message()
            assert (message.topic, message.payload, message.qos) == (topic, b"%d" % number, qos)
            assert not message.retain
            assert not message.dup


@EVERY_QOS
def test_messages_between_versions(server: RunningServer, topic: str, qos: int) -> None:
    clients = [PahoClient(version, f"v{version}").connect(server.port) for version in VERSIONS.values()]
    for client in clients:
        client.subscribe(topic, 2)
    for client in clients:
        client.publish(topic, b"from %d" % client.version, qos)
    for client in clients:
        received = [client.message() for _ in clients]
        assert {message.payload for message in received} == {b"from 3", b"from 4", b"from 5"}
        assert {message.qos for message in received} == {qos}
        client.__exit__(None, None, None)


@pytest.mark.parametrize(("published", "subscribed"), [(2, 0), (2, 1), (1, 2), (0, 2)])
def test_the_lower_quality_of_service_counts(
    server: RunningServer, topic: str, published: int, subscribed: int
) -> None:
    with PahoClient().connect(server.port) as client:
        client.subscribe(topic, subscribed)
        client.publish(topic, b"", published)
        assert client.message().qos == min(published, subscribed)


@EVERY_VERSION
def test_a_large_message(server: RunningServer, topic: str, version: int) -> None:
    payload = bytes(range(256)) * 8192
    with PahoClient(version).connect(server.port) as client:
        client.subscribe(topic, 1)
        client.publish(topic, payload, 1)
        assert client.message().payload == payload


@EVERY_VERSION
def test_retained_messages(server: RunningServer, topic: str, version: int) -> None:
    with PahoClient(version).connect(server.port) as client:
        client.publish(f"{topic}/a", b"old", 1, retain=True)
        client.publish(f"{topic}/a", b"kept", 1, retain=True)
        client.publish(f"{topic}/b", b"gone", 1, retain=True)
        client.publish(f"{topic}/b", b"", 1, retain=True)
        client.subscribe(f"{topic}/+", 1)
        message = client.message()
        assert (message.topic, message.payload, message.retain) == (f"{topic}/a", b"kept", True)
        client.publish(f"{topic}/a", b"", 1, retain=True)
        message = client.message()
        assert (message.payload, message.retain) == (b"", False)


@EVERY_VERSION
def test_unsubscribing(server: RunningServer, topic: str, version: int) -> None:
    with PahoClient(version).connect(server.port) as client:
        client.subscribe([(f"{topic}/a", 0), (f"{topic}/b", 1)])
        client.unsubscribe(f"{topic}/a")
        client.publish(f"{topic}/a", b"not this", 1)
        client.publish(f"{topic}/b", b"but this", 1)
        assert client.message().payload == b"but this"


@EVERY_VERSION
def test_a_will_is_published_when_the_connection_is_lost(server: RunningServer, topic: str, version: int) -> None:
    with PahoClient(version, "watcher").connect(server.port) as watcher:
        watcher.subscribe(topic, 1)
        lost = PahoClient(version, "lost")
        lost.client.will_set(topic, b"lost", 1)
        lost.connect(server.port).drop()
        message = watcher.message()
        assert (message.payload, message.qos) == (b"lost", 1)


@EVERY_VERSION
def test_a_will_is_not_published_after_a_farewell(server: RunningServer, topic: str, version: int) -> None:
    with PahoClient(version, "watcher").connect(server.port) as watcher:
        watcher.subscribe(topic, 1)
        leaving = PahoClient(version, "leaving")
        leaving.client.will_set(topic, b"lost", 1)
        with leaving.connect(server.port):
            pass
        watcher.publish(topic, b"first", 1)
        assert watcher.message().payload == b"first"


@EVERY_VERSION
@pytest.mark.parametrize("qos", [1, 2])
def test_a_session_goes_on_after_a_reconnect(server: RunningServer, topic: str, version: int, qos: int) -> None:
    expiry = {"SessionExpiryInterval": 60} if version == V5 else {}
    name = topic[-20:]
    with PahoClient(version, name, clean=False).connect(server.port, **expiry) as client:
        assert not client.flags.session_present
        client.subscribe(topic, qos)
    with PahoClient(version, "sender").connect(server.port) as sender:
        for number in range(200):
            sender.publish(topic, b"%d" % number, qos)
    with PahoClient(version, name, clean=False).connect(server.port, **expiry) as client:
        if version >= V311:  # MQTT 3.1 cannot say so
            assert client.flags.session_present
        assert client.payloads(200) == [b"%d" % number for number in range(200)]
    with PahoClient(version, name).connect(server.port) as client:
        assert not client.flags.session_present


def test_what_is_not_acknowledged_comes_again(server: RunningServer, topic: str) -> None:
    options = {"SessionExpiryInterval": 60}
    client = PahoClient(V5, topic, clean=False)
    client.client.manual_ack_set(True)
    client.connect(server.port, **options)
    client.subscribe(topic, 1)
    client.publish(topic, b"twice", 1)
    first = client.message()
    assert not first.dup
    client.drop()
    with PahoClient(V5, topic, clean=False).connect(server.port, **options) as client:
        again = client.message()
        assert (again.payload, again.dup, again.mid) == (b"twice", True, first.mid)


def test_a_second_client_of_the_same_name_ends_the_first(server: RunningServer, topic: str) -> None:
    with PahoClient(V5, topic).connect(server.port) as first, PahoClient(V5, topic).connect(server.port):
        assert first.ended() == Reason.SESSION_TAKEN_OVER


def test_the_keep_alive_keeps_the_connection(server: RunningServer, topic: str) -> None:
    client = PahoClient(V311, topic, keep_alive=1)
    answers = threading.Semaphore(0)
    client.client.on_log = lambda *said: answers.release() if "PINGRESP" in said[3] else None
    with client.connect(server.port):
        assert answers.acquire(timeout=PATIENCE)
        assert answers.acquire(timeout=PATIENCE)


# MQTT 5


def options(qos: int = 0, **more: Any) -> SubscribeOptions:
    return SubscribeOptions(qos=qos, **more)


def test_no_local(server: RunningServer, topic: str) -> None:
    with PahoClient().connect(server.port) as client, PahoClient().connect(server.port) as other:
        client.subscribe(topic, options=options(1, noLocal=True))
        client.publish(topic, b"own", 1)
        other.publish(topic, b"other", 1)
        assert client.message().payload == b"other"


@pytest.mark.parametrize("kept", [True, False])
def test_retain_as_published(server: RunningServer, topic: str, kept: bool) -> None:
    with PahoClient().connect(server.port) as client:
        client.subscribe(topic, options=options(1, retainAsPublished=kept))
        client.publish(topic, b"x", 1, retain=True)
        assert client.message().retain is kept


def test_retain_handling(server: RunningServer, topic: str) -> None:
    with PahoClient().connect(server.port) as client:
        client.publish(topic, b"kept", 1, retain=True)
        client.subscribe(topic, options=options(1, retainHandling=2))
        client.publish(topic, b"1", 1)
        assert client.message().payload == b"1"
        client.subscribe(topic, options=options(1, retainHandling=1))
        client.publish(topic, b"2", 1)
        assert client.message().payload == b"2"
        client.subscribe(topic, options=options(1, retainHandling=0))
        assert client.message().payload == b"kept"


def test_subscription_identifiers(server: RunningServer, topic: str) -> None:
    with PahoClient().connect(server.port) as client:
        for identifier, name in ((7, f"{topic}/a"), (268_435_455, f"{topic}/b")):
            told = properties(PacketTypes.SUBSCRIBE, SubscriptionIdentifier=identifier)
            client.subscribe(name, 1, properties=told)
            client.publish(name, b"", 1)
            assert client.message().properties.SubscriptionIdentifier == [identifier]


def test_properties_of_a_message_arrive(server: RunningServer, topic: str) -> None:
    pairs = [("key", "value"), ("key", "another"), ("größe", "5 m²")]
    with PahoClient().connect(server.port) as client:
        client.subscribe(topic, 2)
        client.publish(
            topic, b"{}", 2, UserProperty=pairs, ContentType="application/json", PayloadFormatIndicator=1,
            MessageExpiryInterval=100,
        )  # fmt: skip
        told = client.message().properties
        assert told.UserProperty == pairs
        assert (told.ContentType, told.PayloadFormatIndicator) == ("application/json", 1)
        assert 95 <= told.MessageExpiryInterval <= 100


def test_a_message_of_an_older_client_has_no_properties(server: RunningServer, topic: str) -> None:
    with PahoClient().connect(server.port) as client, PahoClient(V311).connect(server.port) as old:
        client.subscribe(topic, 1)
        old.subscribe(topic, 1)
        old.publish(topic, b"old", 1)
        client.publish(topic, b"new", 1, UserProperty=[("a", "b")])
        assert [client.message().properties.json() for _ in range(2)] == [{}, {"UserProperty": [("a", "b")]}]
        assert old.payloads(2) == [b"old", b"new"]


def test_request_and_response(server: RunningServer, topic: str) -> None:
    with PahoClient().connect(server.port) as asking, PahoClient().connect(server.port) as answering:
        answering.subscribe(topic, 1)
        asking.subscribe(f"{topic}/answer", 1)
        asking.publish(topic, b"question", 1, ResponseTopic=f"{topic}/answer", CorrelationData=b"\x00\xff")
        question = answering.message()
        told = question.properties
        answering.publish(told.ResponseTopic, b"answer", 1, CorrelationData=told.CorrelationData)
        answer = asking.message()
        assert (answer.payload, answer.properties.CorrelationData) == (b"answer", b"\x00\xff")


@EVERY_QOS
def test_a_shared_subscription_gives_each_message_to_one(server: RunningServer, topic: str, qos: int) -> None:
    clients = [PahoClient().connect(server.port) for _ in range(3)]
    received: list[list[bytes]] = [[] for _ in clients]
    all_there = threading.Semaphore(0)

    def note(index: int) -> Any:
        def on_message(_client: Client, _data: Any, message: Any) -> None:
            received[index].append(message.payload)
            all_there.release()

        return on_message

    for index, client in enumerate(clients):
        client.client.on_message = note(index)
        client.subscribe(f"$share/group/{topic}", qos)
    with PahoClient().connect(server.port) as sender:
        for number in range(90):
            sender.publish(topic, b"%d" % number, qos)
    for _ in range(90):
        assert all_there.acquire(timeout=PATIENCE)
    for client in clients:
        client.__exit__(None, None, None)
    assert sorted(payload for part in received for payload in part) == sorted(b"%d" % number for number in range(90))
    assert all(len(part) >= 20 for part in received)


def test_topic_aliases_towards_the_server(server: RunningServer, topic: str) -> None:
    with PahoClient().connect(server.port) as client:
        assert client.told.TopicAliasMaximum >= 2
        client.subscribe(f"{topic}/#", 1)
        client.publish(f"{topic}/a", b"1", 1, TopicAlias=1)
        client.publish(f"{topic}/b", b"2", 1, TopicAlias=2)
        client.publish("", b"3", 1, TopicAlias=1)
        client.publish("", b"4", 0, TopicAlias=2)
        names = [message.topic.rpartition("/")[2] for message in (client.message() for _ in range(4))]
        assert names == ["a", "b", "a", "b"]


def test_the_server_says_what_it_takes(server: RunningServer) -> None:
    with PahoClient().connect(server.port) as client:
        assert client.told.AssignedClientIdentifier
        assert client.told.ReceiveMaximum == 2048
        assert client.told.MaximumPacketSize == 4 * 1024 * 1024


def test_a_client_gets_no_packet_larger_than_it_takes(server: RunningServer, topic: str) -> None:
    with PahoClient().connect(server.port, MaximumPacketSize=200) as client:
        client.subscribe(topic, 1)
        client.publish(topic, bytes(1000), 1)
        client.publish(topic, b"small", 1)
        assert client.message().payload == b"small"


def test_a_client_gets_no_more_at_once_than_it_takes(server: RunningServer, topic: str) -> None:
    client = PahoClient()
    client.client.manual_ack_set(True)
    with client.connect(server.port, ReceiveMaximum=3), PahoClient().connect(server.port) as sender:
        client.subscribe(topic, 1)
        client.subscribe(f"{topic}/end", 0)
        for number in range(10):
            sender.publish(topic, b"%d" % number, 1)
        sender.publish(f"{topic}/end", b"end", 0)
        received = [client.message() for _ in range(4)]
        assert [message.payload for message in received] == [b"0", b"1", b"2", b"end"]
        for message in received[:3]:
            client.client.ack(message.mid, message.qos)
        assert client.payloads(3) == [b"3", b"4", b"5"]


def test_a_session_that_expires_is_gone(server: RunningServer, topic: str) -> None:
    before = server.stats()["clients"]["sessions_expired"]
    with PahoClient(V5, topic, clean=False).connect(server.port, SessionExpiryInterval=1) as client:
        client.subscribe(topic, 1)
    server.wait_until(lambda figures: figures["clients"]["sessions_expired"] > before)
    with PahoClient(V5, topic, clean=False).connect(server.port) as client:
        assert not client.flags.session_present
