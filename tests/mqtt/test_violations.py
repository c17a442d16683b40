"""Each broken rule is answered with the reason code that the standard names for it."""

import pytest

from heliograph.mqtt import ProtocolError, Reason
from mqtt.wire import decode_whole

MALFORMED = Reason.MALFORMED_PACKET
PROTOCOL = Reason.PROTOCOL_ERROR


def assert_refused(wire: str, version: int, reason: Reason) -> None:
    with pytest.raises(ProtocolError) as caught:
        decode_whole(bytes.fromhex(wire), version)
    assert caught.value.reason is reason


@pytest.mark.parametrize(
    ("wire", "reason"),
    [
        pytest.param("00 00", MALFORMED, id="packet type 0"),
        pytest.param("c1 00", MALFORMED, id="flags in PINGREQ"),
        pytest.param("60 02 0001", MALFORMED, id="PUBREL without its flag"),
        pytest.param("6a 02 0001", MALFORMED, id="PUBREL marked as a duplicate after MQTT 3.1"),
        pytest.param("80 06 0001 0001 61 00", MALFORMED, id="SUBSCRIBE without its flag"),
        pytest.param("c0 01 00", MALFORMED, id="PINGREQ with a body"),
        pytest.param("d0 01 00", MALFORMED, id="PINGRESP with a body"),
        pytest.param("e0 01 00", MALFORMED, id="DISCONNECT with a reason before MQTT 5"),
        pytest.param("f0 00", MALFORMED, id="AUTH before MQTT 5"),
        pytest.param("36 05 0001 61 0001", MALFORMED, id="PUBLISH with QoS 3"),
        pytest.param("38 03 0001 61", MALFORMED, id="QoS 0 marked as a duplicate"),
        pytest.param("32 05 0001 61 0000", PROTOCOL, id="PUBLISH with packet identifier 0"),
        pytest.param("32 04 0001 61 00", MALFORMED, id="PUBLISH cut in its packet identifier"),
        pytest.param("30 03 0002 61", MALFORMED, id="PUBLISH cut in its topic"),
        pytest.param("30 01 00", MALFORMED, id="PUBLISH cut in its topic's length"),
        pytest.param("30 02 0000", Reason.TOPIC_NAME_INVALID, id="PUBLISH with an empty topic"),
        pytest.param("30 05 0003 612f23", Reason.TOPIC_NAME_INVALID, id="PUBLISH to a wildcard"),
        pytest.param("30 03 0001 ff", MALFORMED, id="topic that is not UTF-8"),
        pytest.param("30 03 0001 00", MALFORMED, id="topic with U+0000"),
        pytest.param("40 02 0000", PROTOCOL, id="PUBACK with packet identifier 0"),
        pytest.param("40 03 0001 00", MALFORMED, id="PUBACK with a reason before MQTT 5"),
        pytest.param("40 01 00", MALFORMED, id="PUBACK cut short"),
        pytest.param("82 02 0001", PROTOCOL, id="SUBSCRIBE without a filter"),
        pytest.param("82 06 0000 0001 61 00", PROTOCOL, id="SUBSCRIBE with packet identifier 0"),
        pytest.param("82 05 0001 0001 61", MALFORMED, id="SUBSCRIBE without a QoS"),
        pytest.param("82 06 0001 0001 61 03", MALFORMED, id="SUBSCRIBE with QoS 3"),
        pytest.param("82 06 0001 0001 61 04", MALFORMED, id="SUBSCRIBE with options of MQTT 5"),
        pytest.param("82 07 0001 0002 6123 00", Reason.TOPIC_FILTER_INVALID, id="SUBSCRIBE with a bad filter"),
        pytest.param("90 02 0001", MALFORMED, id="SUBACK without a code"),
        pytest.param("90 03 0001 03", PROTOCOL, id="SUBACK granting QoS 3"),
        pytest.param("a2 02 0001", PROTOCOL, id="UNSUBSCRIBE without a filter"),
        pytest.param("a2 05 0000 0001 61", PROTOCOL, id="UNSUBSCRIBE with packet identifier 0"),
        pytest.param("a2 04 0001 0000", Reason.TOPIC_FILTER_INVALID, id="UNSUBSCRIBE with an empty filter"),
        pytest.param("b0 03 0001 00", MALFORMED, id="UNSUBACK with a code before MQTT 5"),
        pytest.param("20 02 02 00", MALFORMED, id="reserved flag in CONNACK"),
        pytest.param("20 02 00 06", PROTOCOL, id="unknown return code in CONNACK"),
        pytest.param("20 02 01 05", PROTOCOL, id="session present in a refusal"),
        pytest.param("20 03 00 00 00", MALFORMED, id="CONNACK with a byte too many"),
    ],
)
def test_mqtt_3_1_1(wire, reason):
    assert_refused(wire, 4, reason)


@pytest.mark.parametrize(
    ("wire", "reason"),
    [
        pytest.param("36 06 0001 61 0001 00", MALFORMED, id="PUBLISH with QoS 3"),
        pytest.param("30 03 0000 00", PROTOCOL, id="PUBLISH with neither topic nor alias"),
        pytest.param("30 03 0001 61", MALFORMED, id="PUBLISH without a property length"),
        pytest.param("30 05 0001 61 05 00", MALFORMED, id="properties longer than the packet"),
        pytest.param("30 05 0001 61 8000", MALFORMED, id="property length with a byte too many"),
        pytest.param("30 07 0001 61 03 23 0000", Reason.TOPIC_ALIAS_INVALID, id="topic alias 0"),
        pytest.param("40 03 0001 01", PROTOCOL, id="PUBACK with a reason of SUBACK"),
        pytest.param("40 03 0001 ff", PROTOCOL, id="PUBACK with an unknown reason"),
        pytest.param("62 03 0001 10", PROTOCOL, id="PUBREL with a reason of PUBREC"),
        pytest.param("40 05 0001 00 00 00", MALFORMED, id="PUBACK with a byte too many"),
        pytest.param("82 03 0001 00", PROTOCOL, id="SUBSCRIBE without a filter"),
        pytest.param("82 07 0001 00 0001 61 03", PROTOCOL, id="SUBSCRIBE with QoS 3"),
        pytest.param("82 07 0001 00 0001 61 30", PROTOCOL, id="SUBSCRIBE with retain handling 3"),
        pytest.param("82 07 0001 00 0001 61 40", MALFORMED, id="SUBSCRIBE with reserved options"),
        pytest.param("82 10 0001 00 000a 2473686172652f672f61 04", PROTOCOL, id="no-local on a shared subscription"),
        pytest.param("90 03 0001 00", MALFORMED, id="SUBACK without a reason"),
        pytest.param("90 04 0001 00 11", PROTOCOL, id="SUBACK with a reason of UNSUBACK"),
        pytest.param("b0 03 0001 00", MALFORMED, id="UNSUBACK without a reason"),
        pytest.param("b0 04 0001 00 01", PROTOCOL, id="UNSUBACK with a reason of SUBACK"),
        pytest.param("20 03 00 8e 00", PROTOCOL, id="CONNACK with a reason of DISCONNECT"),
        pytest.param("20 03 01 80 00", PROTOCOL, id="session present in a refusal"),
        pytest.param("20 02 00 00", MALFORMED, id="CONNACK without a property length"),
        pytest.param("e0 01 86", PROTOCOL, id="DISCONNECT with a reason of CONNACK"),
        pytest.param("f0 01 87", PROTOCOL, id="AUTH with a reason of CONNACK"),
        pytest.param("f0 02 18 00", PROTOCOL, id="AUTH without a method"),
        pytest.param("f0 07 18 05 16 0002 0101", PROTOCOL, id="AUTH with data but no method"),
    ],
)
def test_mqtt_5(wire, reason):
    assert_refused(wire, 5, reason)


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
