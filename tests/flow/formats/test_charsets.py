"""Coded character sets, from the CCSIDs of headers."""

import pytest

from heliograph.flow.formats.charsets import charset, named_charset

TEXTS = {1208: "aé€", 819: "aé", 500: "aé0", 1140: "a€", 1200: "aé€", 943: "a表"}


@pytest.mark.parametrize("ccsid", TEXTS)
def test_text_comes_back(ccsid: int) -> None:
    known = charset(ccsid)
    assert known.decode(known.encode(TEXTS[ccsid])) == TEXTS[ccsid]


@pytest.mark.parametrize(
    ("ccsid", "width", "ebcdic"), [(1208, 0, False), (819, 1, False), (500, 1, True), (1200, 2, False), (943, 0, False)]
)
def test_the_width_of_characters_is_known(ccsid: int, width: int, *, ebcdic: bool) -> None:
    known = charset(ccsid)
    assert (known.width, known.ebcdic) == (width, ebcdic)


def test_code_pages_with_the_characters_of_latin_1_have_tables_of_bytes() -> None:
    known = charset(500)
    assert b"\xc1\xf0".translate(known.to_latin) == b"A0"
    assert b"A0".translate(known.from_latin) == b"\xc1\xf0"
    assert not charset(1140).to_latin  # has the euro sign


def test_the_encoding_says_the_byte_order_of_utf_16() -> None:
    assert charset(1200, 0x222).encode("a") == b"a\0"
    assert charset(1200, 0x111).encode("a") == b"\0a"


@pytest.mark.parametrize(("name", "data"), [("cp1252", b"\x81"), ("utf-8", b"\xff"), ("cp500", b"\x41")])
def test_bytes_that_have_no_character_are_an_error_of_unicode(name: str, data: bytes) -> None:
    known = named_charset(name)
    try:
        assert known.encode(known.decode(data)) == data
    except UnicodeError as error:
        assert isinstance(error, UnicodeDecodeError)  # noqa: PT017


def test_a_character_that_a_code_page_does_not_have_is_an_error_of_unicode() -> None:
    for ccsid in (819, 500, 1140):
        with pytest.raises(UnicodeEncodeError):
            charset(ccsid).encode("表")
