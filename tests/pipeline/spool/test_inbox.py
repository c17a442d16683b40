"""What a broker sends becomes rows and answers."""

from collections.abc import Iterable
from typing import Any

import pytest

from heliograph.mqtt import (
    ConnAck,
    Connect,
    Disconnect,
    Properties,
    PubAck,
    PubComp,
    Publish,
    PubRec,
    PubRel,
    Reason,
    encode,
)
from heliograph.mqtt.client import ClientSession, Disconnected, Failed
from heliograph.pipeline.spool.inbox import Gathered, Inbox

NOW = 1_700_000_000_000_000


def opened(version: int = 5, held: Iterable[int] = (), *, present: bool = True) -> Inbox:
    """The inbox of a session that a broker has let in."""
    session = ClientSession(manual=True, received=held)
    session.open(Connect("spool", version, clean_start=False), 0.0)
    session.take_output()
    inbox = Inbox(session)
    inbox.receive(encode(ConnAck(session_present=present), version), 0.0, NOW)
    inbox.others.clear()
    return inbox


def received(inbox: Inbox, *packets: Any, version: int = 5) -> Gathered:
    inbox.receive(b"".join(encode(packet, version) for packet in packets), 0.0, NOW)
    return inbox.take()


def rows_of(gathered: Gathered) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = gathered.rows.batch().to_pylist()
    return rows


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_a_message_becomes_a_row(version: int, qos: int) -> None:
    message = Publish("plant/1", b"warm", qos, retain=True, packet_id=7 if qos else 0)
    (row,) = rows_of(received(opened(version), message, version=version))
    assert (row["topic"], row["payload"], row["qos"], row["retain"]) == ("plant/1", b"warm", qos, True)
    assert row["timestamp"].timestamp() == NOW / 1e6


def test_properties_become_columns() -> None:
    properties = Properties(
        content_type="text/plain",
        correlation_data=b"\x01",
        response_topic="answers",
        user_property=[("a", "1"), ("amqp.message_id", "mine")],
    )
    plain, full = rows_of(received(opened(5), Publish("t", b""), Publish("t", b"x", properties=properties)))
    assert (full["content_type"], full["correlation"], full["reply_to"]) == ("text/plain", b"\x01", "answers")
    assert (dict(full["properties"]), full["message_id"], full["payload"]) == ({"a": "1"}, "mine", b"x")
    assert (plain["content_type"], plain["properties"], plain["message_id"]) == (None, None, None)


def test_messages_may_come_in_pieces() -> None:
    data = b"".join(encode(Publish("t", str(number).encode(), 1, packet_id=number), 5) for number in range(1, 40))
    inbox = opened(5)
    for at in range(0, len(data), 3):
        inbox.receive(data[at : at + 3], 0.0, NOW)
    assert [row["payload"] for row in rows_of(inbox.take())] == [str(number).encode() for number in range(1, 40)]


def test_answers_are_in_the_order_of_the_messages() -> None:
    gathered = received(
        opened(5),
        Publish("t", qos=1, packet_id=3),
        Publish("t", qos=2, packet_id=4),
        PubRel(9),
        Publish("t", qos=1, packet_id=2),
    )
    answers = [PubAck(3), PubRec(4), PubComp(9), PubAck(2)]
    assert gathered.answers == b"".join(encode(answer, 5) for answer in answers)


def test_a_message_of_qos_2_that_comes_again_is_taken_once() -> None:
    inbox = opened(5)
    first = received(inbox, Publish("t", b"x", 2, packet_id=4))
    again = received(inbox, Publish("t", b"x", 2, dup=True, packet_id=4))
    assert (len(first.rows), first.held, first.changed) == (1, {4}, True)
    assert (len(again.rows), again.answers, again.changed) == (0, encode(PubRec(4), 5), False)


def test_identifiers_are_held_over_a_restart() -> None:
    again = received(opened(5, held=[4]), Publish("t", b"x", 2, dup=True, packet_id=4))
    assert (len(again.rows), again.held) == (0, {4})


def test_an_identifier_that_was_released_is_free_for_another_message() -> None:
    inbox = opened(5, held=[4])
    released = received(inbox, PubRel(4))
    assert (released.held, released.changed, released.answers) == (frozenset(), True, encode(PubComp(4), 5))
    assert len(received(inbox, Publish("t", b"y", 2, packet_id=4)).rows) == 1


def test_a_broker_that_has_forgotten_the_session_begins_to_count_anew() -> None:
    inbox = opened(5, held=[1], present=False)
    gathered = received(inbox, Publish("t", b"new", 2, packet_id=1))
    assert [row["payload"] for row in rows_of(gathered)] == [b"new"]


def test_other_packets_are_for_the_connection() -> None:
    inbox = opened(5)
    assert not received(inbox, Disconnect(Reason.SERVER_BUSY)).changed
    assert inbox.others == [Disconnected(Reason.SERVER_BUSY, {})]


@pytest.mark.parametrize(
    "data",
    [
        b"\x32\x02\x00\x05",  # the topic is longer than the packet
        b"\x36\x05\x00\x01t\x00\x01",  # QoS 3
        b"\x32\x06\x00\x01t\x00\x00\x00",  # packet identifier 0
        b"\x32\x06\x00\x01t\x00\x01\x7f",  # properties are longer than the packet
        b"\x30\x04\x00\x01\xff\x00",  # a topic that is not UTF-8
        b"\x62\x01\x00",  # PUBREL without an identifier
    ],
)
def test_what_is_not_mqtt_is_refused(data: bytes) -> None:
    inbox = opened(5)
    inbox.receive(data, 0.0, NOW)
    (failed,) = inbox.others
    assert isinstance(failed, Failed)
    assert not inbox.has_gathered
