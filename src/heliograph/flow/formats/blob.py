"""BLOB: a body of which nothing is known. One element `BLOB` holds all its bytes."""

from collections.abc import Iterator

from heliograph.flow.formats.format_problem import CANNOT_WRITE, FormatProblem
from heliograph.flow.tree import Element, Part, building
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
