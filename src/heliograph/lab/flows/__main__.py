"""`python -m heliograph.lab.flows`: measure message flows beside published figures (`make bench-flows`)."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from heliograph.errors import Problem
from heliograph.lab.bench.report import disk_line
from heliograph.lab.disk import describe_disk
from heliograph.lab.flows import node_red, peers, report
from heliograph.lab.flows.rows import FULL, QUICK, Row, chosen_cases, measure_all, rows_of
from heliograph.lab.machine import describe, on_core, split_cores


def _arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m heliograph.lab.flows", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the smallest messages only, and less of them")
    parser.add_argument("--case", metavar="GLOB", action="append", default=[], help="sections or names, such as 10.3.*")
    parser.add_argument("--list", action="store_true", help="show the cases and measure nothing")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write everything there, too")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown at the end")
    parser.add_argument(
        "--target", choices=[peers.PEER], help="measure only this other system, and ours with the same flows"
    )
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> int:
    """Run it; the exit status is 1 if a row failed."""
    given = _arguments(sys.argv[1:] if words is None else words)
    try:
        chosen = chosen_cases(given.case)
        if given.list:
            for case in chosen:
                sizes = ", ".join(
                    f"{row.size}{'p' if row.persistent else ''}" for row in rows_of(case, quick=given.quick)
                )
                print(f"{case.section:9}  {case.name:42}  {sizes}")
            return 0
        return _compare(given.quick) if given.target else _measure(given)
    except Problem as problem:
        print(problem, file=sys.stderr)
        return 2


def _compare(quick: bool) -> int:
    if node_red.program() is None:
        print(f"Node-RED is not installed, so nothing is measured; `{node_red.INSTALL}` installs it (with npm).")
        return 0
    with split_cores() as cores, on_core(cores.broker):
        rows = list(peers.measure(cores, 3000 if quick else 20_000))
    print(f"Node-RED {node_red.version()}")
    print("\n".join([*report.peer_lines(rows), "", report.PEER_LEGEND]))
    return 0


def _measure(given: argparse.Namespace) -> int:
    rows: list[Row] = []
    with split_cores() as cores, on_core(cores.broker):  # the flow has the other core for itself
        machine, disk = describe(cores), describe_disk()
        print(f"{machine['cpu']}, {machine['cpus']} cores, {machine['python']}. {disk_line(disk)}")
        print(report.header())
        for row in measure_all(chosen_cases(given.case), cores, QUICK if given.quick else FULL):
            rows.append(row)
            print(report.line(row), flush=True)
    print(f"\n{report.LEGEND}\n{report.PARALLEL_LEGEND}")
    short = report.shortfalls(rows)
    print("\nFalls short:" if short else "\nAll goals are met.")
    for text in short:
        print(f"- {text}")
    if given.markdown:
        print("\n" + report.markdown(rows))
    if given.json is not None:
        data = {"machine": machine, "disk": disk, "rows": [report.as_data(row) for row in rows], "falls_short": short}
        given.json.write_text(json.dumps(data, indent=1), "utf-8")
    return 1 if any(row.error for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
