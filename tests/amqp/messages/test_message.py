"""Messages, whole and at a glance."""

import random
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp.strategies import messages, quick
from heliograph.amqp.encoding import encode
from heliograph.amqp.errors import ProtocolError
from heliograph.amqp.messages.message import (
    Data,
    Message,
    Sequence,
    Value,
    coordination,
    decode_message,
    encode_message,
)
from heliograph.amqp.messages.peek import Glance, glance, glances, with_header
from heliograph.amqp.messages.sections import Header
from heliograph.amqp.performatives import Declare, Discharge
from heliograph.amqp.values import Described, Symbol, Timestamp, UInt, ULong


def test_known_bytes():
    message = Message(Data(b"hi"), durable=True, message_id="1", application_properties={"a": True})
    assert encode_message(message).hex() == (
        "005370c0020141" + "005373c00401a10131" + "005374c10502a1016141" + "005375a0026869"
    )


@quick
@given(messages)
def test_what_is_written_is_read_again(message):
    assert decode_message(encode_message(message)) == message


def test_sections_may_have_their_names_as_descriptors():
    data = encode(Described(Symbol("amqp:header:list"), [True])) + encode(Described(Symbol("amqp:amqp-value:*"), 1))
    assert decode_message(data) == Message(Value(1), durable=True)
    assert glance(data).durable
    assert decode_message(with_header(data, delivery_count=2)) == Message(Value(1), durable=True, delivery_count=2)


def test_data_and_sequences_in_pieces_are_joined():
    assert decode_message(b"\x00\x53\x75\xa0\x01a\x00\x53\x75\xa0\x01b").body == Data(b"ab")
    assert decode_message(b"\x00\x53\x76\xc0\x02\x01\x41\x00\x53\x76\xc0\x02\x01\x42").body == Sequence([True, False])


@pytest.mark.parametrize(
    "sections",
    [[0x77, 0x70], [0x70, 0x70], [0x77, 0x77], [0x75, 0x77], [0x78, 0x77], [0x73, 0x72], [0x79], [0x6F]],
    ids=str,
)
def test_sections_out_of_order_are_no_message(sections):
    bodies = {0x70: [], 0x72: {}, 0x73: [], 0x75: b"", 0x77: None, 0x78: {}, 0x79: [], 0x6F: []}
    with pytest.raises(ProtocolError):
        decode_message(b"".join(encode(Described(ULong(code), bodies[code])) for code in sections))


@pytest.mark.parametrize(
    "section",
    [(0x70, {}), (0x70, ["x"]), (0x73, [None, "user"]), (0x73, [None] * 14), (0x74, []), (0x75, "text"), (0x76, {})],
    ids=str,
)
def test_sections_of_the_wrong_type_are_no_message(section):
    code, value = section
    with pytest.raises(ProtocolError):
        decode_message(encode(Described(ULong(code), value)))


def test_the_coordinator_takes_declare_and_discharge_and_nothing_else():
    for asked in (Declare(), Discharge(b"t", True)):
        assert coordination(encode_message(Message(Value(asked)))) == asked
    for other in (Value(None), Data(b"x"), Value(Described(ULong(0x24), []))):
        with pytest.raises(ProtocolError):
            coordination(encode_message(Message(other)))


@pytest.mark.parametrize("payload", [b"", b"hello", b"\xff" * 20, b"\x00\x53\x79\x40", b"\x00\x00\x00"], ids=bytes.hex)
def test_what_does_not_begin_like_a_message_is_none(payload):
    with pytest.raises(ProtocolError, match="begins with one of its sections"):
        glance(payload)


@quick
@given(messages, st.none() | st.integers(1, 1 << 50), st.none() | st.integers(1, 1 << 50))
def test_a_glance_sees_what_is_in_the_message(message, deliver_at, delay):
    annotations = {}
    if deliver_at:
        annotations[Symbol("x-opt-delivery-time")] = Timestamp(deliver_at)
    if delay:
        annotations[Symbol("x-opt-delivery-delay")] = ULong(delay)
    message.message_annotations = annotations or message.message_annotations
    payload = encode_message(message)
    seen = glance(payload)
    standard = seen._replace(durable=bool(seen.durable), priority=4 if seen.priority is None else seen.priority)
    assert standard == Glance(
        message.durable,
        message.priority,
        message.ttl or 0,
        message.delivery_count,
        seen.body_at,
        deliver_at or 0,
        delay or 0,
        message.absolute_expiry_time or 0,
    )
    header = Header(message.durable, message.priority, message.ttl, message.first_acquirer, message.delivery_count)
    assert payload[: seen.body_at] == (b"" if header == Header() else header.encoded())


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
    seen = glance(header + encode_message(Message(body=Data(b"x"))))
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
def test_a_run_at_a_glance_is_each_of_it_at_a_glance(message, changes):
    run = [encode_message(replace(message, **changed)) for changed in changes]
    assert list(glances(run)) == [glance(payload) for payload in run]


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
def test_a_run_of_messages_without_properties_is_each_of_it_at_a_glance(run):
    payloads = [encode_message(Message(**fields)) for fields in run]
    assert list(glances(payloads)) == [glance(payload) for payload in payloads]


@quick
@given(messages, st.integers(0, 100), st.none() | st.integers(0, 1000))
def test_another_header_leaves_every_other_byte(message, delivery_count, ttl):
    payload = encode_message(message)
    changed = with_header(payload, delivery_count=delivery_count, ttl=ttl)
    assert changed[glance(changed).body_at :] == payload[glance(payload).body_at :]
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
    for read in (decode_message, glance, lambda payload: with_header(payload, delivery_count=1)):
        with suppress(ProtocolError):
            read(bytes(data))
