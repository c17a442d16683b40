"""Messages of a server as envelopes, and envelopes as messages of a server."""

import pickle
from dataclasses import fields, replace
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.client import encoded
from heliograph.client.errors import MessageFormat
from heliograph.flow.engine.outcome import DeadLetter, Publish, Put
from heliograph.flow.formats.envelope import Envelope
from heliograph.flow.inline.conversion import ServerEnvelope, payload_of

identifiers = st.one_of(
    st.binary(max_size=24), st.text("abc:-123", max_size=30).map(str.encode), st.uuids().map(lambda each: each.bytes)
)
envelopes = st.builds(
    Envelope,
    body=st.one_of(st.binary(max_size=600), st.text(max_size=300).map(str.encode)),
    format=st.sampled_from(["", "MQSTR", "MQHRF2", "MYFORM"]),
    ccsid=st.sampled_from([1208, 500]),
    encoding=st.sampled_from([546, 273]),
    message_id=identifiers,
    correlation_id=identifiers,
    reply_to=st.sampled_from(["", "REPLIES", "topic://news"]),
    persistent=st.booleans(),
    priority=st.integers(0, 9),
    expiry=st.sampled_from([-1, 10, 36000]),
    message_type=st.sampled_from([1, 2, 4, 8]),
    user=st.sampled_from(["", "müller"]),
    content_type=st.sampled_from(["", "text/xml"]),
    group_id=identifiers,
    mqmd=st.fixed_dictionaries(
        {},
        optional={
            "Report": st.integers(-(2**31), 2**31 - 1),
            "Feedback": st.integers(0, 999),
            "ReplyToQMgr": st.text("QM1", min_size=1, max_size=8),
            "AccountingToken": st.binary(min_size=1, max_size=32),
        },
    ),
    properties=st.dictionaries(
        st.text("abc", min_size=1, max_size=5), st.one_of(st.integers(0, 9), st.text(max_size=5))
    ),
)
NOW = 1_700_000_000_000


def arrived(payload: bytes) -> ServerEnvelope:
    return ServerEnvelope.of(payload, NOW / 1000)


def sent(envelope: Envelope, queue: str = "Q") -> bytes:
    return payload_of(Put(queue, envelope, True, "node"), NOW, {})


@settings(max_examples=60)
@given(envelopes)
def test_what_is_sent_arrives_as_it_was(envelope):
    found = arrived(sent(envelope))
    for field in fields(Envelope):
        if field.name not in {"created", "topic"}:
            assert getattr(found, field.name) == getattr(envelope, field.name), field.name


@settings(max_examples=60)
@given(envelopes)
def test_passing_a_message_on_changes_nothing_but_where_it_goes(envelope):
    before = arrived(sent(envelope, "IN"))
    _ = before.message_id, before.format
    after = encoded.read(sent(before, "OUT"))
    assert after.to == "queue://OUT"
    known = encoded.read(sent(envelope, "IN"))
    assert after == known._replace(to="queue://OUT", created=after.created, expires=after.expires)


bodies = st.one_of(st.binary(max_size=600), st.text(max_size=300).map(str.encode))


@settings(max_examples=150)
@given(envelopes, bodies)
def test_another_body_changes_nothing_else(envelope, body):
    came = arrived(sent(envelope, "IN"))
    changed = came.with_body(body, came.format)
    written = Envelope.with_body(arrived(sent(envelope, "IN")), body, came.format)
    assert encoded.read(sent(changed, "OUT")) == encoded.read(sent(written, "OUT"))
    assert pickle.loads(pickle.dumps(changed)) == written
    assert replace(changed, priority=3).body == body
    for field in fields(Envelope):
        assert getattr(changed, field.name) == getattr(written, field.name), field.name


@pytest.mark.parametrize("size", [0, 10, 255, 256, 70000])
@pytest.mark.parametrize("text", [True, False])
def test_a_message_with_another_body_is_sent_without_being_read(size, text):
    payload = encoded.write(
        b"<a/>" * 100,
        to="queue://IN",
        text=text,
        message_id="ID:1",
        user_id=b"me",
        correlation_id="ID:0",
        content_type="text/xml",
        created=NOW - 5000,
        properties={"JMS_IBM_Encoding": 273},
        group_id="G",
        group_sequence=3,
    )
    envelope = arrived(payload)
    body = b"x" * size
    changed = envelope.with_body(body, envelope.format)
    assert (changed.ccsid, changed.encoding, changed.properties) == (1208, 273, {})
    assert encoded.read(sent(changed, "OUT")) == encoded.read(payload)._replace(
        to="queue://OUT", body=body, created=NOW
    )
    with pytest.raises(AttributeError):
        object.__getattribute__(envelope, "correlation_id")


def test_properties_that_are_none_make_a_message_unreadable():
    payload = encoded.write(b"x", to="queue://IN", properties={"a": 1})
    broken = payload.replace(b"\xa1\x01a", b"\x3f\x01a")
    assert broken != payload
    with pytest.raises(MessageFormat):
        _ = arrived(broken).body


@settings(max_examples=60)
@given(envelopes)
def test_an_envelope_that_arrived_can_be_pickled_and_changed(envelope):
    found = arrived(sent(envelope))
    again = pickle.loads(pickle.dumps(found))
    changed = replace(again, priority=3)
    assert (again.body, changed.body, changed.priority) == (envelope.body, envelope.body, 3)
    assert pickle.loads(pickle.dumps(changed)).priority == 3


def test_a_message_that_was_looked_at_is_sent_without_being_read():
    payload = encoded.write(b"x", to="queue://IN", message_id="ID:1", persistent=False, created=NOW)
    envelope = arrived(payload)
    assert (envelope.persistent, envelope.backout_count, envelope.message_id, envelope.format) == (
        False,
        0,
        b"ID:1",
        "",
    )
    with pytest.raises(AttributeError):
        object.__getattribute__(envelope, "body")
    assert encoded.read(sent(envelope, "OUT")) == encoded.read(payload)._replace(to="queue://OUT")
    with pytest.raises(AttributeError):
        object.__getattribute__(envelope, "body")


@pytest.mark.parametrize(
    ("identifier", "expected"),
    [
        ("ID:x", b"ID:x"),
        (b"\x00\x01", b"\x00\x01"),
        (UUID(int=5), b"ID:AMQP_UUID:00000000-0000-0000-0000-000000000005"),
        (7, b"ID:AMQP_ULONG:7"),
        ("ID:AMQP_ULONG:", b"ID:AMQP_ULONG:"),
        ("ID:AMQP_ULONG:07", b"ID:AMQP_ULONG:07"),
        ("ID:AMQP_UUID:5", b"ID:AMQP_UUID:5"),
        (None, b""),
    ],
)
def test_identifiers_are_bytes_in_a_flow_and_what_they_were_outside(identifier, expected):
    envelope = arrived(encoded.write(b"", to="q", message_id=identifier))
    assert envelope.message_id == expected
    assert encoded.read(sent(replace(envelope, priority=1))).message_id == identifier


def test_a_message_from_a_topic_says_which():
    assert arrived(encoded.write(b"", to="topic://news/today", to_kind=1)).topic == "news/today"


def test_a_publication_goes_to_its_topic():
    read = encoded.read(payload_of(Publish("news", Envelope(b"x"), True, "node", retain=True), NOW, {}))
    assert (read.to, read.front.annotations["x-opt-retain-message"]) == ("topic://news", True)


def test_a_dead_letter_says_where_it_was_and_why():
    letter = DeadLetter("DLQ", Envelope(b"x", backout_count=2), "why", "all of it", "in")
    annotations = encoded.read(payload_of(letter, NOW, {"in": "IN"})).front.annotations
    assert annotations["x-opt-dead-letter-queue"] == "IN"
    assert annotations["x-opt-dead-letter-reason"] == "why"
    assert annotations["x-opt-dead-letter-count"] == 2


def test_time_that_is_left_is_counted_from_when_the_message_was_taken():
    payload = encoded.write(b"", to="q", ttl=5000, created=NOW - 1000)
    assert arrived(payload).expiry == 40
