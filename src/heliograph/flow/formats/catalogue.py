"""The catalogue: which format reads and writes a part, by the part's domain.

Formats that need no model are constants of this module. Domain MRM is read and written by a *model* (message set),
which knows its own physical formats; the models of a flow are handed in.
"""

from collections.abc import Iterator, Mapping
from typing import Protocol

from heliograph.flow.errors import CANNOT_WRITE, FormatProblem, MessageError
from heliograph.flow.formats.json import JsonFormat
from heliograph.flow.formats.message_properties import PROPERTIES, USER_PROPERTIES
from heliograph.flow.formats.mqmd import MQMD
from heliograph.flow.formats.mqrfh2 import MQRFH2
from heliograph.flow.formats.xml import XML, XMLNS, XMLNSC
from heliograph.flow.tree import Element, Format, Part, Text, building
from heliograph.flow.tree.element_types import NAME_VALUE


class Blob:
    """The format of domain BLOB: `Root.BLOB.BLOB` is the body."""

    domain = "BLOB"

    def read(self, part: Part, data: bytes) -> Iterator[None]:
        """The one element."""
        building.complete(part, [Element("BLOB", data, NAME_VALUE)])
        yield

    def write(self, part: Part) -> bytes:
        """The value of the element; nothing, if there is none."""
        element = part.first("BLOB")
        value = element.value if element is not None else None
        if value is None:
            return b""
        if isinstance(value, bytes):
            return value
        raise FormatProblem(
            "BLOB", "a BLOB value", f"{type(value).__name__} {value!r}", path="BLOB.BLOB", number=CANNOT_WRITE
        )


MODELLED = "MRM"

HEADERS = (PROPERTIES, MQMD, USER_PROPERTIES, MQRFH2)
FORMATS: Mapping[str, Format] = {known.domain: known for known in (*HEADERS, Blob(), JsonFormat(), XML, XMLNS, XMLNSC)}
"""Formats that need no model, by domain."""
BODIES = (*(domain for domain in FORMATS if domain not in {header.domain for header in HEADERS}), MODELLED)
"""The domains that the body of a message can have."""


class Unmodelled:
    """Stands for the format of an MRM part until its message set is known (`Properties` may be written after it)."""

    domain = MODELLED

    def read(self, part: Part, data: bytes) -> Iterator[None]:
        """Not without a model."""
        raise self._problem(part)

    def write(self, part: Part) -> bytes:
        """Not without a model."""
        raise self._problem(part)

    def _problem(self, part: Part) -> MessageError:
        return MessageError(
            f"Domain MRM needs a model: no message set is named, or {part.text.message_set!r} is not known."
        )


class Models(Protocol):
    """The models of a flow. Can be pickled."""

    def format(self, text: Text) -> Format:
        """The format of this message set, message type and message format; a Problem if there is no such."""


class Catalogue:
    """Formats by domain; can be pickled, if its models can."""

    without_model: Mapping[str, Format] = FORMATS

    def __init__(self, models: Models | None = None) -> None:
        self._models = models

    def format(self, domain: str, text: Text = Text()) -> Format:  # noqa: B008
        """The format of a domain; for MRM, of the message that `text` names."""
        known = FORMATS.get(domain)
        if known is not None:
            return known
        if domain == MODELLED:
            if self._models is not None and text.message_set:
                return self._models.format(text)
            return Unmodelled()
        raise MessageError(f"There is no domain {domain!r}. Known: {', '.join(sorted([*FORMATS, MODELLED]))}.")

    def knows(self, domain: str) -> bool:
        """Whether a child of the root that has this name is a part with a format of its own."""
        return domain in FORMATS or domain == MODELLED

    def new_part(self, domain: str, text: Text = Text()) -> Part:  # noqa: B008
        """An empty part of this domain, to build a message with."""
        return Part(self.format(domain, text), None, text)

    def part_of(self, domain: str, data: bytes, text: Text = Text()) -> Part:  # noqa: B008
        """A part with these bytes, which are parsed on demand."""
        return Part(self.format(domain, text), data, text)
