"""Parts: the children of a message's root (properties, headers, body), each with bytes and a format of its own.

A part is read only as far as somebody looks into it, and written only if it has changed. That makes a copy cheap: a
part that still has its bytes is copied without being read.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from heliograph.flow.tree.element import Element
from heliograph.flow.tree.types import NAME


@dataclass(frozen=True, slots=True)
class Text:
    """How the bytes of a part are to be understood: what a header before it, or `Properties`, says."""

    ccsid: int = 1208
    """Coded character set: 1208 is UTF-8, 819 is ISO 8859-1, 500 and 37 are EBCDIC."""
    encoding: int = 546
    """How numbers are written, in the numbers of MQENC: 273 is big-endian, 546 is little-endian."""
    message_set: str = ""
    """The model."""
    message_type: str = ""
    """The message in the model."""
    message_format: str = ""
    """The physical format in the model."""


class Format(Protocol):
    """A format: reads bytes into elements, and writes elements as bytes. Has no state of its own; can be pickled."""

    @property
    def domain(self) -> str:
        """The name of the part in the tree: XML, XMLNSC, JSON, BLOB, MRM, MQMD, MQRFH2, ..."""

    def read(self, part: "Part", data: bytes) -> Iterator[None]:
        """A parser of these bytes: each step brings at least one element under the part, the last ends it.

        Elements that may get more children are open (`_open` is the part); the parser closes each when its end is seen.
        """

    def write(self, part: "Part") -> bytes:
        """The bytes of the elements under the part."""


class Part(Element):
    """A child of the message's root."""

    def __init__(self, format: Format, data: bytes | None = None, text: Text = Text()) -> None:  # noqa: A002, B008
        super().__init__(format.domain, None, NAME)
        self.format = format
        self.text = text
        self.data = data
        """The bytes, as long as they say the same as the elements."""
        self._parser: Iterator[None] | None = None
        if data is not None:
            self._parser = format.read(self, data)
            self._open = self

    def changed(self) -> None:
        """The bytes are out of date from now on."""
        self.data = None

    def read_all_of(self, element: Element) -> None:
        """Read on until this element has all its children."""
        while element._open is not None and self.read_on():
            pass

    def read_on(self) -> bool:
        """Read one step further; False at the end."""
        if self._parser is not None:
            for _ in self._parser:
                return True
            self._parser = None
        return False

    def bytes(self) -> bytes:
        """The part as bytes: those that came, if nothing has changed."""
        if self.data is None:
            self.data = self.format.write(self)
        return self.data

    def copy(self) -> "Part":
        """A copy; the bytes are shared, and read again only if somebody looks into it."""
        if self.data is not None:
            return Part(self.format, self.data, self.text)
        copy = Part(self.format, None, self.text)
        copy.take_content(self)
        return copy
