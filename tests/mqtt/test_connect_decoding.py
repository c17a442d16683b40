"""CONNECT: what is read from it, and each broken rule with the reason code that the standard names for it."""

import pytest

from heliograph.mqtt import Reason, decode, encode, maximum_packet_size, packets
from heliograph.mqtt.connect_decoding import decode_connect
from mqtt.wire import assert_refused, decode_whole

MALFORMED = Reason.MALFORMED_PACKET
PROTOCOL = Reason.PROTOCOL_ERROR


# The variable header and payload of a CONNECT; the fixed header is put before them.
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        pytest.param("0004 4d515454 04 03 003c 0000", MALFORMED, id="reserved flag"),
        pytest.param("0004 4d515454 04 0a 003c 0000", MALFORMED, id="QoS of no will"),
        pytest.param("0004 4d515454 04 22 003c 0000", MALFORMED, id="retain flag of no will"),
        pytest.param("0004 4d515454 04 1e 003c 0000 0001 61 0000", MALFORMED, id="will with QoS 3"),
        pytest.param("0004 4d515454 04 06 003c 0000 0001 23 0000", Reason.TOPIC_NAME_INVALID, id="will to a wildcard"),
        pytest.param(
            "0004 4d515454 04 06 003c 0000 0002 6101 0000", MALFORMED, id="control character in a will's topic"
        ),
        pytest.param("0004 4d515454 04 06 003c 0000 0006 247368617265 0000", MALFORMED, id="will to $share"),
        pytest.param("0004 4d515454 04 02 003c 0002 617f", MALFORMED, id="control character in a client identifier"),
        pytest.param("0004 4d515454 04 82 003c 0000 0003 61c29f", MALFORMED, id="control character in a user name"),
        pytest.param("0004 4d515454 04 06 003c 0000 0001 61", MALFORMED, id="will without a payload"),
        pytest.param("0004 4d515454 04 42 003c 0000 0001 61", PROTOCOL, id="password without a user name"),
        pytest.param("0004 4d515454 04 82 003c 0000", MALFORMED, id="user name missing"),
        pytest.param("0004 4d515454 04 c2 003c 0000 0001 61", MALFORMED, id="password missing"),
        pytest.param("0004 4d515454 04 02 003c 0000 00", MALFORMED, id="a byte too many"),
        pytest.param("0004 4d515454 04 02", MALFORMED, id="cut before keep-alive"),
        pytest.param("0004 4d515454 04 00 003c 0000", Reason.CLIENT_IDENTIFIER_NOT_VALID, id="no name for a session"),
        pytest.param("0006 4d5149736470 03 02 003c 0000", Reason.CLIENT_IDENTIFIER_NOT_VALID, id="no name in MQTT 3.1"),
        pytest.param("0004 4d515454 06 02 003c 0000", Reason.UNSUPPORTED_PROTOCOL_VERSION, id="level 6"),
        pytest.param("0004 4d515454 03 02 003c 0000", Reason.UNSUPPORTED_PROTOCOL_VERSION, id="MQTT level 3"),
        pytest.param("0006 4d5149736470 04 02 003c 0000", Reason.UNSUPPORTED_PROTOCOL_VERSION, id="MQIsdp level 4"),
        pytest.param("0004 4d515454 85 02 003c 00 0000", Reason.UNSUPPORTED_PROTOCOL_VERSION, id="bridge with MQTT 5"),
        pytest.param("0004 6d717474 04 02 003c 0000", Reason.UNSUPPORTED_PROTOCOL_VERSION, id="mqtt in small letters"),
        pytest.param("0004 4d515454 05 02 003c 0000", MALFORMED, id="MQTT 5 without a client identifier"),
        pytest.param("0004 4d515454 05 02 003c 03 21 0000 0000", PROTOCOL, id="receive maximum 0"),
        pytest.param("0004 4d515454 05 02 003c 03 16 0000 0000", PROTOCOL, id="authentication data without a method"),
        pytest.param("0004 4d515454 05 06 003c 00 0000 03 230001 0001 61 0000", MALFORMED, id="topic alias in a will"),
    ],
)
def test_connect(body, reason):
    length = len(bytes.fromhex(body))
    assert_refused(f"10 {length:02x} {body}", 4, reason)


# MQTT 3.1 lets clients leave fields out at the end.
@pytest.mark.parametrize(
    ("version", "wire", "packet"),
    [
        pytest.param(
            3,
            "10 0f 0006 4d5149736470 03 c2 003c 0001 61",
            packets.Connect("a", 3),
            id="CONNECT 3.1 without its user name",
        ),
        pytest.param(
            3,
            "10 12 0006 4d5149736470 03 c2 003c 0001 61 0001 75",
            packets.Connect("a", 3, username="u"),
            id="CONNECT 3.1 without its password",
        ),
    ],
)
def test_fields_that_mqtt_3_1_may_leave_out(version, wire, packet):
    assert decode_whole(bytes.fromhex(wire), version) == packet


def test_connect_is_read_in_the_version_that_it_names():
    assert decode_whole(bytes.fromhex("10 0c 0004 4d515454 04 02 003c 0000"), 5) == packets.Connect("", 4)


def test_a_client_identifier_of_mqtt_3_1_may_be_longer_than_23_characters():
    packet = encode(packets.Connect("x" * 100, 3), 3)
    assert decode(packet[0], packet[2:], 3) == packets.Connect("x" * 100, 3)


def test_the_usual_packet_of_a_device_is_what_any_other_way_to_read_it_gives():
    usual = packets.Connect("sensor-1", 4, True, 30)
    assert decode_connect(encode(usual, 4)[2:]) == usual
    odd = packets.Connect("sénsor", 4, False, 30)  # takes the long way
    assert decode_connect(encode(odd, 4)[2:]) == odd


@pytest.mark.parametrize("level", ["83", "84"])
def test_a_bridge_says_so_in_the_protocol_level(level):
    name = "0006 4d5149736470" if level == "83" else "0004 4d515454"
    found = decode_connect(bytes.fromhex(f"{name} {level} 02 003c 0001 61"))
    assert (found.bridge, found.version, found.client_id) == (True, int(level[1]), "a")


def test_the_largest_packet_is_known_even_if_the_rest_is_malformed():
    connect = packets.Connect("a", 5, properties={"maximum_packet_size": 100})
    body = encode(connect, 5)[2:]
    assert [maximum_packet_size(data) for data in (body, body[:-3], body + b"x", body[:12])] == [100, 100, 100, 0]
    assert maximum_packet_size(encode(packets.Connect("a", 4), 4)[2:]) == 0
