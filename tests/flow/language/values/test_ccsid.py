"""Character sets by their CCSID."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.flow.errors import ConversionError
from heliograph.flow.language.values.ccsid import codec, decode, encode


@pytest.mark.parametrize(
    ("ccsid", "text", "data"),
    [
        (1208, "é€", "c3a9e282ac"),
        (0, "é", "c3a9"),
        (819, "é", "e9"),
        (923, "€", "a4"),
        (1252, "€", "80"),
        (5348, "€", "80"),
        (850, "é", "82"),
        (437, "é", "82"),
        (367, "A", "41"),
        (1200, "A€", "004120ac"),
        (13488, "A", "0041"),
        (1202, "A", "4100"),
        (37, "A1[", "c1f1ba"),
        (500, "A1[", "c1f14a"),
        (1047, "A1[", "c1f1ad"),
        (1140, "€", "9f"),
        (1141, "€", "9f"),
        (273, "Ä", "4a"),
        (1148, "€", "9f"),
        (932, "あ", "82a0"),
        (943, "あ", "82a0"),
        (1386, "中", "d6d0"),
        (5488, "中", "d6d0"),
    ],
)
def test_characters_of_a_ccsid(ccsid: int, text: str, data: str) -> None:
    assert encode(text, ccsid).hex() == data
    assert decode(bytes.fromhex(data), ccsid) == text


def test_encoding_orders_the_bytes_of_utf_16() -> None:
    assert encode("A", 1200, 0x222) == b"A\0"
    assert encode("A", 1200, 0x111) == b"\0A"
    assert decode(b"A\0", 13488, 546) == "A"
    assert codec(1208, 0x222) == "utf-8"


@pytest.mark.parametrize("ccsid", [99999, -1, 1])
def test_unknown_ccsid(ccsid: int) -> None:
    with pytest.raises(ConversionError, match=str(ccsid)):
        codec(ccsid)


def test_what_a_set_does_not_have_is_named() -> None:
    with pytest.raises(ConversionError, match=r"character 2 .*€.* CCSID 819"):
        encode("a€", 819)
    with pytest.raises(ConversionError, match=r"byte 1 .*X'ff61'.* CCSID 1208"):
        decode(b"a\xffa", 1208)


@given(st.sampled_from([37, 273, 500, 1047, 1140, 819, 850]), st.binary(max_size=50))
def test_single_byte_sets_keep_every_byte(ccsid: int, data: bytes) -> None:
    assert encode(decode(data, ccsid), ccsid) == data
