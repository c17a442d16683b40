"""A tree as text for people, in the form that traces of message brokers have."""

from heliograph.flow.language.values.types import character
from heliograph.flow.tree.element import Element, Value


def dump_tree(element: Element) -> str:
    """This element and everything below, one element per line: `(0x1000000)Name = (` ... `)`."""
    lines: list[str] = []
    _dump(element, "", lines)
    return "\n".join(lines)


def _dump(element: Element, indent: str, lines: list[str]) -> None:
    name = f"{element.namespace}:{element.name}" if element.namespace else element.name
    head = f"{indent}({element.type:#x}){name} ="
    children = element.children
    if element.value is not None or not children:
        head += f" {_literal(element.value)}"
    if not children:
        lines.append(head)
        return
    lines.append(f"{head} (")
    for child in children:
        _dump(child, indent + "  ", lines)
    lines.append(f"{indent})")


def _literal(value: Value) -> str:
    """The value as ESQL would write it."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return character(value)
