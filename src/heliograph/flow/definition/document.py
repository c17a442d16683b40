"""YAML files with the place of everything in them.

Words are not guessed at: only `true` and `false` are booleans (`yes`, `no`, `on` and `off` are words, for transaction
modes and terminals), and dates and times are text.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from heliograph.flow.definition.flow import Place
from heliograph.flow.definition.mistakes import Findings

Path = tuple[str | int, ...]


class _Loader(yaml.SafeLoader):
    """SafeLoader with fewer guesses."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - as the base class has it


_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), None)
_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"^(?:~|null|Null|NULL|)$"), None)
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"^[-+]?(?:0|[1-9][0-9]*|0x[0-9a-fA-F]+)$"), None)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?[0-9]+(?:\.[0-9]*(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)$"), None
)
_Loader.add_implicit_resolver("tag:yaml.org,2002:merge", re.compile(r"^<<$"), None)


class Document:
    """One file: plain values, and where each of them stands."""

    def __init__(self, file: str, value: Any, places: Mapping[Path, Place]) -> None:
        self.file = file
        self.value = value
        self._places = places

    def place(self, *path: str | int) -> Place:
        """Where the entry at this path stands (its key, in a mapping), or else the nearest one around it."""
        while path and path not in self._places:
            path = path[:-1]
        return self._places.get(path, Place(self.file, 1, 1))


def read_document(text: str, file: str, findings: Findings) -> Document:
    """Read YAML; mistakes in it are findings, and the value is then None."""
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Place(file, mark.line + 1, mark.column + 1) if mark is not None else Place(file)
        findings.mistake(place, f"this is not YAML: {error.problem or error.context}")
        return Document(file, None, {})
    except yaml.YAMLError as error:
        findings.mistake(Place(file), f"this is not YAML: {error}")
        return Document(file, None, {})
    places: dict[Path, Place] = {}
    value = _Reader(file, places, findings).value(node, ()) if node is not None else None
    return Document(file, value, places)


class _Reader:
    """Turns YAML's nodes into plain values."""

    def __init__(self, file: str, places: dict[Path, Place], findings: Findings) -> None:
        self._file = file
        self._places = places
        self._findings = findings

    def value(self, node: yaml.Node, path: Path) -> Any:
        self._places.setdefault(path, self._place(node))
        if isinstance(node, yaml.MappingNode):
            return dict(self._entries(node, path))
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*path, at)) for at, item in enumerate(node.value)]
        return self._scalar(node)

    def _entries(self, node: yaml.MappingNode, path: Path) -> Iterator[tuple[str, Any]]:
        seen: dict[str, Place] = {}
        for key, value in node.value:
            place = self._place(key)
            if not isinstance(key, yaml.ScalarNode):
                self._findings.mistake(place, "a key has to be a word")
                continue
            name = key.value
            if name in seen:
                self._findings.mistake(place, f"{name} is there twice: first in line {seen[name].line}")
                continue
            seen[name] = self._places[*path, name] = place
            yield name, self.value(value, (*path, name))

    def _scalar(self, node: yaml.Node) -> Any:
        constructor = yaml.constructor.SafeConstructor()
        try:
            return constructor.construct_object(node)
        except yaml.constructor.ConstructorError as error:
            self._findings.mistake(self._place(node), error.problem or "a value of an unknown type")
            return None

    def _place(self, node: yaml.Node) -> Place:
        mark = node.start_mark
        return Place(self._file, mark.line + 1, mark.column + 1)
