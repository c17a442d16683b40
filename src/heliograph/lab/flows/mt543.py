"""MT543 messages of a wanted size, for tests and measurements."""

import random

MEASURED_SIZE = 6449
"""As long as the messages of the published measurement."""


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
