"""Tables of message flows: rate, CPU and CPU time per message of each node, by size and persistence."""

from collections.abc import Sequence

from heliograph.lab.report.cases import Case
from heliograph.lab.report.document import Section
from heliograph.lab.report.measures import is_persistent, size_of
from heliograph.lab.report.results import Results
from heliograph.lab.report.table import Column, Row, Table

_COLUMNS = (
    Column("test", "Test", detail="description"),
    Column("target", "Target"),
    Column("persistent", "Persistent"),
    Column("size", "Size", "bytes"),
    Column("rate", "Messages/s", "rate"),
    Column("cpu_percent", "CPU %", "number"),
    Column("cpu_ms", "CPU ms/message", "number"),
    Column("published_rate", "Published messages/s", "rate"),
    Column("published_cpu_percent", "Published CPU %", "number"),
    Column("published_cpu_ms", "Published CPU ms/message", "number"),
)
_NOTE = (
    "CPU % is of all cores of the machine; CPU ms per message is what the system under test used, all its processes "
    "together."
)


def nodes(results: Results, cases: Sequence[Case]) -> Section:
    """The table of all cases that run a message flow."""
    rows = [_row(results, case) for case in cases if case.run.type == "Message flow"]
    table = Table(
        "message_flows",
        "Message flows",
        _COLUMNS,
        tuple(rows),
        "No message flow is among the runs.",
        note=_NOTE,
    )
    return Section("flows", "Message flows", tables=(table,))


def _row(results: Results, case: Case) -> Row:
    run, measures = case.run, case.measures
    figure = results.known.figure(run.scenario, run.variant, "flow_rate")
    return {
        "test": run.label,
        "description": measures.about.title,
        "target": run.target,
        "persistent": is_persistent(run),
        "size": size_of(run),
        "rate": measures.received_rate,
        "cpu_percent": measures.cpu_percent,
        "cpu_ms": measures.costs.get("server_cpu_ms_per_message"),
        "published_rate": figure.value,
        "published_cpu_percent": figure.cpu_percent,
        "published_cpu_ms": figure.cpu_ms,
    }
