"""The rules for each property, and agreement with another implementation's table."""

import pytest
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties as PahoProperties

from heliograph.mqtt import PacketType, ProtocolError, Reason, decode_properties, encode_properties

# One value of each property, under the name that paho gives it.
SAMPLES = {
    "payload_format_indicator": ("PayloadFormatIndicator", 1),
    "message_expiry_interval": ("MessageExpiryInterval", 70_000),
    "content_type": ("ContentType", "text/plain"),
    "response_topic": ("ResponseTopic", "answers/here"),
    "correlation_data": ("CorrelationData", b"\0\xff"),
    "subscription_identifier": ("SubscriptionIdentifier", [300]),
    "session_expiry_interval": ("SessionExpiryInterval", 0xFFFFFFFF),
    "assigned_client_identifier": ("AssignedClientIdentifier", "you"),
    "server_keep_alive": ("ServerKeepAlive", 60),
    "authentication_method": ("AuthenticationMethod", "SCRAM"),
    "request_problem_information": ("RequestProblemInformation", 0),
    "will_delay_interval": ("WillDelayInterval", 5),
    "request_response_information": ("RequestResponseInformation", 1),
    "response_information": ("ResponseInformation", "here"),
    "server_reference": ("ServerReference", "other:1883"),
    "reason_string": ("ReasonString", "because é"),
    "receive_maximum": ("ReceiveMaximum", 10),
    "topic_alias_maximum": ("TopicAliasMaximum", 10),
    "topic_alias": ("TopicAlias", 3),
    "maximum_qos": ("MaximumQoS", 1),
    "retain_available": ("RetainAvailable", 0),
    "user_property": ("UserProperty", [("a", "b"), ("a", "c")]),
    "maximum_packet_size": ("MaximumPacketSize", 100_000),
    "wildcard_subscription_available": ("WildcardSubscriptionAvailable", 1),
    "subscription_identifier_available": ("SubscriptionIdentifierAvailable", 0),
    "shared_subscription_available": ("SharedSubscriptionAvailable", 1),
}
PLACES = [kind for kind in PacketType if kind not in {PacketType.PINGREQ, PacketType.PINGRESP}]


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("place", [*PLACES, "will"])
def test_paho_agrees_on_bytes_and_places(name, place):
    paho_name, value = SAMPLES[name]
    theirs = PahoProperties(PacketTypes.WILLMESSAGE if place == "will" else int(place))
    data = encode_properties({name: value})
    _, their_places = theirs.properties[theirs.getIdentFromName(paho_name)]
    if theirs.packetType not in their_places:
        with pytest.raises(ProtocolError) as caught:
            decode_properties(data, 0, len(data), place)
        assert caught.value.reason is Reason.MALFORMED_PACKET
        return
    setattr(theirs, paho_name, value)
    assert theirs.pack() == data
    assert decode_properties(data, 0, len(data), place) == ({name: value}, len(data))


@pytest.mark.parametrize("name", sorted(SAMPLES.keys() - {"user_property", "subscription_identifier"}))
def test_most_properties_come_once_only(name):
    once = encode_properties({name: SAMPLES[name][1]})[1:]
    data = bytes([2 * len(once)]) + 2 * once
    place = next(place for place in [*PLACES, "will"] if _belongs(name, place))
    assert _refusal(data, place) is Reason.PROTOCOL_ERROR


def test_subscribe_has_one_subscription_identifier():
    data = encode_properties({"subscription_identifier": [1, 2]})
    assert _refusal(data, PacketType.SUBSCRIBE) is Reason.PROTOCOL_ERROR


def test_publish_may_have_several_subscription_identifiers():
    data = encode_properties({"subscription_identifier": [1, 2]})
    assert decode_properties(data, 0, len(data), PacketType.PUBLISH)[0] == {"subscription_identifier": [1, 2]}


@pytest.mark.parametrize(
    ("name", "value", "place", "reason"),
    [
        ("receive_maximum", 0, PacketType.CONNECT, Reason.PROTOCOL_ERROR),
        ("maximum_packet_size", 0, PacketType.CONNACK, Reason.PROTOCOL_ERROR),
        ("subscription_identifier", [0], PacketType.SUBSCRIBE, Reason.PROTOCOL_ERROR),
        ("topic_alias", 0, PacketType.PUBLISH, Reason.TOPIC_ALIAS_INVALID),
        ("payload_format_indicator", 2, "will", Reason.PROTOCOL_ERROR),
        ("request_problem_information", 2, PacketType.CONNECT, Reason.PROTOCOL_ERROR),
        ("request_response_information", 2, PacketType.CONNECT, Reason.PROTOCOL_ERROR),
        ("maximum_qos", 2, PacketType.CONNACK, Reason.PROTOCOL_ERROR),
        ("retain_available", 2, PacketType.CONNACK, Reason.PROTOCOL_ERROR),
        ("wildcard_subscription_available", 2, PacketType.CONNACK, Reason.PROTOCOL_ERROR),
        ("subscription_identifier_available", 2, PacketType.CONNACK, Reason.PROTOCOL_ERROR),
        ("shared_subscription_available", 2, PacketType.CONNACK, Reason.PROTOCOL_ERROR),
        ("response_topic", "a/#", PacketType.PUBLISH, Reason.PROTOCOL_ERROR),
        ("response_topic", "", PacketType.PUBLISH, Reason.PROTOCOL_ERROR),
        ("authentication_data", b"", PacketType.CONNECT, Reason.PROTOCOL_ERROR),
    ],
)
def test_values_out_of_range_are_refused(name, value, place, reason):
    assert _refusal(encode_properties({name: value}), place) is reason


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="no length"),
        pytest.param(b"\x02\x01", id="shorter than they say"),
        pytest.param(b"\x01\x7f", id="unknown identifier"),
        pytest.param(b"\x02\x81\x00", id="identifier with a byte too many"),
        pytest.param(b"\x02\x02\x00\x00\x00", id="value that goes on after the properties"),
        pytest.param(b"\x04\x03\x00\x02a", id="string that goes on after the properties"),
        pytest.param(b"\x04\x03\x00\x01\xff", id="string that is not UTF-8"),
        pytest.param(b"\x02\x0b\x80", id="integer that goes on after the properties"),
    ],
)
def test_bytes_that_make_no_sense_are_malformed(data):
    assert _refusal(data, PacketType.PUBLISH) is Reason.MALFORMED_PACKET


def test_properties_are_read_from_the_middle_of_a_packet():
    assert decode_properties(b"..\x02\x01\x01payload", 2, 12, PacketType.PUBLISH) == (
        {"payload_format_indicator": 1},
        5,
    )


def _belongs(name, place):
    data = encode_properties({name: SAMPLES[name][1]})
    try:
        decode_properties(data, 0, len(data), place)
    except ProtocolError:
        return False
    return True


def _refusal(data, place):
    with pytest.raises(ProtocolError) as caught:
        decode_properties(data, 0, len(data), place)
    return caught.value.reason
