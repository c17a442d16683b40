"""Messages as bytes are written, read, outlined, and sent on to other addresses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.amqp.errors import ProtocolError
from heliograph.amqp.messages import encoded, jms_kinds
from heliograph.amqp.messages.encoded import Readdressing, outlines
from heliograph.amqp.messages.message import Data, Message, Sequence, Value, encode_message

PROPERTIES = st.dictionaries(st.text(max_size=5), st.integers(-5, 5) | st.text(max_size=5), max_size=3)
WRITTEN = st.fixed_dictionaries(
    {"to": st.text(max_size=20), "text": st.booleans(), "persistent": st.booleans(), "priority": st.integers(0, 9)},
    optional={
        "message_id": st.text(max_size=20),
        "properties": PROPERTIES,
        "user_id": st.binary(max_size=5),
        "correlation_id": st.text(max_size=5),
        "created": st.integers(0, 2**40),
    },
)
BODIES = st.text(max_size=400).map(str.encode)


@pytest.mark.parametrize("text", [True, False])
@pytest.mark.parametrize("size", [0, 1, 255, 256, 70000])
def test_what_is_written_is_what_is_read(text, size):
    body = b"x" * size
    payload = encoded.write(
        body,
        to="q",
        text=text,
        priority=3,
        ttl=1000,
        created=5000,
        message_id=b"id",
        correlation_id=b"co",
        user_id=b"me",
        subject="s",
        reply_to="back",
        content_type="text/xml",
        properties={"a": 1},
        annotations={"x-opt-why": "so"},
    )
    read = encoded.read(payload)
    assert read.body == body
    assert read.kind == (encoded.TEXT if text else encoded.BYTES)
    assert (read.message_id, read.correlation_id, read.user_id) == (b"id", b"co", b"me")
    assert (read.to, read.subject, read.reply_to, read.content_type) == ("q", "s", "back", "text/xml")
    assert (read.created, read.expires, read.properties) == (5000, 6000, {"a": 1})
    assert encoded.front(payload) == read.front
    assert read.front.annotations["x-opt-why"] == "so"


@given(WRITTEN, BODIES)
def test_an_outline_says_what_reading_says(fields, body):
    payload = encoded.write(body, **fields)
    (seen,) = outlines([payload])
    read = encoded.read(payload)
    assert seen is not None
    assert (seen.persistent, seen.priority, seen.failed) == (read.front.persistent, read.front.priority, 0)
    assert (seen.message_id.decode(), seen.text) == (read.message_id or "", read.kind == encoded.TEXT)
    assert payload[seen.body :] == read.body
    assert (encoded.own_properties(seen.own) if seen.own else {}) == read.properties


def test_a_message_of_another_shape_has_no_outline():
    usual, other = encoded.write(b"x", to="q"), encoded.write(b"x", to="q", message_id=b"\xff")
    assert [seen is None for seen in outlines([usual, other, usual])] == [False, True, False]


@given(WRITTEN, BODIES, st.text(min_size=1, max_size=20))
def test_a_new_address_changes_nothing_else(fields, body, to):
    payload = encoded.write(body, **fields)
    (seen,) = outlines([payload])
    again = Readdressing(to, jms_kinds.TOPIC)(payload, seen.at)
    assert again == encoded.write(body, **{**fields, "to": to, "to_kind": jms_kinds.TOPIC})


def test_dead_letters_are_not_sent_on_as_they_are():
    payload = encoded.write(b"x", to="q", annotations={"x-opt-dead-letter-reason": "expired"})
    (seen,) = outlines([payload])
    assert Readdressing("other")(payload, seen.at) is None


@pytest.mark.parametrize("own", [b"", b"\x40", b"\xc1\x05", b"\xa1\x01a"], ids=bytes.hex)
def test_properties_that_are_no_map_are_a_protocol_error(own):
    with pytest.raises(ProtocolError):
        encoded.own_properties(own)


@given(WRITTEN, BODIES, BODIES, st.text(min_size=1, max_size=20))
def test_another_body_changes_that_and_the_time_and_nothing_else(fields, body, other, to):
    payload = encoded.write(body, **fields)
    (seen,) = outlines([payload])
    again = Readdressing(to).with_body(payload, seen, other, 7)
    expected = encoded.write(other, **{**fields, "to": to, "created": 7})
    assert again == (expected if "created" in fields else None)  # without a time there is none to change


@pytest.mark.parametrize("more", [{"content_type": "text/xml"}, {"correlation_id": "co", "content_type": None}])
def test_another_body_may_have_a_type_and_a_correlation_id_before_its_time(more):
    payload = encoded.write(b"x", to="q", created=5, **more)
    (seen,) = outlines([payload])
    assert Readdressing("r").with_body(payload, seen, b"y", 7) == encoded.write(b"y", to="r", created=7, **more)


@pytest.mark.parametrize("more", [{"reply_to": "back"}, {"ttl": 5}, {"subject": "s"}, {"correlation_id": b"\xff"}])
def test_what_needs_more_than_another_body_is_left_to_be_written_anew(more):
    payload = encoded.write(b"x", to="q", created=5, **more)
    (seen,) = outlines([payload])
    assert Readdressing("r").with_body(payload, seen, b"y", 7) is None


def test_an_address_that_does_not_fit_into_the_short_form_is_left_to_be_written_anew():
    payload = encoded.write(b"x", to="q")
    (seen,) = outlines([payload])
    assert Readdressing("r" * 250)(payload, seen.at) is None


def test_messages_with_one_front_after_another_are_sent_on():
    send_on = Readdressing("r")
    for fields in ({"to": "a"}, {"to": "a"}, {"to": "b", "user_id": b"me"}, {"to": "b", "persistent": False}):
        payload = encoded.write(b"x", **fields)
        (seen,) = outlines([payload])
        assert send_on(payload, seen.at) == encoded.write(b"x", **{**fields, "to": "r"})


def test_long_bodies_and_properties_have_an_outline():
    payload = encoded.write(bytes(300), to="q", properties={f"name {n}": n for n in range(50)})
    (seen,) = outlines([payload])
    assert payload[seen.body :] == bytes(300)
    assert len(encoded.own_properties(seen.own)) == 50


@pytest.mark.parametrize("end", [3, 8, 40, -1])
def test_a_message_that_is_cut_off_has_no_outline(end):
    assert list(outlines([encoded.write(b"x" * 20, to="q", message_id="m")[:end]])) == [None]


def test_bodies_of_other_kinds_are_there_as_values():
    for body, value in ((Value({"a": 1}), {"a": 1}), (Sequence([1, 2]), [1, 2]), (Value(None), None)):
        read = encoded.read(encode_message(Message(body)))
        assert (read.kind, read.body) == (encoded.OTHER, value)


def test_the_front_of_a_message_in_an_unusual_form_is_read_with_the_message():
    payload = encode_message(Message(Data(b"x"), durable=True, delivery_annotations={"x-opt-a": 1}))
    assert encoded.front(payload).persistent is True
