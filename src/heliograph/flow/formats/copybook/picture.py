"""Pictures: what PIC says of a field."""

import re
from dataclasses import dataclass

REPEATED = re.compile(r"(.)\((\d{1,9})\)")
NUMERIC = re.compile(r"S?(P*)(9*)(V?)(P*)(9*)")
MOST_DIGITS = 999
"""Of a number, with the zeros that are not stored."""
MOST_WRITTEN_OUT = 100_000
"""Characters of a picture of several kinds."""
TEXTS = {"X": "text", "A": "text", "N": "national", "G": "dbcs"}


@dataclass(frozen=True)
class Picture:
    """A picture, counted."""

    kind: str
    """numeric, text, national, dbcs or edited."""
    size: int
    """Digits of a numeric picture, else characters."""
    scale: int = 0
    """Digits behind the point; negative for zeros that are not stored."""
    signed: bool = False


def picture(text: str) -> Picture:
    """What the picture means. Raises ValueError if it is none."""
    text = text.upper()
    plain = REPEATED.fullmatch(text)
    if plain is not None and plain[1] in "XANG" and int(plain[2]):  # may be long, and need not be written out
        return Picture(TEXTS[plain[1]], int(plain[2]))
    repeated = sum(int(found[2]) for found in REPEATED.finditer(text))
    if repeated > MOST_WRITTEN_OUT:
        raise ValueError(text)
    whole = REPEATED.sub(lambda found: found[1] * int(found[2]), text)
    if not whole or re.search(r"[^AXNG9SVPZB0/,.+\-*$€£ECRD]", whole):
        raise ValueError(text)
    if set(whole) <= set("S9VP"):
        return _numeric(whole, text)
    if set(whole) <= set("XA9"):
        return Picture("text", len(whole))
    if set(whole) == {"N"}:
        return Picture("national", len(whole))
    if set(whole) == {"G"}:
        return Picture("dbcs", len(whole))
    if set(whole) & set("SNG"):
        raise ValueError(text)
    return Picture("edited", len(whole) - whole.count("V") - whole.count("P"))


def _numeric(whole: str, text: str) -> Picture:
    found = NUMERIC.fullmatch(whole.removesuffix("V"))
    if found is None or "9" not in whole:
        raise ValueError(text)
    before, digits, point, zeros, fraction = (len(piece) for piece in found.groups())
    if before + digits + zeros + fraction > MOST_DIGITS:
        raise ValueError(text)
    # PP99 and VPP99 have zeros between the point and the first digit, 99PP behind the last
    scale = before + zeros + digits + fraction if before or (point and zeros) else fraction - zeros
    return Picture("numeric", digits + fraction, scale, whole[0] == "S")
