"""The fast decoder of transfers says what the decoder says, or leaves it to that."""

from hypothesis import given
from hypothesis import strategies as st

from heliograph.amqp.codec.composite import resolve
from heliograph.amqp.codec.decoding import decode
from heliograph.amqp.codec.frames import SHORT_TRANSFER, decode_transfer
from heliograph.amqp.codec.performatives import Accepted, Transfer

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
