"""The flows of the published report, each as the files of a flow's folder.

The ESQL of the compute tests is the report's own (its chapter 9); of the other tests it says only in words what they do.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from heliograph.lab.flows import esql, messages, models
from heliograph.lab.flows.messages import Maker

Files = Mapping[str, str]

INPUT, OUTPUT = "FLOW.IN", "FLOW.OUT"
TOPIC = "flows/prices"


@dataclass(frozen=True, slots=True)
class FlowCase:
    """One section of the report: a flow and its messages."""

    section: str
    name: str
    maker: Maker
    files: Files
    topic: str = ""
    """What the messages are published on."""
    subscribers: int = 0
    """Queues that each publication goes to."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """Tags of an MQRFH2 folder before the body."""
    instances: int = 1
    groups: int = 1


def _flow(nodes: str, connections: str, settings: str = "") -> str:
    lines = "".join(f"  - {line.strip()}\n" for line in connections.strip().splitlines())
    return f"flow: measured\n{settings}nodes:\n{nodes}connections:\n{lines}"


def _queue_input(more: str = "") -> str:
    return f"  in: {{type: QueueInput, queue: {INPUT}, transaction: automatic{more}}}\n"


_QUEUE_OUTPUT = f"  out: {{type: QueueOutput, queue: {OUTPUT}, transaction: automatic}}\n"
_XML = ", domain: XML"


def _compute_flow(programs: Mapping[str, str], *, reading: str = _XML, settings: str = "") -> Files:
    """Compute nodes one behind the other, each with a program of its own."""
    names = list(programs)
    nodes = "".join(f"  {name}: {{type: Compute, esql: {name}.esql}}\n" for name in names)
    path = ["in", *names, "out"]
    connections = "\n".join(f"{left} -> {right}" for left, right in zip(path, path[1:], strict=False))
    flow = _flow(_queue_input(reading) + nodes + _QUEUE_OUTPUT, connections, settings)
    return {"flow.yaml": flow} | {f"{name}.esql": text for name, text in programs.items()}


def _pass_through() -> Files:
    return {"flow.yaml": _flow(_queue_input() + _QUEUE_OUTPUT, "in -> out")}


def _filter() -> Files:
    nodes = _queue_input(_XML) + "  choose: {type: Filter, esql: choose.esql}\n" + _QUEUE_OUTPUT
    return {
        "flow.yaml": _flow(nodes, "in -> choose\nchoose.true -> out"),
        "choose.esql": "RETURN Root.MQRFH2.usr.Colour = 'red';\n",
    }


def _database(program: str, *, coordinated: bool) -> Files:
    nodes = (
        _queue_input(_XML)
        + "  table: {type: Database, esql: table.esql, data_source: STOCK}\n"
        + _QUEUE_OUTPUT
    )
    settings = "coordinated: yes\n" if coordinated else ""
    return {"flow.yaml": _flow(nodes, "in -> table\ntable -> out", settings), "table.esql": program}


def _flow_order(*, with_node: bool) -> Files:
    nodes = "  copy: {type: Compute, esql: copy.esql}\n  change: {type: Compute, esql: change.esql}\n" + _QUEUE_OUTPUT
    programs = {"copy.esql": "SET OutputRoot=InputRoot;\n", "change.esql": esql.SIMPLE}
    if not with_node:
        return {"flow.yaml": _flow(_queue_input(_XML) + nodes, "in -> copy\ncopy -> change\nchange -> out"), **programs}
    nodes = _queue_input(_XML) + "  order: {type: FlowOrder}\n" + nodes
    return {
        "flow.yaml": _flow(nodes, "in -> order\norder.first -> copy\norder.second -> change\nchange -> out"),
        **programs,
    }


def _conversion(source: str, target: str) -> Files:
    return _compute_flow(
        {"convert": esql.conversion(source, target, messages.field_names())},
        reading=models.reading(source),
    ) | models.FILES


def _mapping(source: str, target: str) -> Files:
    nodes = (
        _queue_input(models.reading(source)) + "  map: {type: Mapping, mapping: copy.map.yaml}\n" + _QUEUE_OUTPUT
    )
    return {
        "flow.yaml": _flow(nodes, "in -> map\nmap -> out"),
        "copy.map.yaml": models.mapping(source, target, messages.field_names()),
        **models.FILES,
    }


def _swift() -> Files:
    return _compute_flow(
        {"change": "SET OutputRoot = InputRoot;\nSET OutputRoot.MRM.Block4.GENL.F20C.Reference = 'CHANGED';\n"},
        reading=", domain: MRM, message_set: swift, message_type: MT543",
    )


def _publication() -> Files:
    nodes = _queue_input(_XML + f", topic: {TOPIC}") + "  publish: {type: Publication}\n"
    return {"flow.yaml": _flow(nodes, "in -> publish")}


def _labels(entries: int) -> Files:
    nodes = (
        _queue_input(_XML)
        + "  list: {type: Compute, esql: list.esql, compute_mode: LocalEnvironment And Message}\n"
        + "  route: {type: RouteToLabel}\n  last: {type: Label}\n  other: {type: Label}\n"
        + _QUEUE_OUTPUT
    )
    return {
        "flow.yaml": _flow(nodes, "in -> list\nlist -> route\nlast -> out\nother -> out"),
        "list.esql": esql.destinations(entries),
    }


_KINDS = ("xml", "cwf", "mrm-xml", "tds")
_VERY_COMPLEX = {"work": esql.COMPLEX * 5}


def _conversions() -> list[FlowCase]:
    return [
        FlowCase(
            f"10.8.{row}.{column}",
            f"{source} to {target}",
            models.maker(source),
            _conversion(source, target),
        )
        for row, source in enumerate(_KINDS, 1)
        for column, target in enumerate(_KINDS, 1)
    ]


def _parallel() -> list[FlowCase]:
    copies = (1, 2, 4, 8)
    return [
        FlowCase(
            f"10.11.1.{at}",
            f"very complex compute, {count} instances",
            messages.processing_path,
            _compute_flow(_VERY_COMPLEX, settings=f"additional_instances: {count - 1}\n"),
            instances=count,
        )
        for at, count in enumerate(copies, 1)
    ] + [
        FlowCase(
            f"10.11.2.{at}",
            f"very complex compute, {count} execution groups",
            messages.processing_path,
            _compute_flow(_VERY_COMPLEX, settings=f"execution_groups: {count}\n"),
            groups=count,
        )
        for at, count in enumerate(copies, 1)
    ]


def cases() -> list[FlowCase]:
    """All of them, in the order of the report."""
    complex_path = messages.processing_path
    return [
        FlowCase("10.1", "pass through", messages.plain, _pass_through()),
        FlowCase("10.3.1", "simple compute", messages.simple, _compute_flow({"change": esql.SIMPLE})),
        FlowCase("10.3.2", "complex compute", complex_path, _compute_flow({"work": esql.COMPLEX})),
        FlowCase(
            "10.3.3",
            "five complex computes",
            complex_path,
            _compute_flow({f"work{number}": esql.COMPLEX for number in range(1, 6)}),
        ),
        FlowCase("10.3.4", "very complex compute", complex_path, _compute_flow(_VERY_COMPLEX)),
        FlowCase("10.3.5", "nested SELECT", messages.invoices, _compute_flow({"select": esql.NESTED_SELECT})),
        FlowCase("10.4.1", "database insert, delete", messages.simple, _database(esql.INSERT_DELETE, coordinated=True)),
        FlowCase("10.4.2", "database update", messages.simple, _database(esql.UPDATE, coordinated=True)),
        FlowCase("10.4.3", "database read", messages.simple, _database(esql.READ, coordinated=False)),
        FlowCase("10.5", "filter", messages.simple, _filter(), tags={"Colour": "red", "Size": "3"}),
        FlowCase("10.6.1", "without FlowOrder", messages.simple, _flow_order(with_node=False)),
        FlowCase("10.6.2", "with FlowOrder", messages.simple, _flow_order(with_node=True)),
        FlowCase("10.7.1", "mapping cwf to tds", models.maker("cwf"), _mapping("cwf", "tds")),
        FlowCase("10.7.2", "mapping mrm-xml to cwf", models.maker("mrm-xml"), _mapping("mrm-xml", "cwf")),
        FlowCase("10.7.3", "mapping tds to xml", models.maker("tds"), _mapping("tds", "xml")),
        *_conversions(),
        FlowCase("10.8.5", "SWIFT MT543", messages.swift, _swift()),
        *(
            FlowCase(
                f"10.9.1.{at}", f"publication, {count} subscribers", messages.simple, _publication(),
                topic=TOPIC, subscribers=count,
            )
            for at, count in enumerate((1, 10, 100, 1000), 1)
        ),
        FlowCase("10.9.2", "publication by content", messages.simple, _publication(), topic=TOPIC, subscribers=1),
        FlowCase("10.10.1", "one label", messages.simple, _labels(1)),
        FlowCase("10.10.2", "a hundred labels", messages.simple, _labels(100)),
        *_parallel(),
    ]
