"""One `helio bench flows` from start to end: message flows beside published figures."""

import json
from collections.abc import Sequence
from pathlib import Path

from heliograph.lab.bench.report import disk_line
from heliograph.lab.flows import node_red, peers, report
from heliograph.lab.flows.rows import FULL, QUICK, Row, chosen_cases, measure_all, rows_of
from heliograph.lab.machine import describe, describe_disk, on_core, split_cores


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
        rows = list(peers.measure(cores, 3000 if quick else 20_000))
    print(f"Node-RED {node_red.version()}")
    print("\n".join([*report.peer_lines(rows), "", report.PEER_LEGEND]))
    return 0


def measure_flows(patterns: Sequence[str], results: Path | None, *, quick: bool, markdown: bool) -> int:
    """Measure these cases; 1 if a row failed."""
    rows: list[Row] = []
    with split_cores() as cores, on_core(cores.broker):  # the flow has the other core for itself
        machine, disk = describe(cores), describe_disk()
        print(f"{machine['cpu']}, {machine['cpus']} cores, {machine['python']}. {disk_line(disk)}")
        print(report.header())
        for row in measure_all(chosen_cases(patterns), cores, QUICK if quick else FULL):
            rows.append(row)
            print(report.line(row), flush=True)
    print(f"\n{report.LEGEND}\n{report.PARALLEL_LEGEND}")
    short = report.shortfalls(rows)
    print("\nFalls short:" if short else "\nAll goals are met.")
    for text in short:
        print(f"- {text}")
    if markdown:
        print("\n" + report.markdown(rows))
    if results is not None:
        data = {"machine": machine, "disk": disk, "rows": [report.as_data(row) for row in rows], "falls_short": short}
        results.write_text(json.dumps(data, indent=1), "utf-8")
    return 1 if any(row.error for row in rows) else 0
