"""Data items: what the sentences of a copybook declare."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from heliograph.common.documents import Place
from heliograph.flow.errors import ModelProblem
from heliograph.flow.formats.copybook.sentences import Sentence, Token

# Pictures: what PIC says of a field.

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


USAGES = {
    "DISPLAY": "DISPLAY",
    "COMP": "BINARY",
    "COMP-4": "BINARY",
    "BINARY": "BINARY",
    "COMP-5": "NATIVE",
    "COMP-1": "SINGLE",
    "COMP-2": "DOUBLE",
    "COMP-3": "PACKED",
    "PACKED-DECIMAL": "PACKED",
    "COMP-6": "UNSIGNED-PACKED",
    "INDEX": "INDEX",
    "POINTER": "INDEX",
    "NATIONAL": "NATIONAL",
    "DISPLAY-1": "DISPLAY-1",
}
USAGES |= {name.replace("COMP", "COMPUTATIONAL"): usage for name, usage in USAGES.items() if name.startswith("COMP")}
NOISE = {"IS", "ARE", "TIMES", "ON", "WHEN", "BY", "KEY", "CHARACTER", "GLOBAL", "EXTERNAL"}
RENAMES, STANDALONE, CONDITION = 66, 77, 88
LEVELS = {str(level) for level in (*range(1, 50), RENAMES, STANDALONE, CONDITION)}
NUMBER = re.compile("[0-9]{1,9}").fullmatch


@dataclass(eq=False)
class Occurs:
    """How often an item comes."""

    least: int
    most: int
    depending: tuple[str, ...] = ()
    """The name of the field that says it, then of groups around that."""


@dataclass(eq=False)
class Item:
    """A data item with those below it."""

    level: int
    name: str
    place: Place
    picture: Picture | None = None
    usage: str = ""
    sign: str = ""
    """leading, leadingSeparate, trailing, trailingSeparate, or nothing."""
    occurs: Occurs | None = None
    redefines: str = ""
    sync: bool = False
    right: bool = False
    value: Token | None = None
    conditions: list[tuple[Token, Token | None]] = field(default_factory=list)
    """Values of its 88 levels, and where a range ends."""
    children: "list[Item]" = field(default_factory=list)
    parent: "Item | None" = None

    @property
    def is_filler(self) -> bool:
        """Whether it has no name of its own."""
        return self.name == "FILLER"

    def below(self) -> "Iterator[Item]":
        """All items below it, in order."""
        for child in self.children:
            yield child
            yield from child.below()


def items(text: Iterable[Sentence]) -> list[Item]:
    """The records (levels 01 and 77) that are declared, with usage and sign handed down from groups."""
    records: list[Item] = []
    current: Item | None = None
    for sentence in text:
        if sentence.tokens[0].word == "EXEC" and sentence.tokens[-1].word == "END-EXEC":
            continue  # the table that a program declares beside its record
        item = _Clauses(sentence).item()
        if item.level == RENAMES:
            continue
        if item.level == CONDITION:
            if current is None:
                raise ModelProblem(item.place, "expected an item before its 88 level")
            current.conditions += item.conditions
            continue
        _place(item, current, records)
        current = item
    for record in records:
        _settle(record)
    return records


def _place(item: Item, last: Item | None, records: list[Item]) -> None:
    """Put an item where its level says."""
    if item.level in (1, STANDALONE) or last is None:
        records.append(item)
        return
    around: Item | None = last
    while around is not None and around.level >= item.level:
        around = around.parent
    if around is None:
        if records[0].level >= item.level and records[0].level != 1:  # a copybook without an 01
            records.append(item)
            return
        raise ModelProblem(item.place, f"level {item.level:02}: there is no group that {item.name} could be in")
    siblings = around.children
    if siblings and siblings[0].level != item.level:
        raise ModelProblem(item.place, f"expected level {siblings[0].level:02}, as beside it, found {item.level:02}")
    if around.picture is not None:
        raise ModelProblem(item.place, f"{around.name} has a PICTURE, so {item.name} cannot be in it")
    item.parent = around
    siblings.append(item)


def _settle(item: Item) -> None:
    """Hand usage and sign down, and refuse what says nothing."""
    for child in item.children:
        child.usage = child.usage or item.usage
        child.sign = child.sign or item.sign
        _settle(child)
    if not item.children and item.picture is None and item.usage not in ("SINGLE", "DOUBLE", "INDEX"):
        raise ModelProblem(item.place, f"{item.name}: expected a PICTURE, or items below it")


class _Clauses:
    """One sentence while it is read."""

    def __init__(self, sentence: Sentence) -> None:
        self._tokens = sentence.tokens
        self._at = 0
        self._place = sentence.place

    def item(self) -> Item:
        level = self._next("a level")
        if level.text.lstrip("0") not in LEVELS:
            raise ModelProblem(level.place, f"expected a level number, found {level.text}")
        name = "FILLER"
        if self._peek() and not (self._peek() in CLAUSES or self._peek() in USAGES):
            name = self._next("a name").word
        item = Item(int(level.text), name, self._place)
        while self._peek():
            self._clause(item)
        return item

    def _peek(self) -> str:
        return self._tokens[self._at].word if self._at < len(self._tokens) else ""

    def _next(self, expected: str) -> Token:
        if self._at == len(self._tokens):
            raise ModelProblem(self._tokens[-1].place, f"expected {expected} behind {self._tokens[-1].text}")
        self._at += 1
        return self._tokens[self._at - 1]

    def _skip(self, *words: str) -> bool:
        """Whether one of these words is next; it is left behind."""
        if self._peek() in words:
            self._at += 1
            return True
        return False

    def _clause(self, item: Item) -> None:
        token = self._next("a clause")
        word = token.word
        if word in USAGES:
            item.usage = USAGES[word]
        elif word in CLAUSES:
            CLAUSES[word](self, item, token)
        elif word not in NOISE:
            raise ModelProblem(token.place, f"{item.name}: expected a clause of a data item, found {token.text}")

    def picture(self, item: Item, _: Token) -> None:
        self._skip("IS")
        text = self._next("a picture")
        try:
            item.picture = picture(text.text)
        except ValueError:
            raise ModelProblem(text.place, f"{item.name}: expected a picture, found {text.text}") from None

    def usage(self, item: Item, _: Token) -> None:
        self._skip("IS")
        usage = self._next("a usage")
        if usage.word not in USAGES:
            known = ", ".join(USAGES)
            raise ModelProblem(usage.place, f"{item.name}: expected a usage ({known}), found {usage.text}")
        item.usage = USAGES[usage.word]

    def occurs(self, item: Item, _: Token) -> None:
        least = self._number(item)
        most = self._number(item) if self._skip("TO") else least
        self._skip("TIMES")
        item.occurs = Occurs(least, most)
        if self._skip("DEPENDING"):
            self._skip("ON")
            names = [self._next("a name").word]
            while self._skip("OF", "IN"):
                names.append(self._next("a name").word)
            item.occurs.depending = tuple(names)

    def _number(self, item: Item) -> int:
        token = self._next("a number")
        if NUMBER(token.text) is None:
            raise ModelProblem(token.place, f"{item.name} OCCURS: expected a number, found {token.text}")
        return int(token.text)

    def redefines(self, item: Item, _: Token) -> None:
        item.redefines = self._next("a name").word

    def sign(self, item: Item, token: Token) -> None:
        if token.word == "SIGN":
            self._skip("IS")
            token = self._next("LEADING or TRAILING")
        if token.word not in ("LEADING", "TRAILING"):
            raise ModelProblem(token.place, f"{item.name} SIGN: expected LEADING or TRAILING, found {token.text}")
        item.sign = token.word.lower() + ("Separate" if self._skip("SEPARATE") else "")

    def sync(self, item: Item, _: Token) -> None:
        self._skip("LEFT", "RIGHT")
        item.sync = True

    def justified(self, item: Item, _: Token) -> None:
        self._skip("RIGHT")
        item.right = True

    def blank(self, item: Item, _: Token) -> None:
        self._skip("WHEN")
        self._next("ZERO")

    def value(self, item: Item, _: Token) -> None:
        self._skip("IS", "ARE")
        first = True
        while first or (self._peek() and self._peek() not in CLAUSES and self._peek() not in USAGES):
            literal = self._next("a literal")
            self._skip("ALL")
            until = self._next("a literal") if self._skip("THRU", "THROUGH") else None
            if first and item.level != CONDITION:
                item.value = literal
            item.conditions += [(literal, until)] if item.level == CONDITION else []
            first = False

    def names(self, _item: Item, _: Token) -> None:
        """Keys and indexes of a table, which have no bytes."""
        self._skip("KEY")
        self._skip("IS", "BY")
        while self._peek() and self._peek() not in CLAUSES and self._peek() not in USAGES:
            self._next("a name")

    def renames(self, _item: Item, _: Token) -> None:
        self._at = len(self._tokens)


CLAUSES = {
    "PIC": _Clauses.picture,
    "PICTURE": _Clauses.picture,
    "USAGE": _Clauses.usage,
    "OCCURS": _Clauses.occurs,
    "REDEFINES": _Clauses.redefines,
    "SIGN": _Clauses.sign,
    "LEADING": _Clauses.sign,
    "TRAILING": _Clauses.sign,
    "SYNC": _Clauses.sync,
    "SYNCHRONIZED": _Clauses.sync,
    "JUST": _Clauses.justified,
    "JUSTIFIED": _Clauses.justified,
    "BLANK": _Clauses.blank,
    "VALUE": _Clauses.value,
    "VALUES": _Clauses.value,
    "ASCENDING": _Clauses.names,
    "DESCENDING": _Clauses.names,
    "INDEXED": _Clauses.names,
    "RENAMES": _Clauses.renames,
}
