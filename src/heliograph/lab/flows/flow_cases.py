"""The flows of the published report, each as the files of a flow's folder.

The ESQL of the compute tests is printed in the report (its chapter 9); of other tests it has descriptions only.
"""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise
from pathlib import Path

from heliograph.flow.definition import FlowDefinition
from heliograph.flow.engine import Databases
from heliograph.flow.loading import load_flow
from heliograph.lab.flows import esql, messages, models
from heliograph.lab.flows.messages import ExpectedBody, MessageMaker

Files = Mapping[str, str]
"""The texts of files by path."""
INPUT, OUTPUT = "FLOW.IN", "FLOW.OUT"
REQUESTS, REPLIES = "FLOW.REQUESTS", "FLOW.REPLIES"
TOPIC = "flows/prices"
DATA_SOURCE, TABLE = "SHOP", "STOCK"
ROWS = 1000
"""What the table has, with numbers from 0."""
_COMMIT_COUNT = 10
"""Of flows with several copies: a first one with large units of work would take all messages before others begin."""
_OUT = f"QueueOutput, queue: {OUTPUT}, transaction: automatic"
_VERY_COMPLEX = "10.3.4"


def write_folder(folder: Path, files: Files) -> Path:
    """The folder with these files in it."""
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    return folder


def definition_of(files: Files, parameters: Mapping[str, str] | None = None) -> FlowDefinition:
    """The flow of these files."""
    with tempfile.TemporaryDirectory(prefix="helio-flow-") as name:
        return load_flow(write_folder(Path(name), files), parameters=parameters)


class Storage(Enum):
    """What kind of database a case works on."""

    NONE = "none"
    SQLITE = "SQLite"
    POSTGRESQL = "PostgreSQL, coordinated"


@dataclass(frozen=True, slots=True)
class FlowCase:
    """One section of the report: a flow, its messages, and what has to come out."""

    section: str
    name: str
    message: MessageMaker
    files: Files
    result: ExpectedBody | None = None
    """None if the body comes out as it went in."""
    responder: Files | None = None
    """A second flow, which answers the first one's requests."""
    subscribers: int = 0
    """Queues that get each publication; the first is `OUTPUT`."""
    filter: str = ""
    """The condition with which the subscriber has registered with the flow."""
    storage: Storage = Storage.NONE
    instances: int = 1
    groups: int = 1
    alike: str = ""
    """A section whose flow is the same, so that in memory nothing else is to be seen."""

    @property
    def parallel(self) -> bool:
        """Whether it shows what more than one instance does."""
        return self.section.startswith("10.11") or self.groups > 1

    def expected(self, size: int, number: int) -> bytes:
        """The body that has to come out."""
        return self.message(size, number).body if self.result is None else self.result(size, number)


def in_groups(case: FlowCase, groups: int) -> FlowCase:
    """The same flow in several execution groups, for those who want to fill a machine with it."""
    if groups == 1:
        return case
    first, rest = case.files["flow.yaml"].split("\n", 1)
    text = f"{first}\ncommit_count: {_COMMIT_COUNT}\nexecution_groups: {groups}\n{rest}"
    return replace(case, files={**case.files, "flow.yaml": text}, groups=groups)


def flow_text(nodes: Mapping[str, str], connections: str, settings: str = "", name: str = "measured") -> str:
    """The `flow.yaml` of a flow with these nodes; connections are lines."""
    written = "".join(f"  {name}: {{type: {text}}}\n" for name, text in nodes.items())
    lines = "".join(f"  - {line.strip()}\n" for line in connections.strip().splitlines())
    return f"flow: {name}\n{settings}nodes:\n{written}connections:\n{lines}"


def _queue_input(domain: str = "", queue: str = INPUT) -> str:
    reading = f", domain: {domain}" if domain else ""
    return f"QueueInput, queue: {queue}, transaction: automatic{reading}"


def _computes(programs: Mapping[str, str], *, domain: str = "XML", settings: str = "") -> Files:
    """Compute nodes one behind the other, each with a program of its own."""
    nodes = {"in": _queue_input(domain)}
    nodes |= {name: f"Compute, esql: {name}.esql" for name in programs}
    nodes["out"] = _OUT
    path = list(nodes)
    connections = "\n".join(f"{left}.out -> {right}" for left, right in pairwise(path))
    return {"flow.yaml": flow_text(nodes, connections, settings)} | {
        f"{name}.esql": text for name, text in programs.items()
    }


def _pass_through() -> Files:
    return {"flow.yaml": flow_text({"in": _queue_input(), "out": _OUT}, "in.out -> out")}


def _aggregation() -> Files:
    """Fan-out and fan-in in one flow: two inputs, which are two threads."""
    numbers = range(1, 5)
    nodes = {"in": _queue_input("XML"), "begin": "AggregateControl, aggregate: quotes"}
    nodes |= {
        f"ask{number}": f"QueueOutput, queue: {REQUESTS}, reply_to: {REPLIES}, new_message_id: true"
        for number in numbers
    }
    nodes |= {f"asked{number}": f"AggregateRequest, folder: Reply{number}" for number in numbers}
    nodes |= {
        "replies": _queue_input("XML", REPLIES),
        "collect": "AggregateReply, aggregate: quotes",
        "join": "Compute, esql: join.esql",
        "out": _OUT,
    }
    connections = ["in.out -> begin", "replies.out -> collect", "collect.out -> join", "join.out -> out"]
    connections += [f"begin.out -> ask{number}" for number in numbers]
    connections += [f"ask{number}.out -> asked{number}" for number in numbers]
    return {"flow.yaml": flow_text(nodes, "\n".join(connections)), "join.esql": esql.JOIN}


def _responder() -> Files:
    """Copies requests to where their replies shall go, with their identifiers."""
    return {"flow.yaml": flow_text({"in": _queue_input(queue=REQUESTS), "back": "QueueReply"}, "in.out -> back")}


def _filter() -> Files:
    nodes = {"in": _queue_input("XML"), "choose": "Filter, esql: choose.esql", "out": _OUT}
    return {"flow.yaml": flow_text(nodes, "in.out -> choose\nchoose.true -> out"), "choose.esql": esql.FILTER}


def _database(program: str, storage: Storage) -> Files:
    nodes = {
        "in": _queue_input("XML"),
        "table": f"Database, esql: table.esql, data_source: {DATA_SOURCE}",
        "out": _OUT,
    }
    coordinated = "coordinated: true\n" if storage is Storage.POSTGRESQL else ""
    url = '"$(database)"' if storage is Storage.POSTGRESQL else ""
    parameters = 'parameters: {database: ""}\n' if storage is Storage.POSTGRESQL else ""
    settings = f"{parameters}{coordinated}data_sources: {{{DATA_SOURCE}: {url}}}\n"
    return {"flow.yaml": flow_text(nodes, "in.out -> table\ntable.out -> out", settings), "table.esql": program}


def _flow_order(*, with_node: bool) -> Files:
    nodes = {"in": _queue_input("XML")}
    if with_node:
        nodes["order"] = "FlowOrder"
    nodes |= {"copy": "Compute, esql: copy.esql", "change": "Compute, esql: change.esql", "out": _OUT}
    connections = "in.out -> copy\ncopy.out -> change\nchange.out -> out"
    if with_node:
        connections = "in.out -> order\norder.first -> copy\norder.second -> change\nchange.out -> out"
    return {"flow.yaml": flow_text(nodes, connections), "copy.esql": esql.COPY, "change.esql": esql.SIMPLE}


def _mapping(source: str, target: str) -> Files:
    nodes = {"in": _queue_input(), "copy": "Mapping, map: copy.map.yaml", "out": _OUT}
    return {
        "flow.yaml": flow_text(nodes, "in.out -> copy\ncopy.out -> out"),
        "copy.map.yaml": models.mapping(source, target),
        **models.FILES,
    }


def _conversion(source: str, target: str) -> Files:
    return {**_computes({"convert": models.conversion(source, target)}, domain=""), **models.FILES}


def _swift() -> Files:
    reading = "MRM, message_set: swift, message_type: MT543"
    files = _computes({"change": esql.SWIFT}, domain=reading)
    return {**files, "models/swift.model.yaml": "import: [{file: MT543.mt}]\n"}


def _publication() -> Files:
    return {"flow.yaml": flow_text({"in": _queue_input("XML"), "publish": "Publication"}, "in.out -> publish")}


def _labels(entries: int) -> Files:
    nodes = {
        "in": _queue_input("XML"),
        "list": "Compute, esql: list.esql, mode: local-environment",
        "route": "RouteToLabel",
        "last": "Label",
        "other": "Label",
        "out": _OUT,
    }
    connections = "in.out -> list\nlist.out -> route\nlast.out -> out\nother.out -> out"
    return {"flow.yaml": flow_text(nodes, connections), "list.esql": esql.destinations(entries)}


def _conversions() -> list[FlowCase]:
    return [
        FlowCase(
            f"10.8.{row}.{column}",
            f"{source} to {target}",
            models.maker(source),
            _conversion(source, target),
            models.result(source, target),
        )
        for row, source in enumerate(models.KINDS, 1)
        for column, target in enumerate(models.KINDS, 1)
    ]


def _mappings() -> list[FlowCase]:
    pairs = (("cwf", "tds"), ("mrm-xml", "cwf"), ("tds", "xml"))
    return [
        FlowCase(
            f"10.7.{number}",
            f"mapping {source} to {target}",
            models.maker(source),
            _mapping(source, target),
            models.result(source, target),
        )
        for number, (source, target) in enumerate(pairs, 1)
    ]


def _databases() -> list[FlowCase]:
    tests = (
        ("10.4.1", "database insert, delete", esql.INSERT_DELETE),
        ("10.4.2", "database update", esql.UPDATE),
        ("10.4.3", "database read", esql.READ),
    )
    return [
        FlowCase(section, f"{name}, {storage.value}", messages.simple, _database(program, storage), storage=storage)
        for section, name, program in tests
        for storage in (Storage.SQLITE, Storage.POSTGRESQL)
        if not (program is esql.READ and storage is Storage.POSTGRESQL)  # nothing to coordinate
    ]


def _very_complex(section: str, name: str, *, instances: int = 1, groups: int = 1) -> FlowCase:
    settings = f"commit_count: {_COMMIT_COUNT}\nadditional_instances: {instances - 1}\nexecution_groups: {groups}\n"
    return FlowCase(
        section,
        name,
        messages.processing_path,
        _computes({"work": esql.COMPLEX * 5}, settings=settings if instances * groups > 1 else ""),
        messages.processing_path_copied,
        instances=instances,
        groups=groups,
        alike="" if section == _VERY_COMPLEX else _VERY_COMPLEX,
    )


def _parallel() -> list[FlowCase]:
    copies = list(enumerate((1, 2, 4, 8), 1))
    return [
        _very_complex(f"10.11.1.{at}", f"very complex compute, instances: {count}", instances=count)
        for at, count in copies
    ] + [
        _very_complex(f"10.11.2.{at}", f"very complex compute, execution groups: {count}", groups=count)
        for at, count in copies
    ]


def _publications() -> list[FlowCase]:
    message = messages.publication(TOPIC)
    by_topic = [
        FlowCase(
            f"10.9.1.{at}",
            f"publication, {count} subscriber{'s' if count > 1 else ''}",
            message,
            _publication(),
            subscribers=count,
            alike="" if at == 1 else "10.9.1.1",
        )
        for at, count in enumerate((1, 10, 100, 1000), 1)
    ]
    by_content = FlowCase("10.9.2", "publication by content", message, _publication(), filter="Body.CSIM.A4 > 99")
    return [*by_topic, by_content]


def cases() -> list[FlowCase]:
    """All of them, in the order of the report."""
    simple, path, path_copied = messages.simple, messages.processing_path, messages.processing_path_copied
    changed = messages.simple_changed
    five = {f"work{number}": esql.COMPLEX for number in range(1, 6)}
    return [
        FlowCase("10.1", "pass through", messages.plain, _pass_through()),
        FlowCase("10.2", "aggregation", simple, _aggregation(), messages.aggregated, _responder()),
        FlowCase("10.3.1", "simple compute", simple, _computes({"change": esql.SIMPLE}), changed),
        FlowCase("10.3.2", "complex compute", path, _computes({"work": esql.COMPLEX}), path_copied),
        FlowCase("10.3.3", "five complex computes", path, _computes(five), path_copied),
        _very_complex(_VERY_COMPLEX, "very complex compute"),
        FlowCase(
            "10.3.5",
            "nested SELECT",
            messages.invoices,
            _computes({"select": esql.NESTED_SELECT}),
            messages.statements,
        ),
        *_databases(),
        FlowCase("10.5", "filter", messages.tagged, _filter()),
        FlowCase("10.6.1", "without FlowOrder", simple, _flow_order(with_node=False), changed),
        FlowCase("10.6.2", "with FlowOrder", simple, _flow_order(with_node=True), changed),
        *_mappings(),
        *_conversions(),
        FlowCase("10.8.5", "SWIFT MT543", messages.swift, _swift(), messages.swift_changed),
        *_publications(),
        FlowCase("10.10.1", "one label", simple, _labels(1)),
        FlowCase("10.10.2", "a hundred labels", simple, _labels(100)),
        *_parallel(),
    ]


def make_table(databases: Databases) -> None:
    """A thousand rows, in a table of their own."""
    own = databases.committing
    own.execute(DATA_SOURCE, f"DROP TABLE IF EXISTS {TABLE}", ())
    own.execute(DATA_SOURCE, f"CREATE TABLE {TABLE} (NUMBER INTEGER PRIMARY KEY, THING VARCHAR(20))", ())
    values = ", ".join(f"({number}, 'thing {number}')" for number in range(ROWS))
    own.execute(DATA_SOURCE, f"INSERT INTO {TABLE} (NUMBER, THING) VALUES {values}", ())  # noqa: S608
