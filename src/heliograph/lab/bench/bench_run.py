"""One `helio bench` from start to end: measure, print rows as they come, list missed goals, write the results."""

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from heliograph.common.terminal import steer
from heliograph.lab.bench import bench_report
from heliograph.lab.bench.bench_case import BenchCase, BenchEffort
from heliograph.lab.bench.bench_rounds import BenchRow, measure
from heliograph.lab.machine import describe, describe_disk, disk_line, raise_file_limit, split_cores
from heliograph.lab.targets.target import Target
from heliograph.lab.targets.target_catalogue import TARGETS


def run_bench(
    cases: Sequence[BenchCase], targets: Sequence[Target], effort: BenchEffort, results: Path, markdown: bool
) -> int:
    """Measure these cases on these targets; 1 when our own server failed, lost or repeated anything."""
    raise_file_limit()
    done: list[list[BenchRow]] = []
    with split_cores() as cores:
        about, disk = describe(cores), describe_disk()
        if not markdown:
            print(bench_report.header(), flush=True)
        for rows in measure(cases, targets, effort, cores, _progress):
            done.append(rows)
            _progress("")
            if not markdown:
                print("\n".join(bench_report.lines(rows)), flush=True)
    print(bench_report.markdown(done) if markdown else f"\n{bench_report.LEGEND}")
    if any("amqp" in case.needs for case in cases):
        print(bench_report.QUEUE_LEGEND)
    if any(case.durable for case in cases):
        print(bench_report.DURABLE_LEGEND)
    if any(case.stores for case in cases):
        print(disk_line(disk))
    successes = [line for rows in done for line in bench_report.successes(rows)]
    shortfalls = [line for rows in done for line in bench_report.shortfalls(rows)]
    _list("goals met", successes)
    _list("goals missed", shortfalls)
    _write(results, about | {"disk": disk}, targets, effort, done, successes, shortfalls)
    return 1 if any(bench_report.failures(rows) for rows in done) else 0


def list_choices(cases: Sequence[BenchCase]) -> None:
    """Show what can be measured here."""
    for case in cases:
        print(f"{case.name:25} {case.about} (goal: {case.goals})")
    print()
    for target in (kind() for kind in TARGETS):
        print(f"{target.name:25} {target.version() or 'not installed'}")


def _list(title: str, found: Sequence[str]) -> None:
    print(f"\n{title}:")
    print("\n".join(f"  {line}" for line in found or ["none"]))


def _progress(text: str) -> None:
    """One line that rewrites itself on a terminal; plain lines elsewhere."""
    if sys.stderr.isatty():
        steer(sys.stderr, f"\r\x1b[K{text}")
    elif text:
        print(text, file=sys.stderr, flush=True)


def _write(
    path: Path,
    about: dict[str, object],
    targets: Sequence[Target],
    effort: BenchEffort,
    done: Sequence[Sequence[BenchRow]],
    successes: Sequence[str],
    shortfalls: Sequence[str],
) -> None:
    data = {
        "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "machine": about,
        "targets": {target.name: target.version() for target in targets},
        "seconds": effort.seconds,
        "rounds": effort.rounds,
        "rows": [bench_report.as_data(row) for rows in done for row in rows],
        "goals_met": successes,
        "slower_than_wanted": shortfalls,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, indent=1) + "\n")
    print(f"all figures: {path}", file=sys.stderr)
