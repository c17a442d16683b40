"""Variable byte integers and the bounds of packets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.mqtt import MalformedPacket, ProtocolError, Reason, decode_varint, encode_varint, packet_bounds

# The edges of each length, from the standard's table.
EDGES = {
    0: b"\x00",
    127: b"\x7f",
    128: b"\x80\x01",
    16_383: b"\xff\x7f",
    16_384: b"\x80\x80\x01",
    2_097_151: b"\xff\xff\x7f",
    2_097_152: b"\x80\x80\x80\x01",
    268_435_455: b"\xff\xff\xff\x7f",
}


@pytest.mark.parametrize(("value", "data"), EDGES.items())
def test_the_edges_of_each_length(value, data):
    assert encode_varint(value) == data
    assert decode_varint(data, 0, len(data)) == (value, len(data))


@given(st.integers(0, 268_435_455), st.binary(max_size=3), st.binary(max_size=3))
def test_an_integer_is_read_from_the_middle_of_a_buffer(value, before, after):
    data = encode_varint(value)
    stop = len(before) + len(data)
    assert decode_varint(before + data + after, len(before), stop + len(after)) == (value, stop)


@pytest.mark.parametrize("value", [-1, 268_435_456])
def test_an_integer_out_of_range_is_refused(value):
    with pytest.raises(ValueError, match="268435455"):
        encode_varint(value)


@pytest.mark.parametrize("data", [b"", b"\x80", b"\xff\xff", b"\xff\xff\xff"])
def test_an_unfinished_integer_needs_more_bytes(data):
    assert decode_varint(data, 0, len(data)) is None


def test_bytes_after_the_end_are_not_read():
    assert decode_varint(b"\x80\x01", 0, 1) is None


def test_an_integer_of_five_bytes_is_malformed():
    with pytest.raises(MalformedPacket):
        decode_varint(b"\xff\xff\xff\xff\x01", 0, 5)


@pytest.mark.parametrize("data", [b"\x80\x00", b"\xff\x00", b"\x81\x80\x80\x00"])
def test_version_5_forbids_bytes_that_the_value_does_not_need(data):
    with pytest.raises(MalformedPacket):
        decode_varint(data, 0, len(data))


def test_older_versions_allow_bytes_that_the_value_does_not_need():
    assert decode_varint(b"\x81\x80\x00", 0, 3, version=4) == (1, 3)


def test_bounds_of_a_whole_packet():
    assert packet_bounds(b"\xc0\x00\x30\x03\x00\x01a", 2, 100) == (4, 7)


def test_the_end_of_an_incomplete_packet_lies_beyond_the_buffer():
    assert packet_bounds(b"\x30\x80\x01abc", 0, 1000) == (3, 131)


@pytest.mark.parametrize("data", [b"", b"\x30", b"\x30\x80"])
def test_bounds_are_unknown_until_the_length_is_complete(data):
    assert packet_bounds(data, 0, 100) is None


def test_a_packet_as_long_as_the_limit_is_accepted():
    assert packet_bounds(b"\x30\x08", 0, 10) == (2, 10)


def test_a_packet_over_the_limit_is_refused_before_it_arrives():
    with pytest.raises(ProtocolError) as caught:
        packet_bounds(b"\x30\x09", 0, 10)
    assert caught.value.reason == Reason.PACKET_TOO_LARGE
