"""From bytes to text and back: the byte order mark says how, else the XML declaration, else the CCSID."""

import codecs
import re
from functools import lru_cache

from heliograph.flow.formats.problem import CANNOT_READ, CANNOT_WRITE, FormatProblem
from heliograph.flow.language.values.ccsid import codec
from heliograph.flow.tree import Text

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MARKS_BEGIN = frozenset(mark[:1] for mark, _ in _MARKS)
_SAME_AS_ASCII = b"<?xml"
_WIDE = ((b"<\x00", "utf-16-le"), (b"\x00<", "utf-16-be"))
_DECLARED = re.compile(rb"""<\?xml\s[^>]*?encoding\s*=\s*["']([A-Za-z][A-Za-z0-9._-]*)["']""")
_LONGEST_DECLARATION = 256
_MARKUP = re.compile(r"""<!\[CDATA\[.*?\]\]>|<!--.*?-->|<\?.*?\?>|<(?:[^>"]|"[^"]*")*>""", re.DOTALL).findall
_VALUES = re.compile('"[^"]*"').sub


def decode(data: bytes, text: Text, domain: str) -> str:
    """The text of a document, line ends as the standard wants them."""
    name, mark = _codec(data, text, domain)
    try:
        decoded = data[mark:].decode(name) if mark else data.decode(name)
    except UnicodeDecodeError as error:
        found = f"X'{data[mark + error.start : mark + error.start + 4].hex()}'"
        raise FormatProblem(domain, f"text in {name}", found, offset=mark + error.start) from None
    if "\r" in decoded:
        decoded = decoded.replace("\r\n", "\n").replace("\r", "\n")
    return decoded


def encode(document: str, declared: str | None, text: Text, domain: str) -> bytes:
    """The bytes of a document: as its declaration says, else in the CCSID; what that has not is written as a number."""
    name = _known(declared, domain, CANNOT_WRITE) if declared else codec(text.ccsid, text.encoding)
    try:
        return document.encode(name)
    except UnicodeEncodeError:
        _check_markup(document, name, domain)
        return document.encode(name, "xmlcharrefreplace")


def _check_markup(document: str, name: str, domain: str) -> None:
    """Numbers can stand for characters in texts and values of attributes only."""
    for markup in _MARKUP(document):
        try:
            (markup if markup.startswith(("<!", "<?")) else _VALUES("", markup)).encode(name)
        except UnicodeEncodeError as error:
            raise FormatProblem(
                domain,
                f"characters of {name} in names, comments and CDATA sections",
                repr(error.object[error.start]),
                number=CANNOT_WRITE,
            ) from None


def _codec(data: bytes, text: Text, domain: str) -> tuple[str, int]:
    """The codec of these bytes, and how many of them are a byte order mark."""
    if data[:1] in _MARKS_BEGIN:
        for mark, name in _MARKS:
            if data.startswith(mark):
                return name, len(mark)
    for begin, name in _WIDE:
        if data.startswith(begin):
            return name, 0
    if data.startswith(_SAME_AS_ASCII):
        declared = _declared(data[: data.find(b">", 0, _LONGEST_DECLARATION) + 1])
        if declared is not None:
            return _known(declared, domain), 0
    return codec(text.ccsid, text.encoding), 0


@lru_cache(maxsize=256)
def _declared(declaration: bytes) -> str | None:
    found = _DECLARED.match(declaration)
    return found[1].decode() if found else None


@lru_cache(maxsize=64)
def _known(declared: str, domain: str, number: int = CANNOT_READ) -> str:
    """The codec of an encoding that a declaration names."""
    try:
        name = codecs.lookup(declared).name
        "".encode(name)  # codecs that are not for text cannot do this
    except (LookupError, TypeError):
        raise FormatProblem(domain, "the name of an encoding", repr(declared), number=number) from None
    return name
