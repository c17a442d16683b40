"""What survives the way from MQTT to AMQP and back, and the other way round."""

from hypothesis import given
from hypothesis import strategies as st

from heliograph.amqp.codec.values import Symbol, Timestamp, UByte, UInt, ULong
from heliograph.amqp.messages.message import Data, Message, Sequence, Value, decode_message, encode_message
from heliograph.broker.core.span import carried_properties, message
from heliograph.broker.queues.conversion import amqp_messages, spans_of
from heliograph.mapping.bodies import ENCODED_CONTENT_TYPE, is_utf8
from mapping.spans import NOW, WALL, properties_in


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
