"""What events say beyond their fields."""

import pytest

from heliograph.mqtt import ConnAck, Reason
from heliograph.mqtt.client import Disconnected, Messages, Refused, Released, Repeated
from heliograph.mqtt.runs import PUBACKS, PUBCOMPS, PUBRECS


def messages(ids, flags):
    return Messages(1, ids, "t", flags, {}, b"")


def test_the_identifiers_of_an_arrival_are_given_once():
    arrival = messages([3, 4, 9], 0x32)
    assert (arrival.next_ids(1), arrival.next_ids(1), arrival.done) == ([3], [4], 2)
    assert (arrival.next_ids(None), arrival.next_ids(None), arrival.next_ids(5)) == ([9], [], [])


@pytest.mark.parametrize(
    ("flags", "qos", "retain", "dup", "table"),
    [(0x30, 0, False, False, b""), (0x33, 1, True, False, PUBACKS), (0x3C, 2, False, True, PUBRECS)],
)
def test_the_first_byte_of_the_packets_says_what_messages_are(flags, qos, retain, dup, table):
    run = messages(range(1, 2), flags)
    assert (run.qos, run.retain, run.dup) == (qos, retain, dup)
    assert run.table is table or run.table == table


def test_each_arrival_has_its_acknowledgement():
    assert Repeated(1, [1]).table is PUBRECS
    assert Released(1, [1]).table is PUBCOMPS


def test_messages_show_what_they_are():
    run = messages(range(1, 2), 0x32)
    run.payloads.append(b"x" * 100)
    assert repr(run).startswith("Messages('t', QoS 1, [b'xxx")
    assert len(repr(run)) < 110


def test_a_redirect_names_the_other_server():
    elsewhere = {"server_reference": "other:1883"}
    assert Refused(Reason.SERVER_MOVED, ConnAck(False, 0x9D, elsewhere)).server_reference == "other:1883"
    assert Disconnected(Reason.SERVER_MOVED, elsewhere).server_reference == "other:1883"
    assert Disconnected(Reason.SERVER_BUSY, {}).server_reference is None
