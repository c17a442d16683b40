"""Messages keep their meaning between MQTT and AMQP: each line of docs/reference/mapping.md."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.amqp.codec.values import Byte, Float, Int, Symbol, Timestamp, UByte, UInt, ULong
from heliograph.amqp.errors import DecodeError
from heliograph.amqp.messages.message import Data, Message, Sequence, Value, decode_message, encode_message
from heliograph.broker.core.span import carried_properties, message
from heliograph.broker.queues.conversion import amqp_messages, spans_of
from heliograph.mapping.bodies import ENCODED_CONTENT_TYPE, is_utf8
from heliograph.mqtt.framing import PacketType, encode_varint
from heliograph.mqtt.properties import decode_properties

NOW, WALL = 1000.0, 1_700_000_000_000


def properties_in(span):
    encoded = encode_varint(len(span.properties)) + span.properties
    return decode_properties(encoded, 0, len(encoded), PacketType.PUBLISH)[0]


def to_amqp(payload=b"", topic=b"a/b", **fields):
    """The AMQP message of a publication."""
    publish = {name: fields.pop(name) for name in ("qos", "retain", "expires") if name in fields}
    span = message(topic, payload, properties=carried_properties(fields), **publish)
    (encoded,) = amqp_messages(span, NOW, WALL)
    return decode_message(encoded)


def to_mqtt(**fields):
    """The publication of an AMQP message."""
    ((_, span),) = spans_of(b"a/b", [encode_message(Message(**fields))], NOW, WALL)
    return span


def users(span):
    return dict(properties_in(span).get("user_property", ()))


class TestMqttToAmqp:
    def test_the_payload_is_a_body_of_bytes(self):
        assert to_amqp(b"\x00\xff").body == Data(b"\x00\xff")

    def test_a_long_payload_is_too(self):
        assert to_amqp(b"x" * 70_000).body == Data(b"x" * 70_000)

    def test_a_payload_that_says_it_is_text_is_a_string(self):
        assert to_amqp("grüße".encode(), payload_format_indicator=1).body == Value("grüße")
        assert to_amqp(b"x" * 300, payload_format_indicator=1).body == Value("x" * 300)

    def test_a_payload_that_is_no_text_though_it_says_so_is_bytes(self):
        assert to_amqp(b"\xff", payload_format_indicator=1).body == Data(b"\xff")

    @pytest.mark.parametrize(("qos", "durable"), [(0, False), (1, True), (2, True)])
    def test_qos_decides_whether_it_is_persistent(self, qos, durable):
        assert to_amqp(qos=qos).durable is durable

    def test_the_topic_is_where_it_was_sent_to(self):
        found = to_amqp(topic="räume/1".encode())
        assert found.to == "topic://räume/1"
        assert found.message_annotations["x-opt-jms-dest"] == 1

    def test_the_time_of_arrival_is_when_it_was_created(self):
        assert to_amqp().creation_time == WALL

    def test_expiry_is_a_life_and_an_end(self):
        found = to_amqp(expires=NOW + 90)
        assert found.ttl == 90_000
        assert found.absolute_expiry_time == WALL + 90_000

    def test_a_life_longer_than_amqp_can_tell_still_has_its_end(self):
        found = to_amqp(expires=NOW + 5_000_000)
        assert found.ttl == 2**32 - 1
        assert found.absolute_expiry_time == WALL + 5_000_000_000

    def test_without_expiry_there_is_neither(self):
        assert (to_amqp().ttl, to_amqp().absolute_expiry_time) == (None, None)

    def test_the_retain_flag_is_an_annotation(self):
        assert to_amqp(retain=True).message_annotations["x-opt-retain-message"] is True
        assert "x-opt-retain-message" not in to_amqp().message_annotations

    def test_the_content_type_stays(self):
        assert to_amqp(content_type="text/plain").content_type == "text/plain"

    def test_the_response_topic_is_where_answers_go(self):
        found = to_amqp(response_topic="answers/7")
        assert found.reply_to == "topic://answers/7"
        assert found.message_annotations["x-opt-jms-reply-to"] == 1

    def test_readable_correlation_data_is_a_string_and_other_data_is_bytes(self):
        assert to_amqp(correlation_data=b"order 7").correlation_id == "order 7"
        assert to_amqp(correlation_data=b"\xff\x00").correlation_id == b"\xff\x00"

    def test_user_properties_are_application_properties(self):
        found = to_amqp(user_property=[("colour", "red"), ("n", "5")])
        assert found.application_properties == {"colour": "red", "n": "5"}

    def test_of_repeated_user_properties_applications_see_the_first(self):
        found = to_amqp(user_property=[("a", "1"), ("a", "2")])
        assert found.application_properties == {"a": "1"}

    def test_user_properties_can_name_fields_of_amqp(self):
        found = to_amqp(
            user_property=[
                ("amqp.message_id", "ID:AMQP_ULONG:5"),
                ("amqp.subject", "s"),
                ("amqp.creation_time", "17"),
                ("amqp.group_id", "g"),
                ("amqp.group_sequence", "4"),
                ("amqp.priority", "9"),
            ]
        )
        assert (found.message_id, found.subject, found.creation_time) == (5, "s", 17)
        assert (found.group_id, found.group_sequence, found.priority) == ("g", 4, 9)
        assert found.application_properties is None

    @pytest.mark.parametrize(
        "pair", [("amqp.priority", "high"), ("amqp.priority", "256"), ("amqp.group_sequence", "-1")]
    )
    def test_what_makes_no_sense_as_a_field_stays_a_property(self, pair):
        assert to_amqp(user_property=[pair]).application_properties == dict([pair])

    def test_nobody_becomes_another_user_by_saying_so(self):
        assert to_amqp(user_property=[("amqp.user_id", "root")]).user_id is None


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
        span = to_mqtt(
            message_id=ULong(5),
            user_id=b"anna",
            subject="s",
            content_encoding=Symbol("gzip"),
            creation_time=Timestamp(17),
            group_id="g",
            group_sequence=UInt(4),
            reply_to_group_id="r",
            priority=UByte(9),
        )
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


class TestThereAndBack:
    texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
    names = texts | st.sampled_from(["a", "b", "amqp.subject", "amqp.priority", "amqp.reply_to", "amqp.content_type"])
    topics = st.text(st.characters(exclude_categories=["C"], exclude_characters="+#"), min_size=1, max_size=20)
    publications = st.fixed_dictionaries(
        {},
        optional={
            "payload_format_indicator": st.just(1),
            "content_type": texts | st.just(ENCODED_CONTENT_TYPE),
            "response_topic": topics
            | topics.map(lambda topic: "topic://" + topic)
            | topics.map(lambda t: "queue://" + t),
            "correlation_data": st.binary(max_size=20) | texts.map(str.encode),
            "user_property": st.lists(st.tuples(names, texts | st.sampled_from(["4", "7"])), min_size=1, max_size=5),
        },
    )

    @given(
        publications, st.binary(max_size=300) | texts.map(str.encode), st.booleans(), st.sampled_from([0.0, NOW + 60])
    )
    def test_publications_survive_as_amqp_messages(self, fields, payload, retain, expires):
        span = message(b"a/b", payload, qos=1, retain=retain, properties=carried_properties(fields), expires=expires)
        (encoded,) = amqp_messages(span, NOW, WALL)
        ((_, back),) = spans_of(b"a/b", [encoded], NOW, WALL)
        assert back.payloads(0, 1) == [payload]
        assert (back.qos, back.retain, back.expires, back.topic) == (1, retain, expires, b"a/b")
        found = properties_in(back)
        added = [pair for pair in found.get("user_property", ()) if pair != ("amqp.creation_time", str(WALL))]
        found.pop("user_property", None)
        if added:
            found["user_property"] = added
        if fields.get("payload_format_indicator") and not is_utf8(payload):
            found["payload_format_indicator"] = 1
        assert found == fields

    identifiers = texts | st.binary(max_size=20) | st.uuids() | st.integers(0, 2**64 - 1).map(ULong)
    bodies = (
        st.binary(max_size=300).map(Data)
        | texts.map(Value)
        | st.lists(st.integers(-5, 5) | texts, max_size=3).map(Sequence)
        | (st.dictionaries(texts, texts, max_size=3) | st.integers(-5, 5) | st.booleans() | st.floats(0, 1)).map(Value)
    )
    messages = st.fixed_dictionaries(
        {"body": bodies, "durable": st.booleans()},
        optional={
            "priority": st.integers(0, 9).map(UByte),
            "message_id": identifiers,
            "subject": texts,
            "reply_to": topics.map(lambda topic: "topic://" + topic) | topics.map(lambda name: "queue://" + name),
            "correlation_id": identifiers,
            "content_type": st.text("abc/", max_size=9).map(Symbol),
            "content_encoding": st.text("abc/", max_size=9).map(Symbol),
            "creation_time": st.integers(0, 2**50).map(Timestamp),
            "group_id": texts,
            "group_sequence": st.integers(0, 2**32 - 1).map(UInt),
            "reply_to_group_id": texts,
            "application_properties": st.dictionaries(
                texts.filter(lambda name: not name.startswith("amqp.")), texts, min_size=1, max_size=4
            ),
        },
    )

    @given(messages)
    def test_messages_survive_as_publications(self, fields):
        ((_, span),) = spans_of(b"a/b", [encode_message(Message(**fields))], NOW, WALL)
        (encoded,) = amqp_messages(span, NOW, WALL)
        back = decode_message(encoded)
        fields.setdefault("creation_time", WALL)
        for name, value in fields.items():
            assert getattr(back, name) == value
            assert type(getattr(back, name)) is type(value) or isinstance(value, int)
