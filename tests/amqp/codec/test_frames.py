"""The fast decoders of transfers and flows say what the decoder says, or leave it to that."""

import random

from hypothesis import given
from hypothesis import strategies as st

from amqp.strategies import composites, quick
from heliograph.amqp.codec.composite import resolve
from heliograph.amqp.codec.decoding import decode
from heliograph.amqp.codec.frames import SHORT_TRANSFER, decode_flow, decode_transfer
from heliograph.amqp.codec.performatives import Accepted, Flow, Transfer
from heliograph.amqp.errors import ProtocolError

uints = st.integers(0, 2**32 - 1) | st.integers(0, 300)
flags = st.sampled_from([None, True, False])
transfers = st.builds(
    Transfer,
    uints,
    st.none() | uints,
    st.none() | st.binary(max_size=32),
    st.none() | uints,
    flags,
    st.booleans(),
    state=st.sampled_from([None, None, Accepted()]),
    aborted=st.booleans(),
)


@given(transfers, st.binary(max_size=20), st.binary(max_size=5))
def test_a_transfer_is_what_the_decoder_makes_of_it(transfer: Transfer, payload: bytes, before: bytes) -> None:
    encoded = transfer.encoded()
    data = before + encoded + payload
    found = decode_transfer(data, len(before), len(data))
    plain = transfer.state is None and not transfer.aborted
    assert (found is not None) == plain
    if found is not None:
        assert found == (resolve(decode(encoded)[0]), len(before) + len(encoded))


@given(st.binary(max_size=40), st.integers(0, 50))
def test_of_any_bytes_it_makes_the_same_as_the_decoder_or_nothing(rest: bytes, behind: int) -> None:
    data = SHORT_TRANSFER + rest + bytes(behind)
    end = len(SHORT_TRANSFER + rest)
    found = decode_transfer(data, 0, end)
    if found is not None:
        value, length = decode(data[:end])
        assert found == (resolve(value), length)


def test_a_transfer_that_is_cut_off_is_left_to_the_decoder() -> None:
    encoded = Transfer(1, 2, b"tag", 0, False, True).encoded()
    assert all(decode_transfer(encoded + b"more", 0, end) is None for end in range(5, len(encoded)))


def decoded(body):
    try:
        value, end = decode(body)
        return resolve(value) if end == len(body) else None
    except ProtocolError:
        return None


@quick
@given(composites(Flow), st.randoms(use_true_random=False), st.integers(0, 3))
def test_a_flow_is_read_as_the_decoder_reads_it(flow, chance: random.Random, damage):
    body = bytearray(flow.encoded())
    for _ in range(damage):
        body[chance.randrange(4, len(body))] = chance.choice(
            [0x40, 0x41, 0x42, 0x43, 0x52, 0x70, chance.randrange(256)]
        )
    read = decode_flow(bytes(body))
    assert read is None or read == decoded(bytes(body))


def test_a_usual_flow_needs_no_decoder():
    for flow in (Flow(1, 300, 0, 70_000), Flow(None, 1, 2, 3, 4, 5, 6, 7, True, True), Flow(0, 1, 2, 3, 4, drain=True)):
        assert decode_flow(flow.encoded()) == flow
