"""Parts: the children of a message's root (properties, headers, body), each with bytes and a format of its own.

Theory of operation. A part has bytes (`data`), elements, or both:

- It is created from bytes, and parsed only as far as its elements are used (`read_on`). A parser that fails raises the
  same problem on each later attempt; the bytes can still be handed on.
- A change drops the bytes (`changed`). `bytes` then writes the elements, and keeps the result until the next change.
  `reads_back` is False for bytes that we wrote: parsing them may give other types of values.
- A copy takes constant time, whatever the state of the original: it shares bytes or packed children, or becomes an
  *unread copy* (`copied_from`), which copies the elements when they are first used. The original knows its unread
  copies (weakly, in `unread_copies`), and lets them take what they need before it changes (`detach_copy`). So a copy
  behaves as if it had been made at once.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol
from weakref import WeakSet

from heliograph.flow.tree.element import Element, copies
from heliograph.flow.tree.element_types import NAME, role_of, type_in
from heliograph.flow.tree.packed import Packed


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

    def read(self, part: "Part", data: bytes) -> Iterator[None] | None:
        """A parser of these bytes: each step brings at least one element under the part, the last ends it.

        It uses the builder interface (`building.py`), as nothing changes when a message is parsed. Elements that may
        get more children are open (`pending` is the part); the parser closes each at its end, the part last.

        None, if all is read already: then the part is closed, or has its children packed.
        """

    def write(self, part: "Part") -> bytes:
        """The bytes of the elements under the part."""


_NO_TEXT = Text()


class Part(Element):
    """A child of the message's root."""

    __slots__ = (
        "__weakref__",
        "_parser",
        "_problem",
        "copied_from",
        "data",
        "format",
        "reads_back",
        "text",
        "unread_copies",
    )

    is_part = True

    def __init__(self, format: Format, data: bytes | None = None, text: Text = _NO_TEXT) -> None:  # noqa: A002
        # All attributes are set here, without a call of Element.__init__: every message has several parts.
        self.name = format.domain
        self.value = None
        self.type = NAME
        self.namespace = ""
        self.parent = None
        self.loaded = None
        self.pending = self if data is not None else None
        self.child_index = None
        self.last_position = 0
        self.format = format
        self.text = text
        self.data = data
        """The bytes, as long as they say the same as the elements."""
        self.reads_back = data is not None
        """Whether reading these bytes gives these elements; bytes that we wrote may have lost types of values."""
        self._parser: Iterator[None] | None = None
        self._problem: Exception | None = None
        self.copied_from: Part | None = None
        """What this is an unread copy of."""
        self.unread_copies: WeakSet[Part] | None = None
        """Unread copies of this."""

    # Reading

    def read_all_of(self, element: Element) -> None:
        """Read on until this element has all its children."""
        while element.pending is not None and self.read_on():
            pass
        if type(element.pending) is Packed:
            element.unpack(element.pending)

    def read_on(self) -> bool:
        """Read one step further; False at the end. Bytes that cannot be read raise the same problem every time."""
        parser = self._parser
        if parser is None:
            if self.pending is not self:
                return False
            parser = self._parser = self._begin()
            if parser is None:
                return False
        try:
            for _ in parser:
                return True
        except Exception as problem:
            self._problem = problem
            raise
        if self._problem is not None:
            raise self._problem
        self._parser = None
        self.pending = None
        return False

    def _begin(self) -> Iterator[None] | None:
        source = self.copied_from
        if source is not None:
            self._read_source(source)
            return None
        assert self.data is not None
        return self.format.read(self, self.data)

    def _read_source(self, source: "Part") -> None:
        self._forget_source(source)
        while source.pending is source and source.read_on():
            pass
        if type(source.pending) is Packed:
            self.pending = source.pending
        else:
            self.loaded = copies(source.loaded, self) if source.loaded else None
            self.pending = None

    def _forget_source(self, source: "Part") -> None:
        self.copied_from = None
        if source.unread_copies is not None:
            source.unread_copies.discard(self)

    # Changing

    def changed(self) -> None:
        """The bytes are out of date from now on."""
        above = self.parent
        if above is not None and above.parent is not None:
            above.touch()  # a part inside another
        if self.data is None and self.unread_copies is None and self.copied_from is None:
            return
        if self.unread_copies:
            for copy in list(self.unread_copies):
                copy.detach_copy()
        self.unread_copies = None
        if self.copied_from is not None:
            self.read_on()
        self.data = None
        self.reads_back = False

    def detach_copy(self) -> None:
        """The original is about to change."""
        source = self.copied_from
        if source is not None:
            if self.reads_back:
                self._forget_source(source)
            else:
                self.read_on()

    def clear(self) -> None:
        """Delete all children; what has not been read never will be."""
        if self.copied_from is not None:
            self._forget_source(self.copied_from)
        self.touch()
        self._drop(self.loaded or [])
        self._parser = self._problem = self.pending = None

    def adopt(self, elements: list[Element], domain: str) -> None:
        """Give elements that came from another domain the types that say the same in this one."""
        for element in elements:
            if type(element) is Element:
                role = role_of(element.type, domain)
                element.type = type_in(self.format.domain, role, has_value=element.value is not None)
                self.adopt(element.children, domain)

    def become(self, format: Format, text: Text) -> None:  # noqa: A002
        """From now on be read and written in another way: the elements stay, the bytes do not."""
        if format is not self.format or text != self.text:
            _ = self.children
            self.touch()
            self.format = format
            self.text = text

    # Writing and copying

    def bytes(self) -> bytes:
        """The part as bytes: those that came, if nothing has changed."""
        data = self.data
        if data is None:
            source = self.copied_from
            data = self.data = source.bytes() if source is not None else self.format.write(self)
        elif data.__class__ is not bytes:  # a header that is read from what the transport says of the message
            return self.format.write(self)
        return data

    def copy(self) -> "Part":
        """A copy without a parent, made in constant time: nothing is read before somebody looks into it."""
        copy = Part(self.format, self.data if self.reads_back else None, self.text)
        copy.value = self.value
        source = self.copied_from or self
        if type(source.pending) is Packed:
            copy.pending = source.pending
        elif source.pending is None or not self.reads_back:
            copy.copied_from = source
            copy.pending = copy
            if source.unread_copies is None:
                source.unread_copies = WeakSet()
            source.unread_copies.add(copy)
        return copy

    def take_content(self, source: Element) -> None:
        """Become a copy of the source, but keep the own name and format; of a part like this one, an unread copy."""
        if not isinstance(source, Part) or source.format is not self.format or source.text != self.text:
            super().take_content(source)
            return
        if source is self:
            return
        self.clear()  # before the copy: the source may itself be an unread copy of this part
        copy = source.copy()
        self.value = copy.value
        self.data, self.reads_back = copy.data, copy.reads_back
        self.copied_from, self._parser = copy.copied_from, None
        self.pending = copy.pending if type(copy.pending) is Packed else self
        if self.copied_from is not None and self.copied_from.unread_copies is not None:
            self.copied_from.unread_copies.add(self)

    def as_part(self) -> "Part":
        """Itself."""
        return self

    @property
    def domain(self) -> str:
        """The name of its format."""
        return self.format.domain


def part_of(element: Element) -> Part | None:
    """The part that an element belongs to, or is."""
    found = element.owning_part()
    return found if isinstance(found, Part) else None
