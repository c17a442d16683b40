"""Messages and their receivers are the same again when they have been written and read."""

from hypothesis import given
from hypothesis import strategies as st

from heliograph.log.messages import (
    Receivers,
    UniformMessages,
    decode_uniform_messages,
    encode_uniform_messages,
    offset_for,
    publisher_of,
    qos_and_retain,
    receivers_of,
)

RECEIVER = st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1), st.integers(0, 2**16 - 1))


@st.composite
def any_messages(draw):
    number, size = draw(st.integers(1, 20)), draw(st.integers(0, 30))
    head = draw(st.integers(0 if number == 1 else 1, 30))  # several messages are packets, and those have a header
    data = draw(st.binary(min_size=number * (head + size), max_size=number * (head + size)))
    return UniformMessages(
        topic=draw(st.binary(max_size=40)),
        data=data,
        number=number,
        head=head,
        qos=draw(st.integers(0, 2)),
        id_at=draw(st.integers(0, 2**32 - 1)),
        version5=draw(st.booleans()),
        retain=draw(st.booleans()),
        verbatim=draw(st.booleans()),
        is_retained=draw(st.booleans()),
        properties=draw(st.binary(max_size=60)),
        publisher=draw(st.integers(0, 2**32 - 1)),
        expires=draw(st.integers(0, 2**64 - 1)),
    )


@st.composite
def any_receivers(draw):
    rows = draw(st.lists(RECEIVER, max_size=8, unique_by=lambda row: row[0]))
    return Receivers(*(tuple(row[column] for row in rows) for column in range(3)))


@given(any_messages(), any_receivers())
def test_any_messages_for_anybody_can_be_written_down(messages, receivers) -> None:
    body = encode_uniform_messages(messages, receivers) + messages.data
    assert decode_uniform_messages(body, messages.number) == messages
    assert receivers_of(body) == receivers
    assert qos_and_retain(body) == (messages.qos, messages.retain)
    assert publisher_of(body) == messages.publisher


@given(any_messages(), any_receivers(), st.integers(0, 2**32 - 1))
def test_the_offset_for_each_receiver_is_found_and_none_for_others(messages, receivers, other) -> None:
    body = encode_uniform_messages(messages, receivers) + messages.data
    for cursor, offset in zip(receivers.cursors, receivers.offsets, strict=True):
        assert offset_for(body, cursor) == offset
    if other not in receivers.cursors:
        assert offset_for(body, other) is None


@given(any_messages())
def test_payloads_are_what_follows_each_head(messages) -> None:
    stride = len(messages.data) // messages.number
    packets = [messages.data[n * stride : (n + 1) * stride] for n in range(messages.number)]
    assert messages.payloads == [packet[messages.head :] for packet in packets]
