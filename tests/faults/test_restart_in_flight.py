"""A restart between a message and its last acknowledgement: both sides go on where they were, identifiers included."""

import pytest

from faults.restarting import Client, RestartingServer
from heliograph.mqtt import PubAck, PubComp, Publish, PubRec, PubRel, Reason

BOTH_VERSIONS = pytest.mark.parametrize("version", [4, 5])


def subscribed(lasting: RestartingServer, version: int, *payloads: bytes, qos: int) -> Client:
    """A subscriber to whom these messages are on their way."""
    client = lasting.client("c", version)
    client.asks_for("a")
    for payload in payloads:
        lasting.publish("a", payload, qos)
    return client


@BOTH_VERSIONS
@pytest.mark.parametrize("qos", [1, 2])
def test_what_was_not_acknowledged_comes_again_as_a_duplicate(
    lasting: RestartingServer, version: int, qos: int
) -> None:
    client = subscribed(lasting, version, b"1", b"2", b"3", qos=qos)
    before = [client.message() for _ in range(3)]
    assert not any(message.dup for message in before)
    lasting.restart()
    client = lasting.client("c", version)
    again = [client.message() for _ in range(3)]
    assert [(one.packet_id, one.payload, one.dup) for one in again] == [
        (one.packet_id, one.payload, True) for one in before
    ]


@BOTH_VERSIONS
def test_identifiers_in_use_are_not_given_to_new_messages(lasting: RestartingServer, version: int) -> None:
    client = subscribed(lasting, version, b"1", b"2", qos=1)
    in_use = {client.message().packet_id for _ in range(2)}
    lasting.restart()
    client = lasting.client("c", version)
    assert {client.message().packet_id for _ in range(2)} == in_use
    lasting.publish("a", b"3")
    new = client.message()
    assert new.packet_id not in in_use
    assert not new.dup


@BOTH_VERSIONS
def test_what_was_received_is_released_again_and_not_sent_again(lasting: RestartingServer, version: int) -> None:
    client = subscribed(lasting, version, b"once", qos=2)
    packet_id = client.message().packet_id
    client.send(PubRec(packet_id))
    client.hears(PubRel, packet_id)
    lasting.restart()
    client = lasting.client("c", version)
    client.hears(PubRel, packet_id)
    client.send(PubComp(packet_id))
    client.gets_only()


@BOTH_VERSIONS
def test_releases_and_messages_come_again_in_their_order(lasting: RestartingServer, version: int) -> None:
    client = subscribed(lasting, version, b"1", b"2", b"3", qos=2)
    first, second, third = (client.message().packet_id for _ in range(3))
    client.send(PubRec(first), PubRec(second))
    client.hears(PubRel, first)
    client.hears(PubRel, second)
    lasting.restart()
    client = lasting.client("c", version)
    client.hears(PubRel, first)
    client.hears(PubRel, second)
    message = client.message()
    assert (message.packet_id, message.payload, message.dup) == (third, b"3", True)


@BOTH_VERSIONS
def test_a_qos_2_message_that_is_sent_again_is_delivered_once(lasting: RestartingServer, version: int) -> None:
    lasting.client("reader").asks_for("a")
    publisher = lasting.client("writer", version)
    publisher.send(Publish("a", b"once", 2, packet_id=7))
    publisher.hears(PubRec, 7)
    lasting.restart()
    publisher = lasting.client("writer", version)
    assert publisher.session_present
    publisher.send(Publish("a", b"once", 2, dup=True, packet_id=7))
    publisher.hears(PubRec, 7)
    publisher.send(PubRel(7))
    assert publisher.receive() == PubComp(7, Reason.SUCCESS)
    lasting.client("reader").gets_only(b"once")


@BOTH_VERSIONS
def test_a_release_after_a_restart_is_answered(lasting: RestartingServer, version: int) -> None:
    lasting.client("reader").asks_for("a")
    publisher = lasting.client("writer", version)
    publisher.send(Publish("a", b"once", 2, packet_id=7))
    publisher.hears(PubRec, 7)
    lasting.restart()
    publisher = lasting.client("writer", version)
    publisher.send(PubRel(7))
    assert publisher.receive() == PubComp(7, Reason.SUCCESS)
    lasting.client("reader").gets_only(b"once")


@BOTH_VERSIONS
def test_a_finished_identifier_stands_for_a_new_message_after_a_restart(
    lasting: RestartingServer, version: int
) -> None:
    lasting.client("reader").asks_for("a")
    lasting.client("writer", version).hand_over("a", b"first", 2, packet_id=7)
    lasting.restart()
    lasting.client("writer", version).hand_over("a", b"second", 2, packet_id=7)
    lasting.client("reader").gets_only(b"first", b"second")


def test_a_smaller_window_after_a_restart_is_kept_to(lasting: RestartingServer) -> None:
    client = subscribed(lasting, 5, b"1", b"2", b"3", qos=1)
    before = [client.message().packet_id for _ in range(3)]
    lasting.restart()
    client = lasting.client("c", properties={"receive_maximum": 1})
    for packet_id in before:
        assert client.message().packet_id == packet_id
        assert not client.has_something()
        client.send(PubAck(packet_id))
