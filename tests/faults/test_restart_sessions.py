"""A restart keeps durable sessions, what they have subscribed to and what waits for them, and retained messages."""

import pytest

from faults.restarting import RestartingServer
from heliograph.mqtt import UnsubAck, Unsubscribe

BOTH_VERSIONS = pytest.mark.parametrize("version", [4, 5])


@BOTH_VERSIONS
def test_a_session_is_present_after_a_restart(lasting: RestartingServer, version: int) -> None:
    assert not lasting.client("c", version).session_present
    lasting.restart()
    assert lasting.client("c", version).session_present


@BOTH_VERSIONS
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_a_subscription_counts_after_a_restart_with_its_qos(lasting: RestartingServer, version: int, qos: int) -> None:
    lasting.client("c", version).asks_for("a/+", qos)
    lasting.restart()
    client = lasting.client("c", version)
    lasting.publish("a/b", b"new", 2)
    (message,) = client.takes()
    assert (message.payload, message.qos) == (b"new", qos)


def test_what_was_unsubscribed_stays_so(lasting: RestartingServer) -> None:
    client = lasting.client("c")
    client.asks_for("a")
    client.send(Unsubscribe(2, ("a",)))
    assert isinstance(client.receive(), UnsubAck)
    lasting.restart()
    client = lasting.client("c")
    assert client.session_present
    lasting.publish("a", b"not for you")
    client.gets_only()


def test_no_local_outlives_a_restart(lasting: RestartingServer) -> None:
    lasting.client("c").asks_for("a", 1, no_local=True)
    lasting.restart()
    client = lasting.client("c")
    client.hand_over("a", b"own")
    lasting.publish("a", b"of another")
    client.gets_only(b"of another")


@pytest.mark.parametrize("as_published", [False, True])
def test_retain_as_published_outlives_a_restart(lasting: RestartingServer, as_published: bool) -> None:
    lasting.client("c").asks_for("a", 1, retain_as_published=as_published)
    lasting.restart()
    client = lasting.client("c")
    lasting.publish("a", b"kept", retain=True)
    (message,) = client.takes()
    assert message.retain == as_published


def test_a_subscription_identifier_outlives_a_restart(lasting: RestartingServer) -> None:
    lasting.client("c").asks_for("a", 1, properties={"subscription_identifier": [77]})
    lasting.publish("a", b"before")
    lasting.restart()
    client = lasting.client("c")
    lasting.publish("a", b"after")
    identifiers = [one.properties.get("subscription_identifier") for one in client.takes(2)]
    assert identifiers == [[77], [77]]


@BOTH_VERSIONS
@pytest.mark.parametrize("qos", [1, 2])
def test_queued_messages_come_in_order(lasting: RestartingServer, version: int, qos: int) -> None:
    client = lasting.client("c", version)
    client.asks_for("a")
    client.close()
    publisher = lasting.client()
    payloads = [b"%d" % number for number in range(60)]
    for payload in payloads[:30]:
        publisher.hand_over("a", payload, qos)
    lasting.restart()
    publisher = lasting.client()
    for payload in payloads[30:]:
        publisher.hand_over("a", payload, qos)
    lasting.restart()
    lasting.client("c", version).gets_only(*payloads)


def test_what_was_acknowledged_by_its_subscriber_does_not_come_again(lasting: RestartingServer) -> None:
    client = lasting.client("c")
    client.asks_for("a")
    lasting.publish("a", b"taken", 2)
    client.takes()
    client.leave()
    lasting.settle()
    lasting.restart()
    lasting.client("c").gets_only()


def test_everything_that_a_message_carries_outlives_a_restart(lasting: RestartingServer) -> None:
    client = lasting.client("c")
    client.asks_for("a")
    client.close()
    carried = {
        "payload_format_indicator": 1,
        "content_type": "text/plain",
        "response_topic": "answers",
        "correlation_data": b"\0\1",
        "user_property": [("a", "b"), ("a", "c")],
    }
    lasting.publish("a", "grüße".encode(), properties=carried)
    lasting.restart()
    (message,) = lasting.client("c").takes()
    assert message.payload == "grüße".encode()
    assert message.properties == carried


@BOTH_VERSIONS
def test_a_session_that_was_not_to_last_is_gone(lasting: RestartingServer, version: int) -> None:
    brief = {"properties": {"session_expiry_interval": 0}} if version == 5 else {}
    lasting.client("c", version, clean=True, **brief).asks_for("a")
    lasting.restart()
    client = lasting.client("c", version)
    assert not client.session_present
    lasting.publish("a", b"not for you")
    client.gets_only()


def test_a_session_that_was_given_up_on_disconnect_is_gone_for_good(lasting: RestartingServer) -> None:
    client = lasting.client("c")
    client.asks_for("a")
    client.leave(session_expiry_interval=0)
    lasting.settle()
    lasting.restart()
    assert not lasting.client("c").session_present


@BOTH_VERSIONS
def test_a_clean_start_discards_the_old_session_for_good(lasting: RestartingServer, version: int) -> None:
    client = lasting.client("c", version)
    client.asks_for("a")
    client.close()
    lasting.publish("a", b"for the old session")
    assert not lasting.client("c", version, clean=True).session_present
    lasting.restart()  # right after CONNACK
    client = lasting.client("c", version)
    # With MQTT 3 a clean session ends with its connection; with MQTT 5 this one was to last, and is empty.
    assert client.session_present == (version == 5)
    lasting.publish("a", b"not for the new one")
    client.gets_only()


def test_a_session_ends_up_the_same_after_many_restarts(lasting: RestartingServer) -> None:
    client = lasting.client("c")
    client.asks_for("a")
    client.close()
    for number in range(5):
        lasting.publish("a", b"%d" % number)
        lasting.restart()
    lasting.client("c").gets_only(b"0", b"1", b"2", b"3", b"4")


# Retained messages


@pytest.mark.parametrize("qos", [1, 2])
def test_a_retained_message_outlives_a_restart(lasting: RestartingServer, qos: int) -> None:
    lasting.publish("a", b"old", qos, retain=True)
    lasting.publish("a", b"kept", qos, retain=True, properties={"content_type": "text/plain"})
    lasting.restart()
    client = lasting.client()
    client.asks_for("a")
    (message,) = client.takes()
    assert (message.payload, message.qos, message.retain) == (b"kept", qos, True)
    assert message.properties == {"content_type": "text/plain"}


def test_a_retained_message_that_was_cleared_stays_away(lasting: RestartingServer) -> None:
    lasting.publish("a", b"kept", retain=True)
    lasting.restart()
    lasting.publish("a", b"", retain=True)
    lasting.restart()
    client = lasting.client()
    client.asks_for("a")
    client.gets_only()


# Shared subscriptions


def test_messages_of_a_durable_group_wait_while_all_members_are_away(lasting: RestartingServer) -> None:
    for name in ("one", "two"):
        member = lasting.client(name)
        member.asks_for("$share/g/a", 1)
        member.leave()
    payloads = {b"%d" % number for number in range(10)}
    for payload in payloads:
        lasting.publish("a", payload)
    lasting.restart()
    members = [lasting.client(name) for name in ("one", "two")]
    assert all(member.session_present for member in members)
    got: list[bytes] = []
    while len(got) < len(payloads):
        got += [member.takes()[0].payload for member in members if member.has_something()]
    assert set(got) == payloads
