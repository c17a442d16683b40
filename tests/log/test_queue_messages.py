"""AMQP messages and what is known of them are the same again when they have been written and read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.errors import Problem
from heliograph.log.messages import (
    AMQP_MESSAGES,
    Receivers,
    UniformMessages,
    decode_uniform_messages,
    encode_uniform_messages,
    form_of,
    offset_for,
    publisher_of,
    qos_and_retain,
    readdressed,
    receivers_of,
)
from heliograph.log.queue_messages import (
    QueueMessages,
    decode_queue_messages,
    encode_queue_messages,
    single_queue_message,
)
from heliograph.log.ranges import Ranges
from log.test_messages import any_messages, any_receivers

U8, U64 = st.integers(0, 255), st.integers(0, 2**64 - 1)
ROW = st.tuples(st.binary(max_size=40), U8, U8, st.just(0) | U64, st.just(0) | U64)
ROWS = st.lists(ROW, min_size=1, max_size=12)


def columns(rows) -> tuple:
    return tuple(list(column) for column in zip(*rows, strict=True))


def rows_of(messages: QueueMessages) -> list[tuple]:
    payloads = [messages.message(index) for index in range(messages.number)]
    known = messages.priorities, messages.flags, messages.expires, messages.deliver_at
    return list(zip(payloads, *known, strict=True))


def body_of(messages: QueueMessages, receivers: Receivers) -> bytes:
    return encode_queue_messages(messages, receivers) + messages.data


@given(ROWS, any_receivers())
def test_any_messages_of_any_lengths_can_be_written_down(rows, receivers) -> None:
    messages = QueueMessages.of(*columns(rows))
    assert rows_of(messages) == rows
    body = body_of(messages, receivers)
    assert form_of(body) == AMQP_MESSAGES
    found = decode_queue_messages(body, len(rows))
    assert rows_of(found) == rows
    assert list(found.sizes) == [len(row[0]) for row in rows]


@given(ROWS, any_receivers(), st.integers(0, 2**32 - 1))
def test_receivers_are_found_as_in_the_first_form(rows, receivers, other) -> None:
    body = body_of(QueueMessages.of(*columns(rows)), receivers)
    assert receivers_of(body) == receivers
    for cursor, offset in zip(receivers.cursors, receivers.offsets, strict=True):
        assert offset_for(body, cursor) == offset
    if other not in receivers.cursors:
        assert offset_for(body, other) is None


@given(ROWS, any_messages(), any_receivers(), any_receivers())
def test_other_receivers_change_nothing_else_of_either_form(rows, spans, before, after) -> None:
    queued = QueueMessages.of(*columns(rows))
    assert readdressed(body_of(queued, before), after) == body_of(queued, after)
    assert (
        readdressed(encode_uniform_messages(spans, before) + spans.data, after)
        == encode_uniform_messages(spans, after) + spans.data
    )


@given(ROWS, any_receivers())
def test_whoever_revives_mqtt_sessions_finds_nothing_for_them(rows, receivers) -> None:
    body = body_of(QueueMessages.of(*columns(rows)), receivers)
    assert qos_and_retain(body) == (0, False)
    assert publisher_of(body) == 0


@given(ROWS, st.data())
def test_of_some_messages_only_the_bytes_can_be_kept(rows, data) -> None:
    needed = data.draw(st.sets(st.integers(0, len(rows) - 1)))
    nobody = Receivers((), (), ())
    messages = decode_queue_messages(body_of(QueueMessages.of(*columns(rows)), nobody), len(rows))
    left = messages.only(Ranges((index, index + 1) for index in needed))
    expected = [row if index in needed else (b"", *row[1:]) for index, row in enumerate(rows)]
    assert rows_of(decode_queue_messages(body_of(left, nobody), len(rows))) == expected


def test_what_never_expires_and_has_no_time_costs_no_room_for_it() -> None:
    nobody = Receivers((), (), ())
    plain = QueueMessages.of([b"x"] * 1000, bytes(1000), bytes(1000))
    assert len(body_of(plain, nobody)) == 36 + 1000 * (4 + 1 + 1 + 1)
    expiring = QueueMessages.of([b"x"] * 1000, bytes(1000), bytes(1000), [5] * 1000)
    assert len(body_of(expiring, nobody)) == len(body_of(plain, nobody)) + 8000


def test_a_single_message_is_not_copied_before_it_is_written() -> None:
    large = bytes(1 << 20)
    assert QueueMessages.of([large], b"\4", b"\0").data is large


def test_one_form_is_not_taken_for_the_other() -> None:
    nobody = Receivers((), (), ())
    span = UniformMessages(b"t", b"data", 1, 0, 1, 0, False, False, False, False, b"", 0, 0)
    with pytest.raises(Problem, match=r"expected a record of AMQP messages \(form 2\), found form 1"):
        decode_queue_messages(encode_uniform_messages(span, nobody) + span.data, 1)
    with pytest.raises(Problem, match=r"expected a record of MQTT packets \(form 1\), found form 2"):
        decode_uniform_messages(body_of(QueueMessages.of([b"x"], b"\4", b"\0"), nobody), 1)


@pytest.mark.parametrize(
    ("columns", "receivers", "simple"),
    [
        (([7], [0]), Receivers([3], [9], [0]), True),
        (([7], [0], [5], [0]), Receivers([3], [9], [0]), False),
        (([7], [0], [0], [5]), Receivers([3], [9], [0]), False),
        (([7], [0]), Receivers([3, 4], [9, 0], [0, 0]), False),
    ],
)
def test_a_message_alone_for_one_receiver_is_seen_at_once(columns, receivers, simple) -> None:
    messages = QueueMessages.of([b"hello"], *columns)
    body = encode_queue_messages(messages, receivers) + messages.data
    alone = single_queue_message(body)
    assert (alone is not None) is simple
    if alone is not None:
        *known, start = alone
        assert (known, body[start:]) == ([3, 9, 5, 7], b"hello")
