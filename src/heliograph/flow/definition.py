"""What a flow consists of: nodes with properties, connections between terminals, and the files it was read from.

A `FlowDefinition` is plain data without any behaviour, so that it can be pickled, drawn, compared and compiled. It
comes from `flow.loading`, which checks it; `flow.engine` compiles it. Mistakes in what a user wrote are collected in
`Findings`, wherever they are found, and reported together.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from heliograph.common.documents import NOWHERE, Place
from heliograph.common.suggestions import closest_name
from heliograph.flow.errors import DefinitionProblem, Mistake


class Findings:
    """Mistakes and warnings, as they are found."""

    def __init__(self) -> None:
        self.found: dict[Mistake, None] = {}
        """Mistakes, in the order in which they were found."""
        self.warned: dict[Mistake, None] = {}
        """Warnings, in the order in which they were found."""

    def mistake(self, place: Place, text: str) -> None:
        """The flow cannot run like this. What is found twice (a subflow that is used twice) is told once."""
        self.found[Mistake(place, text)] = None

    def warning(self, place: Place, text: str) -> None:
        """It can run, but perhaps it is not what was meant."""
        self.warned[Mistake(place, text)] = None

    def warnings(self) -> tuple[Mistake, ...]:
        """In the order of files and lines."""
        return tuple(_in_order(self.warned))

    def count(self) -> int:
        """How many mistakes there are."""
        return len(self.found)

    def add(self, other: "Findings") -> None:
        """Add the findings of another check."""
        self.found.update(other.found)
        self.warned.update(other.warned)

    def raise_mistakes(self) -> None:
        """A `DefinitionProblem`, if there are any."""
        if self.found:
            raise DefinitionProblem(_in_order(self.found), self.warnings())


def _in_order(mistakes: Iterable[Mistake]) -> list[Mistake]:
    return sorted(mistakes, key=lambda mistake: (mistake.place.file, mistake.place.line, mistake.place.column))


def known(names: Iterable[str]) -> str:
    """The names that would have been right, for the end of a sentence."""
    return ", ".join(sorted(names)) or "none"


def suggestion(word: str, names: Iterable[str]) -> str:
    """` (did you mean x?)`, if one of the names is close to the word; otherwise nothing."""
    close = closest_name(word, names)
    return f" (did you mean {close}?)" if close else ""


@dataclass(frozen=True, slots=True)
class NodeDefinition:
    """One node: `name` is unique in the flow (nodes of a subflow are named `subflow.node`)."""

    name: str
    type: str
    """QueueInput, Compute, ...: a key of `nodes.kinds.KINDS`."""
    properties: Mapping[str, Any]
    """Every property that the type has: checked, parameters put in, defaults filled in."""
    place: Place = NOWHERE
    places: Mapping[str, Place] = field(default_factory=dict)
    """Where each property that was given stands."""


@dataclass(frozen=True, slots=True)
class Connection:
    """From a node's output terminal to another node's input terminal."""

    source: str
    terminal: str
    target: str
    input: str = "in"
    place: Place = NOWHERE


@dataclass(frozen=True, slots=True)
class FlowDefinition:
    """A flow as it runs: subflows are put in, parameters are replaced."""

    name: str
    folder: str
    """Where its files are; only for messages and for models' and programs' own paths."""
    nodes: Mapping[str, NodeDefinition]
    connections: Sequence[Connection]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Of the environment that was asked for; ESQL's EXTERNAL variables take their values from here."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """How the flow is run (additional_instances, coordinated, data_sources, ...): read by the runner."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """The text of every .esql, .map.yaml and .py file that a node names, by path inside the folder."""
    models: Mapping[str, str] = field(default_factory=dict)
    """The text of every file in models/, by name."""
    warnings: "Sequence[Mistake]" = ()


# What a flow says of how it runs on Spark: `spark: {single_partition: yes}`.

_KEYS = ("single_partition",)
_BOOLEANS = {"yes": True, "no": False, "true": True, "false": False}


def check_spark(settings: Mapping[str, Any], places: Mapping[str, Place], findings: Findings) -> None:
    """Tell what is wrong with it."""
    given = settings.get("spark")
    if given is None:
        return
    place = places["spark"]
    if not isinstance(given, Mapping):
        findings.mistake(place, f"expected {{single_partition: yes}} under spark, found {given!r}")
        return
    for key, value in given.items():
        if key not in _KEYS:
            findings.mistake(place, f"spark has no {key}{suggestion(key, _KEYS)}; it has: {known(_KEYS)}")
        elif str(value).lower() not in _BOOLEANS:
            findings.mistake(place, f"spark: {key} is yes or no, not {value!r}")


def single_partition(settings: Mapping[str, Any]) -> bool:
    """Whether all messages are to be processed one after the other, in one place."""
    return _BOOLEANS[str((settings.get("spark") or {}).get("single_partition", "no")).lower()]
