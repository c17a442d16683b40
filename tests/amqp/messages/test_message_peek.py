"""What a broker sees of messages without decoding them."""

import random
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp.strategies import messages, quick
from heliograph.amqp.codec.values import Symbol, Timestamp, UInt, ULong
from heliograph.amqp.errors import ProtocolError
from heliograph.amqp.messages.message import (
    Data,
    Message,
    Value,
    decode_message,
    encode_message,
)
from heliograph.amqp.messages.message_peek import Peeked, peek, peek_run, with_header
from heliograph.amqp.messages.sections import Header


@pytest.mark.parametrize("payload", [b"", b"hello", b"\xff" * 20, b"\x00\x53\x79\x40", b"\x00\x00\x00"], ids=bytes.hex)
def test_what_does_not_begin_like_a_message_is_none(payload):
    with pytest.raises(ProtocolError, match="begins with one of its sections"):
        peek(payload)


@quick
@given(messages, st.none() | st.integers(1, 1 << 50), st.none() | st.integers(1, 1 << 50))
def test_peek_sees_what_is_in_the_message(message, deliver_at, delay):
    annotations = {}
    if deliver_at:
        annotations[Symbol("x-opt-delivery-time")] = Timestamp(deliver_at)
    if delay:
        annotations[Symbol("x-opt-delivery-delay")] = ULong(delay)
    message.message_annotations = annotations or message.message_annotations
    payload = encode_message(message)
    seen = peek(payload)
    standard = seen._replace(durable=bool(seen.durable), priority=4 if seen.priority is None else seen.priority)
    assert standard == Peeked(
        message.durable,
        message.priority,
        message.ttl or 0,
        message.delivery_count,
        seen.header_end,
        deliver_at or 0,
        delay or 0,
        message.absolute_expiry_time or 0,
    )
    header = Header(message.durable, message.priority, message.ttl, message.first_acquirer, message.delivery_count)
    assert payload[: seen.header_end] == (b"" if header == Header() else header.encoded())


@pytest.mark.parametrize(
    ("header", "durable", "priority"),
    [
        (b"", None, None),
        (b"\x00Sp\x45", None, None),
        (b"\x00Sp\xc0\x02\x01A", True, None),
        (b"\x00Sp\xc0\x02\x01B", False, None),
        (b"\x00Sp\xc0\x04\x02@P\x05", None, 5),
        (b"\x00Sp\xc0\x04\x02BP\x04", False, 4),
        (b"\x00Sp\xc0\x05\x03@@R\x64", None, None),
    ],
)
def test_what_a_message_does_not_say_is_told_from_what_is_as_usual(header, durable, priority):
    seen = peek(header + encode_message(Message(body=Data(b"x"))))
    assert (seen.durable, seen.priority) == (durable, priority)


variants = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "message_id": st.none() | st.text(max_size=5) | st.binary(max_size=5) | st.integers(0, 300).map(ULong),
            "absolute_expiry_time": st.none() | st.just(Timestamp(5)),
            "creation_time": st.none() | st.integers(1, 1 << 50).map(Timestamp),
            "correlation_id": st.none() | st.text(max_size=3),
            "priority": st.sampled_from([4, 5]),
            "group_sequence": st.none() | st.just(UInt(1)),
            "body": st.binary(max_size=300).map(Data),
        },
    ),
    max_size=12,
)


@quick
@given(messages, variants)
def test_peek_run_sees_what_peek_sees_of_each_message(message, changes):
    run = [encode_message(replace(message, **changed)) for changed in changes]
    assert list(peek_run(run)) == [peek(payload) for payload in run]


@quick
@given(
    st.lists(
        st.fixed_dictionaries(
            {"body": st.binary(max_size=20).map(Data) | st.text(max_size=5).map(Value)},
            optional={
                "durable": st.just(True),
                "application_properties": st.just({"n": 1}),
                "message_annotations": st.sampled_from([{}, {Symbol("a"): 1}, {Symbol("x-opt-delivery-delay"): 5}]),
                "absolute_expiry_time": st.just(Timestamp(5)),
            },
        ),
        max_size=12,
    )
)
def test_peek_run_does_so_for_messages_without_properties(run):
    payloads = [encode_message(Message(**fields)) for fields in run]
    assert list(peek_run(payloads)) == [peek(payload) for payload in payloads]


@quick
@given(messages, st.integers(0, 100), st.none() | st.integers(0, 1000))
def test_another_header_leaves_every_other_byte(message, delivery_count, ttl):
    payload = encode_message(message)
    changed = with_header(payload, delivery_count=delivery_count, ttl=ttl)
    assert changed[peek(changed).header_end :] == payload[peek(payload).header_end :]
    message.delivery_count = delivery_count
    message.ttl = message.ttl if ttl is None else ttl
    assert decode_message(changed) == message


@quick
@given(messages, st.randoms(use_true_random=False))
def test_damaged_messages_raise_nothing_but_protocol_errors(message, chance: random.Random):
    data = bytearray(encode_message(message))
    for _ in range(chance.randint(1, 3)):
        data[chance.randrange(len(data))] = chance.randrange(256)
    del data[chance.randint(0, len(data)) :]
    for read in (peek, lambda payload: with_header(payload, delivery_count=1)):
        with suppress(ProtocolError):
            read(bytes(data))
