"""`python -m heliograph.lab.spark`: measure pipelines on Spark (`make bench-spark`)."""

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from heliograph.errors import Problem
from heliograph.lab.bench.report import disk_line
from heliograph.lab.disk import describe_disk
from heliograph.lab.machine import Cores, describe, on_cores
from heliograph.lab.spark import report
from heliograph.lab.spark.measuring import CASES, measure, written_before
from heliograph.lab.spark.rows import FULL, QUICK, Row, shortfalls
from heliograph.lab.spark.site import CORES, spark_site


def _arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m heliograph.lab.spark", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="less of everything")
    parser.add_argument("--case", metavar="NAME", action="append", choices=CASES, help=f"one of {', '.join(CASES)}")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write everything there, too")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> int:
    """Run it; the exit status is 1 if a case failed."""
    given = _arguments(sys.argv[1:] if words is None else words)
    try:
        return _measure(given)
    except Problem as problem:
        print(problem, file=sys.stderr)
        return 2


def _measure(given: argparse.Namespace) -> int:
    started, rows = time.monotonic(), list[Row]()
    effort, cases = QUICK if given.quick else FULL, given.case or CASES
    with on_cores(CORES), spark_site(write=written_before(effort, cases)) as site:
        machine, disk, spark = describe(Cores()), describe_disk(), site.worker.ask("describe")
        print(f"{machine['cpu']}, {machine['cpus']} cores, {machine['python']}. {disk_line(disk)}")
        print(f"{report.versions(spark)}. Load of the machine before: {os.getloadavg()[0]:.1f}")
        print(report.header(), flush=True)
        for row in measure(site, effort, cases):
            rows.append(row)
            print(report.line(row), flush=True)
            if row.steps:
                print(report.steps(row), flush=True)
    print(f"\n{report.LEGEND}\n{time.monotonic() - started:.0f} s in all.")
    short = shortfalls(rows)
    print("\nFalls short:" if short else "\nAll goals are met.")
    for text in short:
        print(f"- {text}")
    if given.json is not None:
        found = {"rows": [report.as_data(row) for row in rows], "falls_short": short}
        given.json.write_text(
            json.dumps({"machine": machine, "disk": disk, "spark": spark, **found}, indent=1), "utf-8"
        )
    return 1 if any(row.error for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
