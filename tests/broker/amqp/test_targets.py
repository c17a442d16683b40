"""Addresses are read from runs of messages, most of which have that of the one before."""

from hypothesis import given
from hypothesis import strategies as st

from heliograph.amqp.codec.values import Symbol
from heliograph.amqp.messages.message import Data, Message, encode_message
from heliograph.broker.amqp.targets import addresses_of

ADDRESSES = st.sampled_from([None, "", "a", "a/b", "topic://a", "x" * 300])
MESSAGES = st.builds(
    Message,
    body=st.just(Data(b"topic://a")),
    durable=st.booleans(),
    message_annotations=st.sampled_from([None, {Symbol("x-opt-a"): "topic://a"}]),
    message_id=st.sampled_from([None, "a", 7, b"topic://a"]),
    user_id=st.sampled_from([None, b"me"]),
    to=ADDRESSES,
    subject=st.sampled_from([None, "a", "b"]),
)


@given(st.lists(st.tuples(MESSAGES, st.integers(1, 3)), max_size=8))
def test_each_message_has_its_own_address(messages: list[tuple[Message, int]]) -> None:
    run = [message for message, times in messages for _ in range(times)]
    assert addresses_of([encode_message(message) for message in run]) == [message.to for message in run]
