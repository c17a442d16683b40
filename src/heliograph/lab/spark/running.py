"""One `helio bench spark` from start to end: pipelines on Spark."""

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path

from heliograph.lab.bench.report import disk_line
from heliograph.lab.machine import Cores, describe, describe_disk, on_cores
from heliograph.lab.spark import report
from heliograph.lab.spark.measuring import CASES, measure, written_before
from heliograph.lab.spark.rows import FULL, QUICK, Row, shortfalls
from heliograph.lab.spark.site import CORES, spark_site


def measure_pipelines(names: Sequence[str], results: Path | None, *, quick: bool) -> int:
    """Measure these cases, or all; 1 if one failed."""
    started, rows = time.monotonic(), list[Row]()
    effort, cases = QUICK if quick else FULL, names or CASES
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
    if results is not None:
        found = {"rows": [report.as_data(row) for row in rows], "falls_short": short}
        results.write_text(json.dumps({"machine": machine, "disk": disk, "spark": spark, **found}, indent=1), "utf-8")
    return 1 if any(row.error for row in rows) else 0
