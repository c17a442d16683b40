"""Messages of AMQP as publications of MQTT."""

from uuid import UUID

import pytest

from heliograph.amqp.codec.values import Byte, Float, Int, Symbol, Timestamp, UByte, UInt, ULong
from heliograph.amqp.errors import DecodeError
from heliograph.amqp.messages.message import Data, Message, Sequence, Value, decode_message, encode_message
from heliograph.broker.queues.conversion import spans_of
from heliograph.mapping.bodies import ENCODED_CONTENT_TYPE
from mapping.spans import NOW, WALL, properties_in, to_amqp


def to_mqtt(**fields):
    """The publication of an AMQP message."""
    ((_, span),) = spans_of(b"a/b", [encode_message(Message(**fields))], NOW, WALL)
    return span


def users(span):
    return dict(properties_in(span).get("user_property", ()))


class TestAmqpToMqtt:
    def test_bytes_are_the_payload(self):
        span = to_mqtt(body=Data(b"\x00\xff"))
        assert (span.topic, span.payloads(0, 1)) == (b"a/b", [b"\x00\xff"])
        assert properties_in(span) == {}

    def test_a_string_is_a_payload_that_says_it_is_text(self):
        span = to_mqtt(body=Value("grüße"))
        assert span.payloads(0, 1) == ["grüße".encode()]
        assert properties_in(span) == {"payload_format_indicator": 1}

    def test_bytes_as_a_value_are_the_payload(self):
        assert to_mqtt(body=Value(b"\xff")).payloads(0, 1) == [b"\xff"]

    def test_nothing_is_an_empty_payload(self):
        assert to_mqtt(body=Value(None)).payloads(0, 1) == [b""]

    def test_several_sections_of_bytes_are_one_payload(self):
        encoded = encode_message(Message(body=Data(b"ab"))) + encode_message(Message(body=Data(b"cd")))
        ((_, span),) = spans_of(b"a", [encoded], NOW, WALL)
        assert span.payloads(0, 1) == [b"abcd"]

    @pytest.mark.parametrize("body", [Value({"a": 1}), Value([1, 2]), Value(5), Sequence([1, "x"])])
    def test_other_bodies_are_sent_as_amqp_encodes_them_and_say_so(self, body):
        span = to_mqtt(body=body)
        assert properties_in(span) == {"content_type": ENCODED_CONTENT_TYPE}
        assert decode_message(span.payloads(0, 1)[0]).body == body

    @pytest.mark.parametrize("lists", [[[1, "x"], [], [2.5]], [[], []], [[0] * 300, [None]]])
    def test_several_sections_of_lists_are_one(self, lists):
        encoded = b"".join(encode_message(Message(body=Sequence(items))) for items in lists)
        ((_, span),) = spans_of(b"a", [encoded], NOW, WALL)
        assert decode_message(span.payloads(0, 1)[0]).body == Sequence([item for items in lists for item in items])

    @pytest.mark.parametrize("name", [b"\x80" + (0x77).to_bytes(8), b"\xa3\x11amqp:amqp-value:*"])
    def test_other_ways_to_write_what_the_body_is(self, name):
        ((_, span),) = spans_of(b"a", [b"\x00" + name + b"\x54\x05" + b"\x00\x53\x78\xc1\x01\x00"], NOW, WALL)
        assert span.payloads(0, 1) == [b"\x00\x53\x77\x54\x05"]

    @pytest.mark.parametrize(
        "body",
        [
            b"\x00\x53\x77\xd0\x00\x00\x00\x09\x00\x00\x00\x01",  # cut off
            b"\x00\x53\x77\x40\x00\x53\x77\x40",  # two values
            b"\x00\x53\x75\xa0\x01a\x00\x53\x77\x40",  # bytes and a value
            b"\x00\x53\x78\xc1\x01\x00\x00\x53\x77\x40",  # the footer first
            b"\x00\x53\x75\x40",  # null in the place of bytes
            b"\x00\x53\x76\xc1\x01\x00",  # a map in the place of a list
            b"\x00\x53\x77\xa1\x01\xff",  # text that is none
            b"\x00\x53\x79\x40",  # no section
            b"\x00\x82\x40\x5d\xc0\x00\x00\x00\x00\x00\x40",  # the number of a section, but as a fraction
            b"\x40\x40\x40\x40",
        ],
    )
    def test_what_is_no_body_is_refused_and_is_plain_bytes_the_other_way(self, body):
        with pytest.raises(DecodeError):
            spans_of(b"a", [body], NOW, WALL)
        assert to_amqp(body, content_type=ENCODED_CONTENT_TYPE).body == Data(body)

    @pytest.mark.parametrize(("durable", "qos"), [(False, 0), (True, 1)])
    def test_persistence_decides_the_qos(self, durable, qos):
        assert to_mqtt(durable=durable).qos == qos

    def test_a_life_becomes_an_expiry(self):
        assert to_mqtt(ttl=UInt(90_000)).expires == NOW + 90
        assert to_mqtt(absolute_expiry_time=Timestamp(WALL + 5_000)).expires == NOW + 5
        assert to_mqtt(ttl=UInt(90_000), absolute_expiry_time=Timestamp(WALL + 5_000)).expires == NOW + 5
        assert to_mqtt().expires == 0

    def test_what_has_expired_is_not_published(self):
        encoded = encode_message(Message(absolute_expiry_time=Timestamp(WALL)))
        assert spans_of(b"a", [encoded], NOW, WALL) == []

    def test_the_annotation_sets_the_retain_flag(self):
        assert to_mqtt(message_annotations={"x-opt-retain-message": True}).retain
        assert not to_mqtt(message_annotations={"x-opt-retain-message": "yes"}).retain

    @pytest.mark.parametrize(
        ("reply_to", "kind", "topic"),
        [("topic://answers", None, "answers"), ("answers", 1, "answers"), ("answers", None, "answers")],
    )
    def test_a_topic_for_answers_is_the_response_topic(self, reply_to, kind, topic):
        annotations = None if kind is None else {"x-opt-jms-reply-to": Byte(kind)}
        assert properties_in(to_mqtt(reply_to=reply_to, message_annotations=annotations)) == {"response_topic": topic}

    @pytest.mark.parametrize(
        ("reply_to", "kind", "address"),
        [("queue://q", None, "queue://q"), ("q", 0, "queue://q"), ("q", 2, "queue://q"), ("a/#", 1, "a/#")],
    )
    def test_an_address_for_answers_that_is_no_topic_is_kept_as_a_user_property(self, reply_to, kind, address):
        annotations = None if kind is None else {"x-opt-jms-reply-to": Byte(kind)}
        span = to_mqtt(reply_to=reply_to, message_annotations=annotations)
        assert properties_in(span) == {"user_property": [("amqp.reply_to", address)]}

    def test_application_properties_of_all_types_are_user_properties(self):
        values = {
            "text": "x",
            "yes": True,
            "int": Int(-5),
            "double": 1.5,
            "float": Float(0.5),
            "uuid": UUID(int=7),
            "bytes": b"\xca\xfe",
            "time": Timestamp(17),
            "symbol": Symbol("s"),
            "nothing": None,
        }
        assert users(to_mqtt(application_properties=values)) == {
            "text": "x",
            "yes": "true",
            "int": "-5",
            "double": "1.5",
            "float": "0.5",
            "uuid": "00000000-0000-0000-0000-000000000007",
            "bytes": "cafe",
            "time": "17",
            "symbol": "s",
        }

    def test_fields_that_mqtt_has_no_place_for_are_user_properties(self):
        fields = {"message_id": ULong(5), "user_id": b"anna", "subject": "s", "content_encoding": Symbol("gzip")}
        group = {"group_id": "g", "group_sequence": UInt(4), "reply_to_group_id": "r"}
        span = to_mqtt(**fields, **group, creation_time=Timestamp(17), priority=UByte(9))
        assert users(span) == {
            "amqp.message_id": "ID:AMQP_ULONG:5",
            "amqp.user_id": "anna",
            "amqp.subject": "s",
            "amqp.content_encoding": "gzip",
            "amqp.creation_time": "17",
            "amqp.group_id": "g",
            "amqp.group_sequence": "4",
            "amqp.reply_to_group_id": "r",
            "amqp.priority": "9",
        }

    def test_strings_that_mqtt_does_not_take_are_left_out(self):
        properties = {"nul": "a\0b", "long": "x" * 70_000, "ok": "y"}
        span = to_mqtt(application_properties=properties, correlation_id="c" * 70_000)
        assert properties_in(span) == {"user_property": [("ok", "y")]}

    @pytest.mark.parametrize(
        "garbage", [b"\xff\xff\xff\xff", b"\x00\x53\x73\xc0\x09\x01\xa1\x40", b"\x00\x53\x75\x54\x05"]
    )
    def test_what_is_no_message_is_refused(self, garbage):
        with pytest.raises(DecodeError):
            spans_of(b"a", [garbage], NOW, WALL)
