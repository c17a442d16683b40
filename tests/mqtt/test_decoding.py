"""Each broken rule is answered with the reason code that the standard names for it."""

import pytest

from heliograph.mqtt import MalformedPacket, ProtocolError, Reason, decode, packets
from heliograph.mqtt.decoding import check_flags, read_subscribe, read_unsubscribe
from heliograph.mqtt.framing import PacketType
from mqtt.wire import assert_refused, decode_whole

MALFORMED = Reason.MALFORMED_PACKET
PROTOCOL = Reason.PROTOCOL_ERROR


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


# Forms that are legal and longer than they need to be, or that only an older version allows.
ONE_WAY = [
    pytest.param(5, "40 03 0001 00", packets.PubAck(1), id="PUBACK 5 that says success"),
    pytest.param(5, "40 04 0001 00 00", packets.PubAck(1), id="PUBACK 5 with no properties"),
    pytest.param(5, "e0 01 00", packets.Disconnect(), id="DISCONNECT 5 that says normal"),
    pytest.param(5, "e0 02 00 00", packets.Disconnect(), id="DISCONNECT 5 with no properties"),
    pytest.param(3, "6a 02 0001", packets.PubRel(1), id="PUBREL 3.1 sent again"),
    pytest.param(
        3, "8a 06 0001 0001 61 00", packets.Subscribe(1, (packets.Subscription("a"),)), id="SUBSCRIBE 3.1 sent again"
    ),
    pytest.param(3, "aa 05 0001 0001 61", packets.Unsubscribe(1, ("a",)), id="UNSUBSCRIBE 3.1 sent again"),
    pytest.param(3, "20 02 ff 00", packets.ConnAck(), id="CONNACK 3.1 with anything in its reserved byte"),
    pytest.param(
        5,
        "20 02 00 01",
        packets.ConnAck(False, Reason.UNSUPPORTED_PROTOCOL_VERSION),
        id="CONNACK of an older server to MQTT 5",
    ),
]


@pytest.mark.parametrize(("version", "wire", "packet"), ONE_WAY)
def test_decoding_of_other_legal_forms(version, wire, packet):
    assert decode_whole(bytes.fromhex(wire), version) == packet


def test_subscriptions_are_read_one_by_one():
    body = bytes.fromhex("0007 00 0001 61 01 0001 62 3f")
    packet_id, properties, subscriptions = read_subscribe(body, 5)
    one_by_one = subscriptions()
    assert (packet_id, properties, next(one_by_one)) == (7, {}, packets.Subscription("a", 1))
    with pytest.raises(ProtocolError, match="SUBSCRIBE asks for QoS 3"):
        next(one_by_one)


def test_filters_to_unsubscribe_from_can_be_read_again():
    packet_id, properties, filters = read_unsubscribe(bytes.fromhex("0007 0001 61 0001 62"), 4)
    assert (packet_id, properties, [*filters()], [*filters()]) == (7, {}, ["a", "b"], ["a", "b"])


@pytest.mark.parametrize(
    ("kind", "flags"), [(PacketType.SUBSCRIBE, 0), (PacketType.PUBACK, 2), (PacketType.PUBREL, 10)]
)
def test_flags_that_a_packet_cannot_have(kind, flags):
    with pytest.raises(MalformedPacket, match=f"{kind.name} with flags 0x{flags:X}"):
        check_flags(kind, flags, 4)


def test_mqtt_3_1_marks_what_is_sent_again():
    check_flags(PacketType.PUBREL, 10, 3)
    assert decode(0x6A, b"\0\1", 3) == packets.PubRel(1)
