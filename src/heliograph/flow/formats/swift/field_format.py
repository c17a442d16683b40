"""Formats of single fields: a field's text to component elements and back, compiled from SWIFT's notation."""

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from heliograph.errors import Problem
from heliograph.flow.formats.swift import notation
from heliograph.flow.formats.swift.notation import Component, Item, Literal, components_of
from heliograph.flow.tree import Element, Value
from heliograph.flow.tree.types import NAME_VALUE


class FieldFormat:
    """How the text of a field is made of components. Without names of components, the field is one value."""

    def __init__(self, tag: str, text: str, names: Sequence[str] = ()) -> None:
        self.tag = tag
        self.notation = text
        self.names = tuple(names)
        items = notation.parse(text)
        components = [component for item in items for component in components_of(item)]
        if names and len(names) != len(components):
            raise Problem(
                f"Field {tag}, format {text!r}: expected names for {len(components)} components, found {len(names)}."
            )
        for component, name in zip(components, names, strict=False):
            component.name = name
        optional = {id(one) for item in items if isinstance(item, notation.Bracket) for one in item.components()}
        self.components = [(one.name, one.amount, id(one) in optional) for one in components]
        """Name, whether it is a number, and whether it may be missing, of each."""
        self.fits = re.compile(notation.pattern(items)).fullmatch
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
            text = "line_end if text else ''" if item.text == notation.LINE_END else repr(item.text)
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
