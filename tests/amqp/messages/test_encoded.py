"""Messages as bytes are written, read, outlined, and sent on to other addresses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.amqp.errors import ProtocolError
from heliograph.amqp.messages import encoded, jms_kinds
from heliograph.amqp.messages.encoded import Readdressing, outlines

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
