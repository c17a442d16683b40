"""All scenarios that there are: one YAML file for each, in a folder for each document."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

from heliograph.errors import Problem
from heliograph.flow.definition.mistakes import known, suggestion
from heliograph.lab.scenarios.reading import read_scenario
from heliograph.lab.scenarios.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Source:
    """A performance report that scenarios are taken from."""

    name: str
    title: str
    date: str


SOURCES = (
    Source("messagesight", "IBM MessageSight Appliance v1.0 Performance Benchmarks", "April 2013"),
    Source("messagesight-ve", "IBM MessageSight Virtual Edition performance benchmarks", ""),
    Source("mq-appliance", "IBM MQ Appliance Performance Report, model M2003, version 1.0", "May 2023"),
    Source("messagesight-bridge", "IBM MessageSight benchmark BRIDGE.SINGLEFWD", ""),
    Source(
        "message-broker",
        "WebSphere Business Integration Message Broker for Solaris V5 performance report, version 3.0",
        "September 2004",
    ),
)


def catalogue(document: str = "") -> list[Scenario]:
    """All scenarios, or those of one document, in the order of the documents."""
    names = [source.name for source in SOURCES]
    if document and document not in names:
        raise Problem(f"there is no document {document}{suggestion(document, names)}; there are {known(names)}")
    return [scenario for scenario in _all() if document in {"", scenario.document}]


def load(name: str) -> Scenario:
    """The scenario of this name."""
    for scenario in _all():
        if scenario.name == name:
            return scenario
    names = [scenario.name for scenario in _all()]
    hint = suggestion(name, names) or "; `helio lab list` shows all"
    raise Problem(f"there is no scenario {name}{hint}")


@cache
def _all() -> tuple[Scenario, ...]:
    return tuple(_read())


def _read() -> Iterator[Scenario]:
    folder = resources.files("heliograph.lab.scenarios")
    for source in SOURCES:
        files = [file for file in (folder / source.name).iterdir() if file.name.endswith(".yaml")]
        scenarios = [_one(file, source.name) for file in files]
        yield from sorted(scenarios, key=_in_order)


def _one(file: Traversable, document: str) -> Scenario:
    scenario = read_scenario(file.read_text("utf-8"), f"{document}/{file.name}", document)
    if file.name != f"{scenario.name}.yaml":
        raise Problem(f"{document}/{file.name}: its name is {scenario.name}, so the file has to be {scenario.name}.yaml")
    return scenario


def _in_order(scenario: Scenario) -> tuple[list[int], str]:
    """By section of the document, else by name."""
    return [int(number) for number in scenario.section.split(".") if number.isdigit()], scenario.name
