"""The messages of the flow benchmarks, with the sizes and fields of the published report.

A larger message is a smaller one with more padding in its last field. The padding begins with the message's number, so
no two messages are equal.
"""

import random
from collections.abc import Callable, Mapping
from decimal import Decimal

from heliograph.flow.formats import MQRFH2, Envelope
from heliograph.flow.tree import NAME_VALUE, Element, Part

MEASURED_SIZE = 6449
"""As long as the messages of the published measurement."""

MessageMaker = Callable[[int, int], Envelope]
"""Makes a message of so many bytes, with this number."""
ExpectedBody = Callable[[int, int], bytes]
"""The body that has to come out for that message."""
TEXT, HEADER = "MQSTR", "MQHRF2"
ENTRIES = 20
"""What the complex tests walk through."""
_DIGITS = 8
_ITEMS = (("Atlas", "27.95", 2), ("Map", "42.95", 1), ("Leaflet", "0.00", 1))
SWIFT_REFERENCE = "CHANGED"


def mt543(size: int = MEASURED_SIZE, seed: int = 0, line_end: str = "\r\n") -> bytes:
    """A valid message of exactly this many bytes (2100 or more): amounts fill it, a narrative brings it to the byte."""
    chosen = random.Random(seed)
    head = (
        f"{{1:F01BANKBEBBAXXX{chosen.randrange(10_000):04}{chosen.randrange(1_000_000):06}}}{{2:I543CUSTDEFFXXXXN2020}}"
        f"{{3:{{108:REF{chosen.randrange(10**10):010}}}}}{{4:"
    )
    tail = "-}{5:{MAC:12AB34CD}{CHK:123456789ABC}}"
    lines = [
        *_in("GENL", f":20C::SEME//{chosen.randrange(10**12)}", ":23G:NEWM", ":98C::PREP//20031104093000",
             ":99B::SETT//001", ":99B::TOSE//002",
             *_in("LINK", ":22F::LINK//WITH", ":13A::LINK//515", f":20C::RELA//{chosen.randrange(10**9)}"),
             *_in("LINK", ":13A::LINK//541", ":20C::PREV//NONREF")),
        *_in("TRADDET", ":94B::TRAD//EXCH/XETR", ":98A::SETT//20031107", ":98A::TRAD//20031104",
             ":90B::DEAL//ACTU/EUR101,25", ":99A::DAAC//N014", ":35B:ISIN DE0001234567", "INVENTED PUBLIC LOAN",
             "4,5 PERCENT 2003 - 2013",
             *_in("FIA", ":22F::MICO//A007", ":12A::CLAS/ISIT/BOND", ":11A::DENO//EUR", ":98A::MATU//20130704",
                  ":92A::INTR//4,5", ":36B::MINO//FAMT/1000,"),
             ":22F::PROC//OPEP", ":25D::MTCH//NMAT", ":70E::SPRO//FIRST LINE", "SECOND LINE"),
        *_in("FIAC", ":36B::SETT//FAMT/125000,", ":70D::DENC//IN ONE LOT", ":13B::CERT//0815",
             ":95P::ACOW//CUSTDEFFXXX", ":97A::SAFE//DE4711", ":97B::CASH//IBAN/DE00123", ":94F::SAFE//NCSD/DAKVDEFF"),
        *_in("REPO", ":98A::TERM//20031212", ":22F::RERT//FIXE", ":20C::REPO//R4711", ":92A::REPO//2,1",
             ":19A::TRTE//EUR125312,5", ":70C::SECO//NOTHING MORE"),
    ]  # fmt: skip
    parties = [
        ":22F::SETR//TRAD", ":22F::STCO//NPAR",
        *_in("SETPRTY", ":95P::REAG//PARBDEFFXXX", ":97A::SAFE//7711", ":98A::PROC//20031105", ":20C::PROC//PR0815",
             ":70C::PACO//CALL FIRST"),
        *_in("SETPRTY", ":95Q::BUYR//HOUSE OF MADE UP NAMES", "1 SOME STREET", "SOME TOWN"),
        *_in("SETPRTY", ":95R::PSET/DAKV/1234"),
        *_in("CSHPRTY", ":95P::ACCW//BANKBEBBXXX", ":97A::CASH//0815/4711"),
    ]  # fmt: skip
    others = _in("OTHRPRTY", ":95P::EXCH//XETRDEFFXXX", ":97A::SAFE//9", ":70C::PACO//~", ":20C::PROC//OTHER")

    def text(amounts: list[str], filling: str) -> str:
        settlement = _in("SETDET", *parties, *amounts)
        filled = [line.replace("~", filling) for line in others]
        return head + line_end + line_end.join([*lines, *settlement, *filled]) + line_end + tail

    amounts = _amount(chosen)
    while len(text(more := amounts + _amount(chosen), "X")) <= size:
        amounts = more
    missing = size - len(text(amounts, ""))
    return text(amounts, _narrative(missing, line_end)).encode("ascii")


def _in(code: str, *lines: str) -> list[str]:
    return [f":16R:{code}", *lines, f":16S:{code}"]


def _amount(chosen: random.Random) -> list[str]:
    amount = f":19A::SETT//EUR{chosen.randrange(1, 100)},"
    return _in("AMT", f":17B::ACRU//{chosen.choice('NY')}", amount, ":98A::VALU//20031107")


def _narrative(length: int, line_end: str) -> str:
    """So many characters, line ends included, in lines of at most 35."""
    text = ""
    while length > 35:
        step = min(35, length - len(line_end) - 1)
        text += "N" * step + line_end
        length -= step + len(line_end)
    return text + "N" * length


def padding(length: int, number: int) -> str:
    """So many characters, the number first."""
    return f"{number:0{_DIGITS}}".ljust(length, "x")


def filled(front: str, back: str, size: int, number: int) -> str:
    """Text with as much padding between front and back as makes it this long."""
    return front + padding(size - len(front) - len(back), number) + back


def text_message(text: str) -> Envelope:
    """A message with this text."""
    return Envelope(text.encode(), TEXT)


def with_folders(folders: Mapping[str, Mapping[str, str]], body: bytes, form: str = TEXT) -> Envelope:
    """A message whose body follows an MQRFH2 with these folders; sizes are without it, as in the report."""
    header = Part(MQRFH2)
    header.append(Element("Format", form, NAME_VALUE))
    for name, values in folders.items():
        folder = header.append(Element(name))
        for field, value in values.items():
            folder.append(Element(field, value, NAME_VALUE))
    return Envelope(header.bytes() + body, HEADER)


# Bytes that no node parses


def plain(size: int, number: int) -> Envelope:
    """Not XML, nor any other format."""
    return text_message(padding(size, number))


# A few fields


def simple_text(size: int, number: int, first: str = "a") -> str:
    """A1 is what flows look at and change."""
    front = f"<CSIM><A1>{first}</A1><A2>bb</A2><A3>ccc</A3><A4>100</A4><Padding>"
    return filled(front, "</Padding></CSIM>", size, number)


def simple(size: int, number: int) -> Envelope:
    """A small document."""
    return text_message(simple_text(size, number))


def simple_changed(size: int, number: int) -> bytes:
    """With another value in its first field, which is as long."""
    return simple_text(size, number, "x").encode()


def tagged(size: int, number: int) -> Envelope:
    """A small document behind a header with two tags."""
    return with_folders({"usr": {"Colour": "red", "Size": "3"}}, simple_text(size, number).encode())


def publication(topic: str) -> MessageMaker:
    """A small document to be published on a topic."""

    def make(size: int, number: int) -> Envelope:
        folder = {"Command": "Publish", "Topic": topic}
        return with_folders({"psc": folder}, simple_text(size, number).encode())

    return make


# A list of entries


def _path(size: int, number: int) -> tuple[str, str]:
    """The document up to the end of its padding, and the rest."""
    entries = "".join(
        f"<Element><COMPONENT>Component{entry:02}</COMPONENT><QUEUE>QUEUE.{entry:02}</QUEUE></Element>"
        for entry in range(ENTRIES)
    )
    front = f"<CSIM><TestCase><Stack><ProcessingPath>{entries}</ProcessingPath></Stack><Padding>"
    back = "</TestCase></CSIM>"
    return filled(front, "</Padding>", size - len(back), number), back


def processing_path(size: int, number: int) -> Envelope:
    """A list of twenty entries, which the complex tests walk through."""
    return text_message("".join(_path(size, number)))


def processing_path_copied(size: int, number: int) -> bytes:
    """With a second list, made from the first."""
    components = "".join(
        f'<Component><Name>Component{entry:02}</Name><Transport Type="A"><Queue>QUEUE.{entry:02}</Queue></Transport>'
        "</Component>"
        for entry in range(ENTRIES)
    )
    front, back = _path(size, number)
    return f"{front}<ProcessingPath>{components}</ProcessingPath>{back}".encode()


# Invoices


def invoices(size: int, number: int) -> Envelope:
    """Three invoices with items: one of a customer that is left out, and in each one item that costs nothing."""
    front = "<CSIM><Data>" + "".join(map(_invoice, ("Smith", "Shop", "Jones")))
    return text_message(filled(front + "<Padding>", "</Padding></Data></CSIM>", size, number))


def _invoice(surname: str) -> str:
    items = "".join(
        f"<Item><Description>{thing}</Description><Category>Books</Category><Price>{price}</Price>"
        f"<Quantity>{quantity}</Quantity></Item>"
        for thing, price, quantity in _ITEMS
    )
    initials = "<Initial>A</Initial><Initial>B</Initial>"
    return f"<Invoice>{initials}<Surname>{surname}</Surname>{items}<Balance>50</Balance></Invoice>"


def statements(size: int, number: int) -> bytes:
    """What the SELECT makes of the invoices."""
    return f"<CSIM><Data>{_statement('Smith')}{_statement('Jones')}</Data></CSIM>".encode()


def _statement(surname: str) -> str:
    articles = "".join(
        f"<Article><Desc>{thing}</Desc><Cost>{_float(float(price) * 1.6)}</Cost><Qty>{quantity}</Qty></Article>"
        for thing, price, quantity in _ITEMS
        if Decimal(price)
    )
    amount = _float(sum(float(price) * float(quantity) * 1.6 for _, price, quantity in _ITEMS))
    customer = f"<Initials>AB</Initials><Name>{surname}</Name><Balance>50</Balance>"
    return (
        f'<Statement Type="Monthly" Style="Full"><Customer>{customer}</Customer><Purchases>{articles}</Purchases>'
        f'<Amount Currency="Dollars">{amount}</Amount></Statement>'
    )


def _float(value: float) -> str:
    """As ESQL writes it: one digit, the others, an exponent."""
    mantissa, exponent = f"{value:.14E}".split("E")
    return f"{mantissa.rstrip('0').rstrip('.')}E{int(exponent):+}"


# SWIFT


def swift(size: int, number: int) -> Envelope:
    """An MT543."""
    return text_message(mt543(size, seed=number).decode())


def swift_changed(size: int, number: int) -> bytes:
    """With another reference."""
    front, mark, rest = mt543(size, seed=number).partition(b":20C::SEME//")
    return front + mark + SWIFT_REFERENCE.encode() + rest[rest.index(b"\r\n") :]


# Aggregation


def aggregated(size: int, number: int) -> bytes:
    """All four replies in one message."""
    reply = simple_text(size, number)
    return ("<Replies>" + reply * 4 + "</Replies>").encode()
