"""YAML files with the position of every entry, so that errors can name line and column.

Only `true` and `false` are booleans: `yes`, `no`, `on` and `off` are text, because they are names of transaction modes
and terminals. Dates and times are text, too.

A `Document` has plain values, and reports all mistakes; an `Entry` has each scalar as it is written, and stops at the
first mistake.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from heliograph.errors import Problem

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a file something stands; lines and columns count from 1, and 0 is for what is not known."""

    file: str = ""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return ":".join([self.file, *(str(number) for number in (self.line, self.column) if number)])


NOWHERE = Place()

Tell = Callable[[Place, str], object]
"""Called for each mistake, with its place and text."""


class _Loader(yaml.SafeLoader):
    """SafeLoader with fewer guesses."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - as the base class has it


class _FastLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """The same with libyaml's parser, where PyYAML has it: ten times faster, but it words mistakes differently."""

    yaml_implicit_resolvers = _Loader.yaml_implicit_resolvers


def _guess(tag: str, pattern: str) -> None:
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(pattern), None)


_guess("bool", r"^(?:true|True|TRUE|false|False|FALSE)$")
_guess("null", r"^(?:~|null|Null|NULL|)$")
_guess("int", r"^[-+]?(?:0|[1-9][0-9]*|0x[0-9a-fA-F]+)$")
_guess("float", r"^[-+]?[0-9]+(?:\.[0-9]*(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)$")
_guess("merge", r"^<<$")


DEEPEST = 100
"""How many mappings and lists may stand in each other."""
MOST_ENTRIES = 200_000
"""Mappings, lists and scalars of a file, aliases counted with all that they stand for: a few lines of aliases of
aliases could stand for more than any memory holds."""


def _single_node(text: str) -> yaml.Node | None:
    try:
        return _node(text, _FastLoader)
    except yaml.YAMLError:
        return _node(text, _Loader)  # for the mistake in the words that all installations use


def _node(text: str, loader: Any) -> yaml.Node | None:
    _check_size(yaml.parse(text, loader))
    node: yaml.Node | None = yaml.compose(text, loader)
    return node


class _RefusedError(Exception):
    """YAML whose aliases expand to too much."""

    def __init__(self, text: str, mark: Any) -> None:
        super().__init__(text)
        self.mark = mark


@dataclass(slots=True)
class _Size:
    """Of a mapping or list: how much it holds, with itself, and how deep."""

    anchor: str | None
    entries: int = 1
    levels: int = 1

    def add(self, entries: int, levels: int, mark: Any) -> None:
        """Something in it."""
        self.entries += entries
        self.levels = max(self.levels, levels + 1)
        if self.entries > MOST_ENTRIES:
            raise _RefusedError(
                f"this file has more than {MOST_ENTRIES} entries, with what its aliases stand for", mark
            )
        if self.levels > DEEPEST + 1:  # the file itself is one
            raise _RefusedError(f"there are more than {DEEPEST} levels in each other here", mark)


def _check_size(events: Iterable[yaml.Event]) -> None:
    """Refuse what would be too large, before anything is made of it."""
    open_ones: list[_Size] = [_Size(None)]
    known: dict[str, tuple[int, int]] = {}
    for event in events:
        if isinstance(event, yaml.CollectionStartEvent):
            open_ones.append(_Size(event.anchor))
            if len(open_ones) > DEEPEST + 1:
                open_ones[0].add(0, DEEPEST + 1, event.start_mark)
        elif isinstance(event, yaml.CollectionEndEvent):
            done = open_ones.pop()
            open_ones[-1].add(done.entries, done.levels, event.start_mark)
            if done.anchor:
                known[done.anchor] = done.entries, done.levels
        elif isinstance(event, yaml.AliasEvent):
            if any(one.anchor == event.anchor for one in open_ones):
                raise _RefusedError(f"*{event.anchor} stands for something that it is in itself", event.start_mark)
            open_ones[-1].add(*known.get(event.anchor or "", (1, 0)), event.start_mark)
        elif isinstance(event, yaml.ScalarEvent):
            open_ones[-1].add(1, 0, event.start_mark)


def _composed(text: str, file: str, tell: Tell) -> yaml.Node | None:
    """The nodes of the file; None if it is empty or no YAML."""
    try:
        return _single_node(text)
    except _RefusedError as error:
        tell(Place(file, error.mark.line + 1, error.mark.column + 1), str(error))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Place(file, mark.line + 1, mark.column + 1) if mark is not None else Place(file)
        tell(place, f"this is not YAML: {error.problem or error.context}")
    except yaml.YAMLError as error:
        tell(Place(file), f"this is not YAML: {error}")
    return None


def _place(node: yaml.Node, file: str) -> Place:
    return Place(file, node.start_mark.line + 1, node.start_mark.column + 1)


def _members(node: yaml.MappingNode, file: str, tell: Tell) -> Iterator[tuple[str, Place, yaml.Node]]:
    """The names of a mapping, each once, with their places and what they stand for."""
    seen: dict[str, Place] = {}
    for key, value in node.value:
        place = _place(key, file)
        if not isinstance(key, yaml.ScalarNode):
            tell(place, "a key has to be a word")
        elif key.value in seen:
            tell(place, f"{key.value} is there twice: first in line {seen[key.value].line}")
        else:
            seen[key.value] = place
            yield key.value, place, value


def _scalar(node: yaml.Node, file: str, tell: Tell) -> Any:
    try:
        return yaml.constructor.SafeConstructor().construct_object(node)
    except yaml.constructor.ConstructorError as error:
        tell(_place(node, file), error.problem or "a value of an unknown type")
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        tell(_place(node, file), f"this is not of the type {node.tag.removeprefix('tag:yaml.org,2002:')}")
    return None


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


def read_document(text: str, file: str, tell: Tell) -> Document:
    """Read YAML. Mistakes are reported to `tell`; the value is then None, or lacks them."""
    places: dict[Path, Place] = {}
    node = _composed(text, file, tell)

    def value(node: yaml.Node, path: Path) -> Any:
        places.setdefault(path, _place(node, file))
        if isinstance(node, yaml.MappingNode):
            result = {}
            for name, place, inner in _members(node, file, tell):
                places[*path, name] = place
                result[name] = value(inner, (*path, name))
            return result
        if isinstance(node, yaml.SequenceNode):
            return [value(item, (*path, at)) for at, item in enumerate(node.value)]
        return _scalar(node, file, tell)

    return Document(file, value(node, ()) if node is not None else None, places)


class Entry:
    """A mapping, list or scalar of a file. A mistake is a problem of the kind that the reader of the file raises."""

    def __init__(self, node: yaml.Node, place: Place, problem: Callable[[Place, str], Problem]) -> None:
        self._node = node
        self.place = place
        self._problem = problem

    @property
    def value(self) -> Any:
        """As Python values."""
        node, file = self._node, self.place.file
        if isinstance(node, yaml.MappingNode):
            return {name: entry.value for name, entry in self.mapping().items()}
        if isinstance(node, yaml.SequenceNode):
            return [entry.value for entry in self.items()]
        return _scalar(node, file, self._fail)

    def text(self) -> str:
        """The scalar as it is written."""
        if not isinstance(self._node, yaml.ScalarNode):
            raise self._problem(self.place, "expected text, found a mapping or a list")
        return str(self._node.value)

    def mapping(self) -> "dict[str, Entry]":
        """Its values by name; each has the place of its name."""
        if not isinstance(self._node, yaml.MappingNode):
            raise self._problem(self.place, f"expected names with values, found {self.value!r}")
        members = _members(self._node, self.place.file, self._fail)
        return {name: Entry(node, place, self._problem) for name, place, node in members}

    def items(self) -> "Iterator[Entry]":
        """The entries of a list."""
        if not isinstance(self._node, yaml.SequenceNode):
            raise self._problem(self.place, f"expected a list, found {self.value!r}")
        for node in self._node.value:
            yield Entry(node, _place(node, self.place.file), self._problem)

    def _fail(self, place: Place, text: str) -> None:
        raise self._problem(place, text)


def read_entries(text: str, file: str, problem: Callable[[Place, str], Problem]) -> Entry:
    """The file as entries."""

    def fail(place: Place, text: str) -> None:
        raise problem(place, text)

    node = _composed(text, file, fail)
    if node is None:
        raise problem(Place(file, 1), "this file is empty")
    return Entry(node, _place(node, file), problem)
