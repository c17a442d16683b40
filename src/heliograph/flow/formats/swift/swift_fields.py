"""Fields of SWIFT messages: the notation of the standard, and how a field is read and written by it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from heliograph.errors import InvalidInput
from heliograph.flow.tree import Element, Value
from heliograph.flow.tree.element_types import NAME_VALUE

# SWIFT's notation for the content of a field, such as `:4!c//8!n`, as a pattern with one group per component.
#
# `4!c` is exactly four characters of kind c, `16x` up to sixteen of kind x, `4*35x` up to four lines of them; what
# stands in brackets may be missing; anything else stands for itself. Three signs are ours: `$` is a line end, except
# at the beginning of the field, `~` is all the rest, and braces make one component of several items
# (`{4!a2!a2!c[3!c]}`: a BIC).

KINDS = {
    "n": "[0-9]",
    "a": "[A-Z]",
    "c": "[A-Z0-9]",
    "h": "[A-F0-9]",
    "x": r"[A-Za-z0-9/\-?:().,'+ ]",
    "y": r"[A-Z0-9 .,\-()/='+:?!\"%&*<>;]",
    "z": r"[A-Za-z0-9 .,\-()/='+:?!\"%&*<>;{@#_]",
}
BLANK, AMOUNT = "e", "d"
LINE_END = "$"
REST = "~"

_ITEM = re.compile(r"(?:(?P<lines>\d+)\*)?(?P<length>\d+)(?P<exact>!)?(?P<kind>[nachxyzde])|(?P<mark>.)", re.DOTALL)


@dataclass(slots=True)
class Literal:
    """Characters that stand for themselves, or a line end."""

    text: str


@dataclass(slots=True)
class Component:
    """One value of the field."""

    pattern: str
    amount: bool = False
    """It is a number with a decimal comma."""
    several_lines: bool = False
    name: str = ""


@dataclass(slots=True)
class Bracket:
    """What stands in brackets."""

    items: "list[Item]" = field(default_factory=list)

    def components(self) -> list[Component]:
        """The values inside."""
        return [component for item in self.items for component in components_of(item)]


Item = Literal | Component | Bracket


def components_of(item: Item) -> list[Component]:
    """The values in an item, in order."""
    if isinstance(item, Component):
        return [item]
    return item.components() if isinstance(item, Bracket) else []


def parse(notation: str) -> list[Item]:
    """The items of a notation."""
    return _Reader(notation).items(end="")


def pattern(items: list[Item]) -> str:
    """A regular expression with one group for each component."""
    return "".join(_pattern(item) for item in items)


def _pattern(item: Item) -> str:
    if isinstance(item, Literal):
        return r"(?:^|\r?\n)" if item.text == LINE_END else re.escape(item.text)
    if isinstance(item, Component):
        return f"({item.pattern})"
    return f"(?:{pattern(item.items)})?"


class _Reader:
    def __init__(self, notation: str) -> None:
        self.notation = notation
        self.at = 0

    def items(self, end: str) -> list[Item]:
        """The items up to this closing mark."""
        items: list[Item] = []
        while self.at < len(self.notation):
            found = _ITEM.match(self.notation, self.at)
            assert found is not None  # any character is a mark
            self.at = found.end()
            mark = found["mark"]
            if mark is None:
                items.append(_data(found))
            elif mark == end:
                return items
            elif mark == "[":
                items.append(_bracket(self.items("]")))
            elif mark == "{":
                items.append(Component(_without_groups(self.items("}"))))
            elif mark == REST:
                items.append(Component(r"[\s\S]*", several_lines=True))
            elif mark in "]}":
                break
            elif items and isinstance(items[-1], Literal) and LINE_END not in (mark, items[-1].text):
                items[-1].text += mark
            else:
                items.append(Literal(mark))
        else:
            if not end:
                return items
        expected = f"{end!r}" if end else "no closing bracket"
        raise InvalidInput(f"Field format {self.notation!r}: expected {expected} at character {self.at}.")


def _data(found: re.Match[str]) -> Item:
    length, kind = int(found["length"]), found["kind"]
    if kind == BLANK:
        return Literal(" " * length)
    if kind == AMOUNT:
        return Component(rf"(?=[0-9,]{{2,{length}}}(?![0-9,]))[0-9]+,[0-9]*", amount=True)
    line = f"{KINDS[kind]}{{{length}}}" if found["exact"] else f"{KINDS[kind]}{{1,{length}}}"
    lines = int(found["lines"] or 1)
    if lines == 1:
        return Component(line)
    return Component(rf"{line}(?:\r?\n{line}){{0,{lines - 1}}}", several_lines=True)


def _bracket(items: list[Item]) -> Item:
    """Brackets around characters only, such as the `N` of a negative amount, make a component of them."""
    if len(items) == 1 and isinstance(items[0], Literal) and items[0].text != LINE_END:
        return Bracket([Component(re.escape(items[0].text))])
    return Bracket(items)


def _without_groups(items: list[Item]) -> str:
    return "".join(
        item.pattern
        if isinstance(item, Component)
        else f"(?:{_without_groups(item.items)})?"
        if isinstance(item, Bracket)
        else re.escape(item.text)
        for item in items
    )


# Formats of single fields: a field's text to component elements and back, compiled from SWIFT's notation.


class FieldFormat:
    """How the text of a field is made of components. Without names of components, the field is one value."""

    def __init__(self, tag: str, text: str, names: Sequence[str] = ()) -> None:
        self.tag = tag
        self.notation = text
        self.names = tuple(names)
        items = parse(text)
        components = [component for item in items for component in components_of(item)]
        if names and len(names) != len(components):
            raise InvalidInput(
                f"Field {tag}, format {text!r}: expected names for {len(components)} components, found {len(names)}."
            )
        for component, name in zip(components, names, strict=False):
            component.name = name
        optional = {id(one) for item in items if isinstance(item, Bracket) for one in item.components()}
        self.components = [(one.name, one.amount, id(one) in optional) for one in components]
        """Name, whether it is a number, and whether it may be missing, of each."""
        self.fits = re.compile(pattern(items)).fullmatch
        """Whether a text may be in this field: a match, or None."""
        self.source = _source(components, items, optional)
        scope: dict[str, Any] = {
            "match": self.fits,
            "Element": Element,
            "Decimal": Decimal,
            "NAME_VALUE": NAME_VALUE,
            "plain": plain,
            "lines": lines,
        }
        exec(compile(self.source, f"<field {tag!r}>", "exec"), scope)  # noqa: S102  the source is made from the model
        self.read: Callable[[Element, str], list[Element] | None] = scope["read"]
        """The component elements of a field's text; None if the text does not fit."""
        self.write: Callable[[dict[str, Value], str], str] = scope["write"]
        """The text of components by name, with this line end; not checked against the pattern."""


def plain(value: Value) -> str:
    """The text of a component: numbers have a decimal comma, nothing is an empty text."""
    if type(value) is str:
        return value
    if value is None:
        return ""
    if isinstance(value, float):
        value = Decimal(repr(value))
    if isinstance(value, Decimal):
        text = f"{value:f}".replace(".", ",")
        return text if "," in text else text + ","
    return str(value)


def lines(value: Value, line_end: str) -> str:
    """The text of a component that may have several lines."""
    text = plain(value)
    return "\r\n".join(text.splitlines()) if line_end == "\r\n" else text.replace("\r\n", "\n")


def _source(components: list[Component], items: list[Item], optional: set[int]) -> str:
    """Straight-line code that makes the elements, and code that puts the text together again."""
    groups = {id(component): f"g{number}" for number, component in enumerate(components)}
    code = ["def read(field, text):", "    found = match(text)", "    if found is None:", "        return None"]
    code.append(f"    {', '.join(groups.values())}, = found.groups()")
    code.append("    children = []")
    for component in components:
        group = groups[id(component)]
        indent = "    "
        if id(component) in optional:
            code.append(f"    if {group} is not None:")
            indent = "        "
        value = f"Decimal({group}.replace(',', '.'))" if component.amount else group
        code.append(f"{indent}child = Element({component.name!r}, {value}, NAME_VALUE)")
        code.append(f"{indent}child.parent = field")
        code.append(f"{indent}children.append(child)")
    code.append("    return children")
    code.append("def write(values, line_end):")
    code.append("    get = values.get")
    code.append("    text = ''")
    code.extend(_writing(items, "    "))
    code.append("    return text")
    return "\n".join(code) + "\n"


def _writing(items: list[Item], indent: str) -> list[str]:
    code: list[str] = []
    for item in items:
        if isinstance(item, Literal):
            text = "line_end if text else ''" if item.text == LINE_END else repr(item.text)
            code.append(f"{indent}text += {text}")
        elif isinstance(item, Component):
            got = f"get({item.name!r})"
            call = f"lines({got}, line_end)" if item.several_lines else f"plain({got})"
            code.append(f"{indent}text += {call}")
        else:
            present = " or ".join(f"get({component.name!r}) is not None" for component in item.components())
            code.append(f"{indent}if {present}:")
            code.extend(_writing(item.items, indent + "    "))
    return code


# What a sequence of a SWIFT message must hold: fields and inner sequences, in order, and how often each.

_EXPECTED_ITEM = re.compile(r"(?P<name>[0-9]{2}[A-Za-z]?|[A-Z][A-Z0-9]*)(?P<occurs>[?+*]?)")
FIELD_TAG = re.compile(r"[0-9]{2,3}[A-Z]?")
AT_LEAST_ONE, AT_MOST_ONE = ("", "+"), ("", "?")


@dataclass(frozen=True, slots=True)
class Expected:
    """One item of a sequence."""

    pattern: str
    name: str
    occurs: str

    def describe(self) -> str:
        """What to call it in a message to people."""
        return f"field {self.name}" if self.name[0].isdigit() else f"sequence {self.name}"


class Content:
    """The items of a sequence, as one pattern over the names of what the sequence holds."""

    def __init__(self, items: Sequence[str]) -> None:
        self.expected = [expected_item(item) for item in items]
        self._fits = re.compile("".join(f"(?:{one.pattern} ){one.occurs}" for one in self.expected)).fullmatch

    def fits(self, names: list[str]) -> bool:
        """Whether a sequence may hold these tags and codes in this order."""
        return self._fits(" ".join(names) + " " if names else "") is not None

    def misfit(self, names: list[str]) -> tuple[str, str, int]:
        """What was expected and found instead, and at which place; only for names that do not fit."""
        at = 0
        tried: list[str] = []
        for one in self.expected:
            start = at
            while (
                at < len(names)
                and re.fullmatch(one.pattern, names[at])
                and (at == start or one.occurs not in AT_MOST_ONE)
            ):
                at += 1
            if at > start:
                tried = []
            elif one.occurs in AT_LEAST_ONE:
                return one.describe(), _found(names, at), at
            else:
                tried.append(one.describe())
        return " or ".join([*tried, "the end of the sequence"]), _found(names, at), at


def _found(names: list[str], at: int) -> str:
    if at >= len(names):
        return "the end of the sequence"
    return f"field {names[at]}" if names[at][0].isdigit() else f"sequence {names[at]}"


def expected_item(item: str) -> Expected:
    """The item that is written like `98a?`."""
    found = _EXPECTED_ITEM.fullmatch(item)
    if found is None:
        raise InvalidInput(
            f"expected a tag such as 20C or 98a, or the code of a sequence, with ?, + or * behind it; found {item!r}"
        )
    name = found["name"]
    pattern = name[:-1] + "[A-Z]?" if name[-1].islower() else name
    return Expected(pattern, name, found["occurs"])
