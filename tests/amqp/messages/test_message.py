"""Whole messages."""

import random
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp.strategies import damaged, messages, quick
from heliograph.amqp.codec.encoding import encode
from heliograph.amqp.codec.performatives import Declare, Discharge
from heliograph.amqp.codec.values import Described, Symbol, ULong
from heliograph.amqp.errors import ProtocolError
from heliograph.amqp.messages.message import (
    Data,
    Message,
    Sequence,
    Value,
    decode_message,
    encode_message,
    transaction_request,
)
from heliograph.amqp.messages.message_peek import peek, with_header


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
    assert peek(data).durable
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
        assert transaction_request(encode_message(Message(Value(asked)))) == asked
    for other in (Value(None), Data(b"x"), Value(Described(ULong(0x24), []))):
        with pytest.raises(ProtocolError):
            transaction_request(encode_message(Message(other)))


@quick
@given(messages, st.randoms(use_true_random=False))
def test_damaged_messages_raise_nothing_but_protocol_errors(message, chance: random.Random):
    data = damaged(encode_message(message), chance, cut=True)
    with suppress(ProtocolError):
        decode_message(data)
