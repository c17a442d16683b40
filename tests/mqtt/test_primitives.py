"""Values inside a packet: what is read, and what does not fit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.mqtt import MalformedPacket
from heliograph.mqtt.primitives import Reader, pack_binary, pack_byte, pack_pair, pack_string
from mqtt.strategies import binary, text


@given(number=st.integers(0, 255), name=text, data=binary, pair=st.tuples(text, text))
def test_what_is_packed_is_read_again(number, name, data, pair):
    packed = pack_byte(number) + pack_string(name) + pack_binary(data) + pack_pair(pair)
    reader = Reader(b"." + packed + b".", 1, 1 + len(packed))
    assert (reader.byte(), reader.string(), reader.binary(), reader.pair()) == (number, name, data, pair)
    assert reader.left == 0
    reader.finish()


def test_integers_are_read_with_the_most_significant_byte_first():
    reader = Reader(bytes.fromhex("0102 01020304 8001"), 0, 8)
    assert (reader.u16(), reader.u32(), reader.varint()) == (0x0102, 0x01020304, 128)


def test_a_part_ends_where_it_is_said_to_end():
    reader = Reader(b"abcdef", 1, 6)
    part = reader.part(2)
    assert (part.rest(), reader.rest(), reader.left) == (b"bc", b"def", 0)
    with pytest.raises(MalformedPacket, match="1 bytes expected at byte 3 of the packet, 0 left"):
        part.byte()


@pytest.mark.parametrize(
    "data",
    [b"", b"\0", b"\0\2a"],
    ids=["no length", "half a length", "shorter than its length"],
)
def test_binary_data_that_is_cut_short_is_malformed(data):
    with pytest.raises(MalformedPacket, match="bytes expected at byte"):
        Reader(data, 0, len(data)).binary()


def test_an_integer_that_goes_on_after_the_end_is_malformed():
    with pytest.raises(MalformedPacket, match="goes on after the packet's end"):
        Reader(b"\x80\1", 0, 1).varint()


def test_what_is_left_over_is_malformed():
    with pytest.raises(MalformedPacket, match="2 bytes too many"):
        Reader(b"ab", 0, 2).finish()


def test_a_field_holds_65535_bytes():
    assert len(pack_binary(bytes(65_535))) == 65_537
    with pytest.raises(ValueError, match="65535"):
        pack_binary(bytes(65_536))
