"""Names and namespaces."""

import re
from functools import lru_cache
from xml.parsers import expat

XML_NAMESPACE = "http://www.w3.org/XML/1998/namespace"
XMLNS_NAMESPACE = "http://www.w3.org/2000/xmlns/"

NO_PREFIXES = {"": "", "xml": XML_NAMESPACE}
"""What prefixes mean where nothing is declared; the empty one is the default namespace."""

_ASCII_NAME = re.compile(r"[A-Za-z_:][A-Za-z0-9_:.-]*").fullmatch


class Name:
    """A name of a tag or attribute, and how it is written."""

    __slots__ = ("closing", "empty", "end", "local", "prefix", "start")

    def __init__(self, text: str) -> None:
        self.start = f"<{text}>"
        self.end = f"</{text}>"
        self.empty = f"<{text}/>"
        self.closing = f"/{text}>"
        """What follows the `<` of the end tag."""
        before, colon, behind = text.partition(":")
        self.prefix: str | None = ""
        """What is before the colon; None if namespaces do not allow such a name."""
        self.local = text
        if colon:
            self.prefix = None
            if before and ":" not in behind and _ASCII_NAME(behind):
                self.prefix, self.local = before, behind


@lru_cache(maxsize=8192)
def ascii_name(text: str) -> Name | None:
    """A name of ASCII characters; None if it is anything else. Names come again and again, so they are cached."""
    return Name(text) if _ASCII_NAME(text) else None


@lru_cache(maxsize=8192)
def writable(text: str, *, colons: bool) -> bool:
    """Whether a tag can be written with this name: whether it can be read again."""
    if not colons and ":" in text:
        return False
    parser = expat.ParserCreate("utf-8")
    try:
        parser.Parse(f"<{text}/>".encode(), True)
    except (expat.ExpatError, UnicodeEncodeError):
        return False
    return not set(" \t\r\n/=") & set(text)
