"""Coded character sets: from the numbers that headers carry (CCSID) to what decodes and encodes text."""

import codecs
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from heliograph.flow.language.values.ccsid import codec

LATIN = [chr(code) for code in range(256)]


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


def charset(ccsid: int, encoding: int = 0) -> Charset:
    """The character set of this CCSID; the encoding says the byte order of UTF-16."""
    return named_charset(codec(ccsid, encoding))


@cache
def named_charset(name: str) -> Charset:
    """The character set that Python knows by this name."""
    known = codecs.lookup(name)
    if known.name in ("utf-8", "ascii", "iso8859-1"):
        fast = known.name  # str(..., name) is a short cut in C for just these
        width = 0 if fast == "utf-8" else 1
        return Charset(fast, lambda data: str(data, fast), lambda text: text.encode(fast), width, False)
    if known.name.startswith(("utf-16", "utf-32")):
        width = int(known.name[4:6]) // 8
        return Charset(known.name, lambda data: str(data, name), lambda text: text.encode(name), width, False)
    single = _single_byte(known.name)
    return single or Charset(known.name, lambda data: str(data, name), lambda text: text.encode(name), 0, False)


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
