"""All scenarios: one YAML file for each, in a folder for each document."""

from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

from heliograph.flow.definition import known, suggestion
from heliograph.lab.errors import InvalidScenario
from heliograph.lab.scenarios.scenario import Scenario
from heliograph.lab.scenarios.scenario_reader import read_scenario


@dataclass(frozen=True, slots=True)
class ReportDocument:
    """A performance report that scenarios are taken from."""

    name: str
    title: str
    date: str = ""


SOURCES = (
    ReportDocument("messagesight", "IBM MessageSight Appliance v1.0 Performance Benchmarks", "April 2013"),
    ReportDocument("messagesight-ve", "IBM MessageSight Virtual Edition performance benchmarks"),
    ReportDocument("mq-appliance", "IBM MQ Appliance Performance Report, model M2003, version 1.0", "May 2023"),
    ReportDocument("messagesight-bridge", "IBM MessageSight benchmark BRIDGE.SINGLEFWD"),
    ReportDocument(
        "message-broker",
        "WebSphere Business Integration Message Broker for Solaris V5 performance report, version 3.0",
        "September 2004",
    ),
)


def all_scenarios(document: str = "") -> list[Scenario]:
    """All scenarios, or those of one document, in the order of the documents."""
    names = [source.name for source in SOURCES]
    if document and document not in names:
        raise InvalidScenario(f"there is no document {document}{suggestion(document, names)}; there are {known(names)}")
    return [scenario for scenario in _all() if document in {"", scenario.document}]


@cache
def load_scenario(name: str) -> Scenario:
    """The scenario of this name; each file is read once, for a report asks for them again and again."""
    for source in SOURCES:
        for file in _files(source):
            if file.name == f"{name}.yaml":
                return _read(file, source.name)
    names = [file.name.removesuffix(".yaml") for source in SOURCES for file in _files(source)]
    hint = suggestion(name, names) or "; `helio lab list` shows all"
    raise InvalidScenario(f"there is no scenario {name}{hint}")


@cache
def _all() -> tuple[Scenario, ...]:
    scenarios: list[Scenario] = []
    for source in SOURCES:
        mine = [_read(file, source.name) for file in _files(source)]
        scenarios += sorted(mine, key=lambda scenario: scenario.order)
    return tuple(scenarios)


def _files(source: ReportDocument) -> list[Traversable]:
    folder = resources.files("heliograph.lab.scenarios") / source.name
    return [file for file in folder.iterdir() if file.name.endswith(".yaml")]


def _read(file: Traversable, document: str) -> Scenario:
    where = f"{document}/{file.name}"
    scenario = read_scenario(file.read_text("utf-8"), where, document)
    if file.name != f"{scenario.name}.yaml":
        raise InvalidScenario(f"{where}: its name is {scenario.name}, so the file has to be {scenario.name}.yaml")
    return scenario
