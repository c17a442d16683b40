"""Packets beside their bytes, written out by hand from the standard."""

import pytest

from heliograph.mqtt import Reason, encode, packets
from mqtt.wire import decode_whole

BOTH_WAYS = [
    pytest.param(3, packets.Connect("me", 3), "10 10 0006 4d5149736470 03 02 003c 0002 6d65", id="CONNECT 3.1"),
    pytest.param(4, packets.Connect("", 4), "10 0c 0004 4d515454 04 02 003c 0000", id="CONNECT 3.1.1"),
    pytest.param(
        4,
        packets.Connect("a", 4, False, 10, "u", b"p", packets.Will("w", b"gone", 1, True)),
        "10 1c 0004 4d515454 04 ec 000a 0001 61 0001 77 0004 676f6e65 0001 75 0001 70",
        id="CONNECT 3.1.1 with everything",
    ),
    pytest.param(
        5,
        packets.Connect(
            "",
            5,
            True,
            0,
            None,
            b"t",
            packets.Will("w", b"", 2, False, {"will_delay_interval": 1}),
            {"receive_maximum": 9},
        ),
        "10 1e 0004 4d515454 05 56 0000 03 21 0009 0000 05 18 00000001 0001 77 0000 0001 74",
        id="CONNECT 5 with a password only",
    ),
    pytest.param(4, packets.ConnAck(True), "20 02 01 00", id="CONNACK 3.1.1 with a session"),
    pytest.param(4, packets.ConnAck(False, 5), "20 02 00 05", id="CONNACK 3.1.1 not authorized"),
    pytest.param(5, packets.ConnAck(False, Reason.BANNED), "20 03 00 8a 00", id="CONNACK 5 banned"),
    pytest.param(
        5, packets.ConnAck(properties={"maximum_qos": 1}), "20 05 00 00 02 24 01", id="CONNACK 5 with a property"
    ),
    pytest.param(4, packets.Publish("a/b", b"hi"), "30 07 0003 612f62 6869", id="PUBLISH QoS 0"),
    pytest.param(
        4, packets.Publish("a", b"", 2, True, True, 10), "3d 05 0001 61 000a", id="PUBLISH QoS 2, retained, again"
    ),
    pytest.param(
        5, packets.Publish("", b"x", properties={"topic_alias": 7}), "30 07 0000 03 23 0007 78", id="PUBLISH by alias"
    ),
    pytest.param(
        5,
        packets.Publish("t", b"", properties={"subscription_identifier": [1, 200]}),
        "30 09 0001 74 05 0b 01 0b c8 01",
        id="PUBLISH with two subscription identifiers",
    ),
    pytest.param(
        5,
        packets.Publish("t", b"", properties={"user_property": [("b", "1"), ("a", "2"), ("b", "")]}),
        "30 18 0001 74 14 26 0001 62 0001 31 26 0001 61 0001 32 26 0001 62 0000",
        id="PUBLISH with user properties in their order",
    ),
    pytest.param(4, packets.PubAck(1), "40 02 0001", id="PUBACK 3.1.1"),
    pytest.param(5, packets.PubAck(1), "40 02 0001", id="PUBACK 5, shortest"),
    pytest.param(5, packets.PubAck(1, Reason.QUOTA_EXCEEDED), "40 03 0001 97", id="PUBACK 5 with a reason"),
    pytest.param(
        5,
        packets.PubAck(1, 0, {"reason_string": "k"}),
        "40 08 0001 00 04 1f 0001 6b",
        id="PUBACK 5 with a reason string",
    ),
    pytest.param(4, packets.PubRec(258), "50 02 0102", id="PUBREC"),
    pytest.param(4, packets.PubRel(258), "62 02 0102", id="PUBREL"),
    pytest.param(
        5, packets.PubRel(2, Reason.PACKET_IDENTIFIER_NOT_FOUND), "62 03 0002 92", id="PUBREL 5 with a reason"
    ),
    pytest.param(4, packets.PubComp(258), "70 02 0102", id="PUBCOMP"),
    pytest.param(
        4,
        packets.Subscribe(10, (packets.Subscription("a/b", 1), packets.Subscription("#", 2))),
        "82 0c 000a 0003 612f62 01 0001 23 02",
        id="SUBSCRIBE 3.1.1",
    ),
    pytest.param(
        5,
        packets.Subscribe(10, (packets.Subscription("a", 1, True, True, 2),), {"subscription_identifier": [128]}),
        "82 0a 000a 03 0b 8001 0001 61 2d",
        id="SUBSCRIBE 5 with all options",
    ),
    pytest.param(4, packets.SubAck(10, (0, 1, 2, 0x80)), "90 06 000a 00 01 02 80", id="SUBACK 3.1.1"),
    pytest.param(5, packets.SubAck(10, (2, 0x87)), "90 05 000a 00 02 87", id="SUBACK 5"),
    pytest.param(4, packets.Unsubscribe(3, ("a", "b")), "a2 08 0003 0001 61 0001 62", id="UNSUBSCRIBE 3.1.1"),
    pytest.param(5, packets.Unsubscribe(3, ("a",)), "a2 06 0003 00 0001 61", id="UNSUBSCRIBE 5"),
    pytest.param(4, packets.UnsubAck(3), "b0 02 0003", id="UNSUBACK 3.1.1"),
    pytest.param(5, packets.UnsubAck(3, (0, 0x11)), "b0 05 0003 00 00 11", id="UNSUBACK 5"),
    pytest.param(4, packets.PingReq(), "c0 00", id="PINGREQ"),
    pytest.param(4, packets.PingResp(), "d0 00", id="PINGRESP"),
    pytest.param(4, packets.Disconnect(), "e0 00", id="DISCONNECT 3.1.1"),
    pytest.param(5, packets.Disconnect(), "e0 00", id="DISCONNECT 5, shortest"),
    pytest.param(5, packets.Disconnect(Reason.DISCONNECT_WITH_WILL), "e0 01 04", id="DISCONNECT 5 with the will"),
    pytest.param(
        5,
        packets.Disconnect(0, {"session_expiry_interval": 5}),
        "e0 07 00 05 11 00000005",
        id="DISCONNECT 5 with a property",
    ),
    pytest.param(5, packets.Auth(), "f0 00", id="AUTH, shortest"),
    pytest.param(
        5,
        packets.Auth(Reason.CONTINUE_AUTHENTICATION, {"authentication_method": "m", "authentication_data": b"\1"}),
        "f0 0a 18 08 15 0001 6d 16 0001 01",
        id="AUTH with data",
    ),
]


@pytest.mark.parametrize(("version", "packet", "wire"), BOTH_WAYS)
def test_encoding(version, packet, wire):
    assert encode(packet, version).hex() == bytes.fromhex(wire).hex()


@pytest.mark.parametrize(("version", "packet", "wire"), BOTH_WAYS)
def test_decoding(version, packet, wire):
    assert decode_whole(bytes.fromhex(wire), version) == packet


def test_reasons_become_the_nearest_return_code_of_mqtt_3():
    reasons = [Reason.SUCCESS, Reason.UNSUPPORTED_PROTOCOL_VERSION, Reason.CLIENT_IDENTIFIER_NOT_VALID]
    reasons += [Reason.SERVER_BUSY, Reason.BAD_USER_NAME_OR_PASSWORD, Reason.NOT_AUTHORIZED]
    assert [encode(packets.ConnAck(False, reason), 4)[-1] for reason in reasons] == [0, 1, 2, 3, 4, 5]


def test_a_refused_subscription_has_one_code_in_mqtt_3():
    assert encode(packets.SubAck(1, (1, Reason.NOT_AUTHORIZED)), 4) == bytes.fromhex("90 04 0001 01 80")


def test_a_string_that_does_not_fit_is_an_error_of_the_caller():
    with pytest.raises(ValueError, match="65535"):
        encode(packets.Publish("x" * 65_536), 4)
