"""Coded character set identifiers, and Python's codecs for them."""

import codecs
from functools import cache

import ebcdic  # type: ignore[import-untyped]  # noqa: F401 - importing it registers EBCDIC codecs that Python has not

from heliograph.flow.errors import CAST_FAILED, ConversionError

UTF_8 = 1208
_INTEGERS_REVERSED = 0x2
_INTEGERS_MASK = 0xF

_NAMES = {
    0: "utf-8",  # "as the queue manager has it"
    UTF_8: "utf-8",
    367: "ascii",
    813: "iso8859-7",
    819: "latin-1",
    874: "cp874",
    878: "koi8-r",
    912: "iso8859-2",
    913: "iso8859-3",
    914: "iso8859-4",
    915: "iso8859-5",
    916: "iso8859-8",
    919: "iso8859-10",
    920: "iso8859-9",
    921: "iso8859-13",
    923: "iso8859-15",
    932: "cp932",
    943: "cp932",
    936: "gbk",
    949: "cp949",
    950: "cp950",
    954: "euc-jp",
    970: "euc-kr",
    1051: "hp-roman8",
    1089: "iso8859-6",
    1168: "koi8-u",
    1232: "utf-32-be",
    1234: "utf-32-le",
    1363: "cp949",
    1383: "gb2312",
    1386: "gbk",
    1392: "gb18030",
    5050: "euc-jp",
    5346: "cp1250",
    5347: "cp1251",
    5348: "cp1252",
    5349: "cp1253",
    5350: "cp1254",
    5488: "gb18030",
    33722: "euc-jp",
}
# Two bytes a unit, in the order that integers have.
_UTF_16 = frozenset({1200, 1204, 13488, 17584})
_UTF_16_FIXED = {1201: "utf-16-be", 1202: "utf-16-le"}


@cache
def codec(ccsid: int, encoding: int = 0) -> str:
    """The name of Python's codec for a CCSID. ConversionError if there is none.

    `encoding` decides the order of bytes where the CCSID leaves it open (UTF-16): reversed integers mean the lower byte
    first.
    """
    if ccsid in _UTF_16:
        return "utf-16-le" if encoding & _INTEGERS_MASK == _INTEGERS_REVERSED else "utf-16-be"
    name = _UTF_16_FIXED.get(ccsid) or _NAMES.get(ccsid) or f"cp{ccsid:03d}"
    try:
        return codecs.lookup(name).name
    except LookupError:
        raise ConversionError(CAST_FAILED, f"CCSID {ccsid} is not known", (ccsid,)) from None


def decode(data: bytes, ccsid: int, encoding: int = 0) -> str:
    """The text of bytes in a coded character set. `ConversionError` names the first byte that is no character."""
    try:
        return data.decode(codec(ccsid, encoding))
    except UnicodeDecodeError as error:
        shown = data[error.start : error.start + 4].hex()
        raise _unfit(f"byte {error.start} (X'{shown}') is no character of CCSID {ccsid}", data, ccsid) from None


def encode(text: str, ccsid: int, encoding: int = 0) -> bytes:
    """A text as bytes in a coded character set. `ConversionError` names the first character that is not in it."""
    try:
        return text.encode(codec(ccsid, encoding))
    except UnicodeEncodeError as error:
        found = f"character {error.start + 1} ({text[error.start]!r})"
        raise _unfit(f"{found} is not in CCSID {ccsid}", text, ccsid) from None


def _unfit(why: str, value: bytes | str, ccsid: int) -> ConversionError:
    return ConversionError(CAST_FAILED, why, (value, ccsid))


def byte_order(encoding: int) -> str:
    """`big` or `little`: how `encoding` has integers."""
    return "little" if encoding & _INTEGERS_MASK == _INTEGERS_REVERSED else "big"
