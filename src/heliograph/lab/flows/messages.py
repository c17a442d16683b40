"""Messages for the measurement of flows: of the same sizes and fields as in the published report.

In all of them, a larger message is a smaller one with more padding in its last field.
"""

from collections.abc import Callable

from heliograph.flow.envelope import Envelope
from heliograph.lab.flows.mt543 import mt543

SIZES = (1024, 4096, 16384, 65536)

_FIELDS = 10
"""Strings, floating point numbers and integers in a message of the conversion tests: so many of each."""


def padded(front: str, back: str, size: int) -> bytes:
    """Text with as much padding between front and back as makes it this long."""
    return (front + "x" * (size - len(front) - len(back)) + back).encode()


def plain(size: int) -> bytes:
    """Bytes that nobody looks into."""
    return bytes(range(64)) * (size // 64)


def simple(size: int) -> bytes:
    """A few fields; A1 is what flows look at and change."""
    return padded("<CSIM><A1>a</A1><A2>bb</A2><A3>ccc</A3><A4>100</A4><Padding>", "</Padding></CSIM>", size)


def processing_path(size: int) -> bytes:
    """A list of twenty entries, which the complex tests walk through."""
    entries = "".join(
        f"<Element><COMPONENT>Component{number:02}</COMPONENT><QUEUE>QUEUE.{number:02}</QUEUE></Element>"
        for number in range(20)
    )
    front = f"<CSIM><TestCase><Stack><ProcessingPath>{entries}</ProcessingPath></Stack><Padding>"
    return padded(front, "</Padding></TestCase></CSIM>", size)


def invoices(size: int) -> bytes:
    """Two invoices with items, one of a customer that is left out, and one item that costs nothing."""
    front = "<CSIM><Data>" + "".join(map(_invoice, ("Smith", "Shop", "Jones")))
    return padded(front + "<Padding>", "</Padding></Data></CSIM>", size)


def _invoice(surname: str) -> str:
    items = "".join(
        f"<Item><Description>{thing}</Description><Category>Books</Category><Price>{price}</Price>"
        f"<Quantity>{quantity}</Quantity></Item>"
        for thing, price, quantity in (("Atlas", "27.95", 2), ("Map", "42.95", 1), ("Leaflet", "0.00", 1))
    )
    initials = "<Initial>A</Initial><Initial>B</Initial>"
    return f"<Invoice>{initials}<Surname>{surname}</Surname>{items}<Balance>50</Balance></Invoice>"


def field_names() -> list[str]:
    """The fields of a message of the conversion tests, without the padding."""
    return [f"{kind}{number:02}" for kind in ("Text", "Number", "Count") for number in range(_FIELDS)]


def field_values() -> list[str]:
    """Their values: texts of 12 characters, floating point numbers, integers."""
    texts = [f"Field text {number}" for number in range(_FIELDS)]
    numbers = [f"{number}.5E+{number}" for number in range(1, _FIELDS + 1)]
    counts = [str(1000 * number + 7) for number in range(_FIELDS)]
    return texts + numbers + counts


def fields_as_xml(size: int) -> bytes:
    """The message of the conversion tests in generic XML."""
    fields = "".join(
        f"<{name}>{value}</{name}>" for name, value in zip(field_names(), field_values(), strict=True)
    )
    return padded(f"<Record>{fields}<Padding>", "</Padding></Record>", size)


def swift(size: int) -> bytes:
    """An MT543, which has one size only."""
    message = mt543()
    assert len(message) == size
    return message


def envelope(body: bytes, *, persistent: bool = False, topic: str = "", format: str = "MQSTR") -> Envelope:  # noqa: A002
    """A message as a flow gets it."""
    return Envelope(body, format=format, persistent=persistent, topic=topic, message_id=b"\x01" * 24)


Maker = Callable[[int], bytes]
