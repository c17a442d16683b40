"""A row of a stream becomes the envelope that an inline flow gets of the same publication."""

from dataclasses import fields, replace

import pyarrow as pa
from hypothesis import example, given, settings
from hypothesis import strategies as st

from heliograph.broker.core.span import carried_properties, message
from heliograph.broker.queues.conversion import amqp_messages
from heliograph.flow.formats.envelope import Envelope
from heliograph.flow.inline.conversion import ServerEnvelope
from heliograph.pipeline.flows.envelopes import envelopes_of
from heliograph.pipeline.source.message_properties import message_properties
from pipeline.flows.stream_rows import NOON, stream_rows

WALL = int(NOON.timestamp() * 1000)
_names = st.sampled_from(
    [
        "a",
        "b",
        "amqp.message_id",
        "amqp.subject",
        "amqp.content_encoding",
        "amqp.creation_time",
        "amqp.group_id",
        "amqp.group_sequence",
        "amqp.reply_to_group_id",
        "amqp.priority",
        "amqp.user_id",
        "amqp.content_type",
        "JMS_IBM_Format",
        "JMS_IBM_Character_Set",
        "JMS_IBM_Encoding",
        "JMS_IBM_MsgType",
        "JMS_IBM_MQMD_Report",
    ]
)
_identifiers = st.sampled_from(
    [
        "x",
        "ID:AMQP_BINARY:00FF",
        "ID:AMQP_BINARY:00ff",
        "ID:AMQP_ULONG:7",
        "ID:AMQP_ULONG:07",
        "ID:AMQP_UUID:12345678-1234-1234-1234-123456789abc",
        "ID:AMQP_STRING:ID:AMQP_ULONG:7",
        "ID:AMQP_STRING:x",
        "ID:AMQP_STRING:ID:AMQP_STRING:ID:AMQP_BINARY:FF",
    ]
)
_texts = st.one_of(_identifiers, st.sampled_from(["", "7", "007", "-1", "4294967296", "1700000000000", "MQSTR", "é"]))
_bodies = st.sampled_from(
    [
        b"",
        b"plain",
        b"\xff\xfe",
        "é".encode(),
        b"\x00\x53\x77\xa1\x02hi",
        b"\x00\x53\x77\x54\x07",
        b"\x00\x53\x77\xa1\x09x",
    ]
)
_properties = st.fixed_dictionaries(
    {},
    optional={
        "payload_format_indicator": st.sampled_from([0, 1]),
        "content_type": st.sampled_from(["text/xml", "é", "application/vnd.heliograph.amqp"]),
        "response_topic": st.sampled_from(["answers", "a/b"]),
        "correlation_data": st.one_of(_identifiers.map(str.encode), st.binary(max_size=4)),
        "user_property": st.lists(st.tuples(_names, _texts), max_size=4, unique_by=lambda pair: pair[0]),
    },
)


@settings(max_examples=500, deadline=None)
@given(_properties, _bodies, st.integers(0, 2))
@example(
    {"content_type": "application/vnd.heliograph.amqp", "user_property": [("amqp.content_type", "é")]},
    b"\x00\x53\x77\xa1\x02hi",
    0,
)
def test_the_envelope_is_that_of_the_inline_runner(properties, body, qos):
    encoded = carried_properties(properties)
    span = message(b"orders/new", body, qos=qos, properties=encoded)
    (payload,) = amqp_messages(span, 0.0, WALL)
    inline = ServerEnvelope.of(payload, WALL / 1000)
    found = message_properties(encoded) if encoded else None
    row = {"payload": body, "topic": "orders/new", "qos": qos}
    if found is not None:
        row |= {name: value for name, value in found._asdict().items() if value is not None}
    (spark,) = envelopes_of(stream_rows([row]))
    assert as_seen(spark) == as_seen(inline)


def as_seen(envelope):
    """What a flow sees; the place is for identifiers that are made anew."""
    return {each.name: getattr(envelope, each.name) for each in fields(Envelope) if each.name != "place"}


def test_a_message_without_an_identifier_has_its_place_to_make_some_from():
    (envelope,) = envelopes_of(stream_rows([b"x"], partition=3))
    assert envelope.message_id == b""
    assert envelope.place == b"s/3/0"


def test_answers_go_to_queues_that_say_so():
    rows = stream_rows([{"payload": b"x", "reply_to": "queue://ANSWERS"}, {"payload": b"x", "reply_to": "answers"}])
    assert [envelope.reply_to for envelope in envelopes_of(rows)] == ["ANSWERS", "topic://answers"]


def test_a_message_lives_as_long_as_it_was_meant_to_when_it_came():
    rows = stream_rows([{"payload": b"x", "expiry": 60_000}, b"x", {"payload": b"x", "expiry": 30}])
    assert [envelope.expiry for envelope in envelopes_of(rows)] == [600, -1, 0]


def test_parts_of_a_batch_have_their_own_properties():
    rows = stream_rows([{"payload": b"x", "properties": {"n": str(n), "m": "m"}} if n % 3 else b"y" for n in range(20)])
    whole = envelopes_of(rows)
    parts = [envelope for start in range(0, 20, 7) for envelope in envelopes_of(rows.slice(start, 7))]
    assert parts == whole
    assert [envelope.properties.get("n") for envelope in whole[:4]] == [None, "1", "2", None]


def test_a_payload_is_all_that_is_needed():
    (envelope,) = envelopes_of(pa.RecordBatch.from_pydict({"payload": pa.array([b"x"])}))
    assert replace(envelope, priority=0) == Envelope(b"x")
