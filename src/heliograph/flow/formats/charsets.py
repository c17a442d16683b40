"""Coded character sets: from the numbers that headers carry (CCSID) to what decodes and encodes text."""

import codecs
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import ebcdic  # type: ignore[import-untyped]  # noqa: F401 - registers code pages that Python does not bring

from heliograph.errors import Problem

NAMES = {
    367: "ascii",
    813: "iso8859-7",
    819: "latin-1",
    912: "iso8859-2",
    915: "iso8859-5",
    916: "iso8859-8",
    920: "iso8859-9",
    923: "iso8859-15",
    943: "cp932",
    954: "euc-jp",
    970: "euc-kr",
    1089: "iso8859-6",
    1202: "utf-16-le",
    1208: "utf-8",
    1363: "cp949",
    1381: "gb2312",
    1386: "gbk",
    1392: "gb18030",
    5348: "cp1252",
}
UTF_16 = (1200, 13488, 17584)
"""In the byte order that the encoding says."""
LATIN = [chr(code) for code in range(256)]
REVERSED = 2
"""The encoding of integers with the least significant byte first."""


class Charset(NamedTuple):
    """How text is decoded and encoded. Both raise UnicodeError."""

    name: str
    decode: Callable[[bytes], str]
    encode: Callable[[str], bytes]
    width: int
    """Bytes of each character; 0 if they differ."""
    ebcdic: bool
    to_latin: bytes = b""
    """For code pages with the characters of ISO 8859-1: translates their bytes to those; the fastest way to decode."""
    from_latin: bytes = b""


def codec_name(ccsid: int, encoding: int = 0) -> str:
    """Python's name of a coded character set; the encoding says the byte order of UTF-16."""
    if ccsid in UTF_16:
        return "utf-16-le" if encoding & 0xF == REVERSED else "utf-16-be"
    name = NAMES.get(ccsid) or f"cp{ccsid:03}"
    try:
        codecs.lookup(name)
    except LookupError:
        raise Problem(f"expected a known coded character set, found CCSID {ccsid}") from None
    return name


def charset(ccsid: int, encoding: int = 0) -> Charset:
    """The character set of this CCSID."""
    return named_charset(codec_name(ccsid, encoding))


@cache
def named_charset(name: str) -> Charset:
    """The character set that Python knows by this name."""
    codec = codecs.lookup(name)
    if codec.name in ("utf-8", "ascii", "iso8859-1"):
        fast = codec.name  # str(..., name) is a short cut in C for just these
        width = 0 if fast == "utf-8" else 1
        return Charset(fast, lambda data: str(data, fast), lambda text: text.encode(fast), width, False)
    if codec.name.startswith(("utf-16", "utf-32")):
        width = int(codec.name[4:6]) // 8
        return Charset(codec.name, lambda data: str(data, name), lambda text: text.encode(name), width, False)
    single = _single_byte(codec.name)
    return single or Charset(codec.name, lambda data: str(data, name), lambda text: text.encode(name), 0, False)


def _single_byte(name: str) -> Charset | None:
    """Code pages of one byte through tables: three times as fast as Python's own way around them."""
    characters = [bytes([byte]).decode(name, "replace") for byte in range(256)]
    for first in range(256):
        for second in (0x41, 0xA4):  # a second byte tells lead bytes of two-byte characters
            if bytes([first, second]).decode(name, "replace") != characters[first] + characters[second]:
                return None
    table = "".join(characters).replace("\ufffd", "\ufffe")  # which means "not defined" in such tables
    is_ebcdic = "0".encode(name) == b"\xf0"
    if sorted(table) == LATIN:
        to_latin = table.encode("latin-1")
        from_latin = bytes(to_latin.index(byte) for byte in range(256))
        return Charset(
            name,
            lambda data: data.translate(to_latin).decode("latin-1"),
            lambda text: text.encode("latin-1").translate(from_latin),
            1,
            is_ebcdic,
            to_latin,
            from_latin,
        )
    decode, encode, encoding = codecs.charmap_decode, codecs.charmap_encode, codecs.charmap_build(table)
    return Charset(
        name,
        lambda data: decode(data, "strict", table)[0],
        lambda text: encode(text, "strict", encoding)[0],
        1,
        is_ebcdic,
    )
