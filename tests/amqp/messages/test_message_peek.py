"""What a broker sees of messages without decoding them."""

import random
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp.strategies import damaged, messages, quick
from heliograph.amqp.codec.values import Symbol, Timestamp, UInt, ULong
from heliograph.amqp.errors import DecodeError, ProtocolError
from heliograph.amqp.messages.message import (
    Data,
    Message,
    Value,
    decode_message,
    encode_message,
)
from heliograph.amqp.messages.message_peek import (
    Peeked,
    address_at,
    peek,
    peek_run,
    with_durable_and_priority,
    with_header,
)
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
    data = damaged(encode_message(message), chance, cut=True)
    for read in (peek, lambda payload: with_header(payload, delivery_count=1)):
        with suppress(ProtocolError):
            read(data)


ADDRESSED = [None, "q", "x" * 255, "x" * 256, "é" * 200]


@pytest.mark.parametrize("to", ADDRESSED, ids=lambda to: f"{len(to)} characters" if to else "none")
@pytest.mark.parametrize("header", [{}, {"durable": True}], ids=["without a header", "with a header"])
@pytest.mark.parametrize("annotations", [None, {"x-opt-a": 1}, {"x-opt-a": "x" * 300}], ids=["none", "short", "long"])
def test_the_address_is_found_without_decoding(to, header, annotations):
    payload = encode_message(Message(Data(b"x"), **header, message_annotations=annotations, message_id="m", to=to))
    start, end = address_at(payload)
    assert payload[start:end].decode() == (to or "")


@pytest.mark.parametrize("identifier", [ULong(5), ULong(2**40), b"x" * 300, "x" * 300])
def test_fields_of_any_width_before_the_address_are_stepped_over(identifier):
    payload = encode_message(Message(Data(b"x"), message_id=identifier, user_id=b"me", to="q"))
    start, end = address_at(payload)
    assert payload[start:end] == b"q"


@pytest.mark.parametrize("payload", ["005373c00803a000a000", "005373c00803a000a000b1", "005373d0000000", "005373c0"])
def test_properties_that_are_cut_off_are_a_decode_error(payload):
    with pytest.raises(DecodeError, match="cut off"):
        address_at(bytes.fromhex(payload))


@pytest.mark.parametrize("section", ["005370a0", "005370c0", "005370d0ff", "005372a100", "005372c1"])
def test_a_section_before_the_properties_that_is_no_list_or_map_is_a_decode_error(section):
    with pytest.raises(DecodeError):
        peek(bytes.fromhex(section))


def test_a_header_with_a_long_descriptor_is_found():
    for descriptor in ("800000000000000070", "a310616d71703a6865616465723a6c697374"):
        payload = bytes.fromhex("00" + descriptor + "c0020141" + "005375a000")
        assert peek(payload).durable is True
    assert peek(bytes.fromhex("00800000000000000075a000")).header_end == 0


def test_a_header_is_a_list_of_few_bytes():
    with pytest.raises(DecodeError, match="at most 256 bytes"):
        peek(bytes.fromhex("005370d00000012c00000001b000000123") + bytes(0x123) + bytes.fromhex("00"))
    with pytest.raises(DecodeError, match="is a list"):
        peek(bytes.fromhex("005370c1010000"))


def test_durability_and_priority_are_changed_and_nothing_else():
    payload = encode_message(Message(Data(b"x"), ttl=5, delivery_count=2, to="q"))
    changed = decode_message(with_durable_and_priority(payload, True, 7))
    assert changed == Message(Data(b"x"), durable=True, priority=7, ttl=5, delivery_count=2, to="q")
