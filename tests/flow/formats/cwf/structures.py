"""Models and parts for the tests of fixed structures."""

from typing import Any

from heliograph.flow.formats.model import Models
from heliograph.flow.tree import Element, Part, Text

BIG = 273
LITTLE = 546
S390 = 785


def model_of(members: str, properties: str = "") -> Models:
    """A model M with one message of these members (one in each line) in CWF1."""
    lines = ["formats:", f"  CWF1: {{kind: CWF{', ' if properties else ''}{properties}}}", "messages:", "  M:"]
    lines.append("    sequence:")
    lines += [f"      {line}" for line in members.strip("\n").splitlines()]
    return Models({"M.model.yaml": "\n".join(lines)})


def field(kind: str, properties: str, more: str = "") -> str:
    """The line of a field F."""
    return f"- {{name: F, type: {kind}, {more}{', ' if more else ''}CWF1: {{{properties}}}}}"


def built(models: Models, values: dict[str, Any], ccsid: int = 1208, encoding: int = BIG) -> Part:
    """A part with elements of these values; a list is an element for each, a dict is one with children."""
    text = Text(ccsid, encoding)
    part = Part(models.format(text), None, text)
    _put(part, values)
    return part


def _put(parent: Element, values: dict[str, Any]) -> None:
    for name, value in values.items():
        for each in value if isinstance(value, list) else [value]:
            child = parent.append(Element(name))
            if isinstance(each, dict):
                _put(child, each)
            else:
                child.set_value(each)


def written(models: Models, values: dict[str, Any], ccsid: int = 1208, encoding: int = BIG) -> bytes:
    """The bytes of these values."""
    return built(models, values, ccsid, encoding).bytes()


def parsed(models: Models, data: bytes, ccsid: int = 1208, encoding: int = BIG) -> Part:
    """A part of these bytes, not read yet."""
    text = Text(ccsid, encoding)
    return Part(models.format(text), data, text)


def values_of(element: Element) -> dict[str, Any]:
    """What `built` takes, from elements; one that comes once is no list."""
    found: dict[str, list[Any]] = {}
    for child in element.children:
        found.setdefault(child.name, []).append(values_of(child) if child.children else child.value)
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


def read(models: Models, data: bytes, ccsid: int = 1208, encoding: int = BIG) -> dict[str, Any]:
    """The values in these bytes."""
    return values_of(parsed(models, data, ccsid, encoding))


def written_again(models: Models, data: bytes, ccsid: int = 1208, encoding: int = BIG) -> bytes:
    """The bytes, read and then written although nothing has changed."""
    part = parsed(models, data, ccsid, encoding)
    for element in part.children:
        element.touch()
    return part.bytes()


TABLE = """
- {name: N, type: integer, CWF1: {length: 1}}
- name: Item
  occurs: 0..3
  CWF1: {occursCount: "{../N}"%s}
  sequence:
    - {name: A, type: string, CWF1: {length: 2}}
    - {name: B, type: integer, CWF1: {length: 1}}
- {name: End, type: string, CWF1: {length: 1}}
"""


CHOICE = """
- {name: Kind, type: string, CWF1: {length: 1}}
- choice:
    - {name: Text, type: string, CWF1: {length: 4%s}}
    - name: Pair
      %s
      sequence:
        - {name: X, type: integer, CWF1: {length: 1}}
        - {name: Y, type: integer, CWF1: {length: 1}}
  %s
- {name: End, type: string, CWF1: {length: 1}}
"""
