"""Packets and runs, against bytes written by hand from the standard."""

from heliograph.lab import wire


def test_connect_is_clean_and_without_keep_alive():
    assert wire.connect("ab") == b"\x10\x0e\x00\x04MQTT\x04\x02\x00\x00\x00\x02ab"
    assert wire.connect("ab", wire.V5) == b"\x10\x0f\x00\x04MQTT\x05\x02\x00\x00\x00\x00\x02ab"


def test_connect_for_a_durable_session():
    assert wire.connect("ab", durable=True) == b"\x10\x0e\x00\x04MQTT\x04\x00\x00\x00\x00\x02ab"


def test_subscribe_has_identifier_one():
    assert wire.subscribe("a/#", 1) == b"\x82\x08\x00\x01\x00\x03a/#\x01"
    assert wire.subscribe("a/#", 2, wire.V5) == b"\x82\x09\x00\x01\x00\x00\x03a/#\x02"


def test_publish_of_each_shape():
    assert wire.Shape().publish("t", b"xy") == b"\x30\x05\x00\x01txy"
    assert wire.Shape(qos=1).publish("t", b"xy", 0x1234) == b"\x32\x07\x00\x01t\x12\x34xy"
    assert wire.Shape(qos=1, retain=True).publish("t", b"xy", 1) == b"\x33\x07\x00\x01t\x00\x01xy"
    assert wire.Shape(qos=2).publish("t", b"xy", 1) == b"\x34\x07\x00\x01t\x00\x01xy"
    assert wire.Shape(wire.V5).publish("t", b"xy") == b"\x30\x06\x00\x01t\x00xy"
    properties = wire.user_properties([("k", "v")])
    assert wire.Shape(wire.V5, 0, properties).publish("t", b"") == b"\x30\x0b\x00\x01t\x07\x26\x00\x01k\x00\x01v"


def test_long_packets_have_longer_lengths():
    assert wire.Shape().publish("t", bytes(125))[:3] == b"\x30\x80\x01"
    assert [wire.varint(n) for n in (0, 127, 128, 16383, 16384)] == [
        b"\0",
        b"\x7f",
        b"\x80\1",
        b"\xff\x7f",
        b"\x80\x80\1",
    ]


def test_payload_says_who_and_which():
    assert wire.payload(1, 0x0203, 10) == b"\x00\x00\x00\x01\x00\x00\x02\x03.."


def test_acknowledgement_runs():
    assert wire.ack_run(wire.PUBACK, b"\x00\x01", b"\x07\x00") == b"\x40\x02\x00\x07\x40\x02\x01\x00"
    assert wire.answer_run(wire.PUBREL, b"\x50\x02\x00\x07\x50\x02\x01\x00") == b"\x62\x02\x00\x07\x62\x02\x01\x00"
    assert wire.acks(wire.PUBACK, 2) == [b"\x40\x02\x00\x01", b"\x40\x02\x00\x02"]


def test_packets_are_found_and_an_unfinished_one_is_left():
    long = wire.Shape().publish("t", bytes(200))
    data = b"\x40\x02\x00\x01" + long + b"\x30\x05\x00"
    assert list(wire.packets(data)) == [(0, 2, 4), (4, 7, 4 + len(long))]
    assert list(wire.packets(b"\x30\x80")) == []


def test_a_delivery_is_read_in_any_shape():
    properties = wire.user_properties([("name", "value")])
    for shape in (wire.Shape(), wire.Shape(qos=1), wire.Shape(wire.V5, 2, properties)):
        packet = shape.publish("topic", wire.payload(3, 9, 32), 5)
        [(_, body, _)] = wire.packets(packet)
        identifier = b"\x00\x05" if shape.qos else b""
        assert wire.read_publish(packet, body, shape.version) == wire.Delivery(shape.qos, identifier, 3, 9)


def test_what_is_not_ours_is_not_a_delivery():
    assert wire.read_publish(b"\x40\x02\x00\x01", 2, wire.V3) is None
    assert wire.read_publish(wire.Shape().publish("t", b"short"), 2, wire.V3) is None
