"""One `helio bench flows` from start to end: cases beside published figures, and the report on them."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from heliograph.lab.flows import node_red
from heliograph.lab.flows.flow_rows import FULL, QUICK, FlowRow, chosen_cases, measure_all, rows_of
from heliograph.lab.flows.node_red import OURS, PeerRow
from heliograph.lab.machine import describe, describe_disk, disk_line, on_core, split_cores
from heliograph.lab.text_table import TextTable, figure, goals_text, noise, times

GOAL = 10.0
"""How many times the published rate of one instance we want."""
MOST_TIMES_BARE = 2.0
"""How many times bare lxml a flow from XML to XML may take in memory."""
LEAST_SWIFT = 1000.0
"""MT543 messages per second."""
XML_TO_XML, SWIFT = "10.8.1.1", "10.8.5"

TABLE = TextTable(
    (
        ("section", 9),
        ("flow", 42),
        ("size", 6),
        ("", 1),
        ("publ./s", 8),
        ("ours/s", 8),
        ("ratio", 6),
        ("publ. ms", 8),
        ("ours ms", 8),
        ("ratio", 6),
        ("mem. µs", 8),
        ("x lxml", 7),
        ("x same", 7),
        ("remarks", 0),
    ),
    texts=2,
)
LEGEND = (
    "p: persistent. publ.: published, for one instance on 4 x 900 MHz; ms: CPU milliseconds per message of everything "
    "involved (ours: flow and server, and PostgreSQL or a responder where there is one). mem.: CPU microseconds of the "
    "flow alone, in memory. x lxml: CPU time as a multiple of lxml's for reading and writing the document; x same: of "
    "lxml's for the same work. Ours commits units of work of up to 500 messages, the published system of one."
)
PARALLEL_LEGEND = (
    "10.11: instances are threads of one process, and Python runs one of them at a time, so they add nothing where the "
    "flow is all computing; execution groups are processes, and share what cores there are with the server."
)

PEER_COLUMNS = (("flow", 16), ("size", 6), ("system", 12), ("msgs/s", 8), ("CPU µs", 8), ("ratio", 7), ("", 0))
PEER_LEGEND = (
    "From one topic of our server to another, with Node-RED by MQTT at QoS 1, ours by AMQP. CPU µs: per message, of "
    "the flow's process alone; ratio: that of the other system over ours."
)


def header() -> str:
    """The head of the table as text."""
    return TABLE.header()


def line(row: FlowRow) -> str:
    """A row as text."""
    return TABLE.line(_cells(row))


def as_markdown(rows: Sequence[FlowRow]) -> str:
    """The whole table as Markdown."""
    return f"{TABLE.markdown([_cells(row) for row in rows])}\n\n{LEGEND}\n\n{PARALLEL_LEGEND}"


def _cells(row: FlowRow) -> list[str]:
    published, run, memory = row.published, row.run, row.memory
    return [
        row.case.section,
        row.case.name,
        str(published.size),
        "p" if published.persistent else "",
        figure(published.rate),
        figure(run.rate if run else None),
        times(row.times_rate),
        figure(published.cpu_ms),
        figure(run.cpu_ms if run else None),
        times(row.times_cpu),
        figure(memory.flow if memory else None),
        times(memory.times_bare if memory else None),
        times(memory.times_same_work if memory else None),
        _remarks(row),
    ]


def _remarks(row: FlowRow) -> str:
    if row.error:
        return f"failed: {row.error.splitlines()[0]}"
    return "" if row.run is None else noise(row.run.others)


def peer_lines(rows: Sequence[PeerRow]) -> list[str]:
    """The comparison with others as text."""
    ours = {(row.flow, row.size): row.run for row in rows if row.target == OURS}
    table = [[title for title, _ in PEER_COLUMNS]]
    for row in rows:
        own = ours[row.flow, row.size]
        ratio = "" if row.target == OURS else times(row.run.flow_cpu_ms / own.flow_cpu_ms)
        figures = [figure(row.run.rate), figure(row.run.flow_cpu_ms * 1e3), ratio, noise(row.run.others)]
        table.append([row.flow, str(row.size), row.target, *figures])
    widths = [width for _, width in PEER_COLUMNS]
    lines = [[cell.ljust(width) for cell, width in zip(cells, widths, strict=True)] for cells in table]
    return ["  ".join(cells).rstrip() for cells in lines]


def shortfalls(rows: Sequence[FlowRow]) -> list[str]:
    """Where we are slower than wanted, and what a row could reach by its CPU time alone."""
    found = []
    for row in rows:
        name = f"{row.case.section} {row.case.name}, {row.published.size} bytes"
        name += ", persistent" if row.published.persistent else ""
        if row.error:
            found.append(f"{name}: failed: {row.error}")
        if row.run is not None and row.times_rate is not None and row.times_rate < GOAL and not row.case.parallel:
            # Flow and server have a core each: the busier one is the limit.
            limit = 1e3 / max(row.run.flow_cpu_ms, row.run.cpu_ms - row.run.flow_cpu_ms)
            remark = f"; {noise(row.run.others)}" if noise(row.run.others) else ""
            found.append(
                f"{name}: {times(row.times_rate)} the published rate, wanted {times(GOAL)} (its CPU time "
                f"would allow {figure(limit)}/s, {times(limit / row.published.rate)}{remark})"
            )
        if row.case.section == SWIFT and row.run is not None and row.run.rate < LEAST_SWIFT:
            found.append(f"{name}: {figure(row.run.rate)} messages/s, wanted {LEAST_SWIFT:.0f}")
        bare = row.memory.times_bare if row.memory else None
        if row.case.section == XML_TO_XML and bare is not None and bare > MOST_TIMES_BARE:
            found.append(f"{name}: {times(bare)} the time of bare lxml in memory, wanted {times(MOST_TIMES_BARE)}")
    return found


def as_data(row: FlowRow) -> dict[str, object]:
    """A row for JSON."""
    return {
        "section": row.case.section,
        "name": row.case.name,
        "published": asdict(row.published),
        "in_memory": None if row.memory is None else asdict(row.memory),
        "end_to_end": None if row.run is None else asdict(row.run),
        "times_rate": row.times_rate,
        "times_cpu": row.times_cpu,
        "error": row.error,
    }


def list_cases(patterns: Sequence[str], *, quick: bool) -> None:
    """Show what can be measured."""
    for case in chosen_cases(patterns):
        sizes = ", ".join(f"{row.size}{'p' if row.persistent else ''}" for row in rows_of(case, quick=quick))
        print(f"{case.section:9}  {case.name:42}  {sizes}")


def compare_with_peer(*, quick: bool) -> int:
    """Measure Node-RED, and ours with the same flows."""
    if node_red.program() is None:
        print(f"Node-RED is not installed, so nothing is measured; `{node_red.INSTALL}` installs it (with npm).")
        return 0
    with split_cores() as cores, on_core(cores.broker):
        rows = list(node_red.measure(cores, 3000 if quick else 20_000))
    print(f"Node-RED {node_red.version()}")
    print("\n".join([*peer_lines(rows), "", PEER_LEGEND]))
    return 0


def measure_flows(patterns: Sequence[str], results: Path | None, *, quick: bool, markdown: bool) -> int:
    """Measure these cases; 1 if a row failed."""
    rows: list[FlowRow] = []
    with split_cores() as cores, on_core(cores.broker):  # the flow has the other core for itself
        machine, disk = describe(cores), describe_disk()
        print(f"{machine['cpu']}, {machine['cpus']} cores, {machine['python']}. {disk_line(disk)}")
        print(header())
        for row in measure_all(chosen_cases(patterns), cores, QUICK if quick else FULL):
            rows.append(row)
            print(line(row), flush=True)
    print(f"\n{LEGEND}\n{PARALLEL_LEGEND}")
    short = shortfalls(rows)
    print(goals_text(short))
    if markdown:
        print("\n" + as_markdown(rows))
    if results is not None:
        data = {
            "machine": machine,
            "disk": disk,
            "rows": [as_data(row) for row in rows],
            "falls_short": short,
        }
        results.write_text(json.dumps(data, indent=1), "utf-8")
    return 1 if any(row.error for row in rows) else 0
