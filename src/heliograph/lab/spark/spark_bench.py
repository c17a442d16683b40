"""One `helio bench spark` from start to end: cases on one server and one session, and the report on them."""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from heliograph.errors import Problem
from heliograph.lab.machine import Cores, describe, describe_disk, disk_line, on_cores
from heliograph.lab.spark import alerts, job_cases, source_case
from heliograph.lab.spark.site import CORES, SparkSite, spark_site
from heliograph.lab.spark.spark_rows import FULL, QUICK, SparkEffort, SparkRow, shortfalls
from heliograph.lab.text_table import TextTable, figure, goals_text, noise

TABLE = TextTable(
    (
        ("what", 46),
        ("bytes", 6),
        ("rows/s", 9),
        ("Spark µs", 9),
        ("server µs", 9),
        ("time", 7),
        ("CPU", 7),
        ("remarks", 0),
    )
)
LEGEND = f"""\
µs: CPU microseconds per row, of Spark (Java and Python's workers) and of the server. time, CPU: how many times what
the line above with "=" takes. For noop, that is a source in Python which hands Spark one Arrow batch again and again:
the most that the API allows. For Parquet, it is Spark which reads the same rows from Parquet files. "The bytes
alone" are sent from files (under "server") and received (under "Spark"), and nothing else. Spark, the server
and the load share {CORES} cores. Figures of sources are medians of some rounds in which all take turns, those of
sinks the best of some rounds; the flow and the alerts are one run each, and the flow's CPU time has the start of its
query in it, its rate has not. Messages are acknowledged when they are on the disk; all counts are checked. "In turn":
no two messages in a row have the same topic; else the log has runs of them. "In a record": they come in turn, too, and
were written into the log beforehand, with so many messages in each record; servers of the first release wrote one."""

CASES = ("source", "flow", "native", "alerts", "sink")


def header() -> str:
    """The head of the table."""
    return TABLE.header()


def line(row: SparkRow) -> str:
    """A row as text."""
    run = row.run
    return TABLE.line(
        [
            row.name,
            str(row.size),
            figure(run.rate if run else None),
            figure(run.spark_us if run else None),
            figure(run.server_us if run else None),
            _times(row.times),
            _times(row.times_cpu),
            _remarks(row),
        ]
    )


def steps(row: SparkRow) -> str:
    """The steps of a micro-batch as text."""
    shown = ", ".join(f"{name} {figure(number)}" for name, number in row.steps.items())
    return f"    a micro-batch (medians, ms): {shown}"


def _remarks(row: SparkRow) -> str:
    if row.error:
        return f"failed: {row.error.splitlines()[0]}"
    words = [f"{name} {figure(number)}" for name, number in row.figures.items()]
    if row.most_times is not None:
        words.append(f"goal {row.most_times:g}x")
    words += [f"goal: {name} at most {most:g}" for name, most in row.most.items()]
    if row.run is not None and (remark := noise(row.run.others)):
        words.append(remark)
    return "; ".join(words)


def versions(described: Mapping[str, object]) -> str:
    """What Spark is."""
    return (
        f"Spark {described['spark']} ({described['master']}, heap {described['heap']}), Java {described['java']}, "
        f"pyarrow {described['pyarrow']}"
    )


def as_data(row: SparkRow) -> dict[str, object]:
    """A row for JSON."""
    return {
        **asdict(row),
        "rate": row.run.rate if row.run else None,
        "times": row.times,
        "times_cpu": row.times_cpu,
    }


def _times(number: float | None) -> str:
    return "" if number is None else f"{number:.2f}x"


def written_before(effort: SparkEffort, chosen: Sequence[str] = CASES) -> Callable[[Path], None] | None:
    """What these cases want to be in the log when the server starts."""
    return partial(source_case.write, effort=effort) if "source" in chosen else None


def measure(site: SparkSite, effort: SparkEffort, chosen: Sequence[str] = CASES) -> Iterator[SparkRow]:
    """The rows of these cases. A case that fails is a row with an error, and the next one is measured."""
    flow_outputs = job_cases.outputs(effort) if "flow" in chosen else 0
    known: dict[str, Callable[[], Iterator[SparkRow]]] = {
        "source": lambda: source_case.measure(site, effort),
        "flow": lambda: job_cases.measure_flow(site, effort, 0),
        "native": lambda: job_cases.measure_filter(site, effort),
        "alerts": lambda: alerts.measure(site, effort),
        "sink": lambda: job_cases.measure_sink(site, effort, flow_outputs),
    }
    for name in CASES:
        if name in chosen:
            try:
                yield from known[name]()
            except Problem as problem:
                yield SparkRow(name, 0, error=str(problem))


def measure_pipelines(names: Sequence[str], results: Path | None, *, quick: bool) -> int:
    """Measure these cases, or all; 1 if one failed."""
    started, rows = time.monotonic(), list[SparkRow]()
    effort, cases = QUICK if quick else FULL, names or CASES
    with on_cores(CORES), spark_site(write=written_before(effort, cases)) as site:
        machine, disk, spark = describe(Cores()), describe_disk(), site.worker.ask("describe")
        print(f"{machine['cpu']}, {machine['cpus']} cores, {machine['python']}. {disk_line(disk)}")
        print(f"{versions(spark)}. Load of the machine before: {os.getloadavg()[0]:.1f}")
        print(header(), flush=True)
        for row in measure(site, effort, cases):
            rows.append(row)
            print(line(row), flush=True)
            if row.steps:
                print(steps(row), flush=True)
    print(f"\n{LEGEND}\n{time.monotonic() - started:.0f} s in all.")
    short = shortfalls(rows)
    print(goals_text(short))
    if results is not None:
        found = {"rows": [as_data(row) for row in rows], "falls_short": short}
        results.write_text(json.dumps({"machine": machine, "disk": disk, "spark": spark, **found}, indent=1), "utf-8")
    return 1 if any(row.error for row in rows) else 0
