"""One `helio bench` from start to end: measure, show rows as they come, say what falls short, keep everything."""

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from heliograph.lab import report
from heliograph.lab.case import Case, Effort
from heliograph.lab.machine import describe, raise_file_limit, split_cores
from heliograph.lab.rounds import Row, measure
from heliograph.lab.targets import TARGETS, Target


def run_bench(cases: Sequence[Case], targets: Sequence[Target], effort: Effort, results: Path, markdown: bool) -> int:
    """Measure these cases on these targets; 1 when our own server failed, lost or repeated anything."""
    raise_file_limit()
    done: list[list[Row]] = []
    with split_cores() as cores:
        about = describe(cores)
        if not markdown:
            print(report.header(), flush=True)
        for rows in measure(cases, targets, effort, cores, _progress):
            done.append(rows)
            _progress("")
            if not markdown:
                print("\n".join(report.lines(rows)), flush=True)
    shortfalls = [line for rows in done for line in report.shortfalls(rows)]
    print(report.markdown(done) if markdown else f"\n{report.LEGEND}")
    print("\nslower than wanted:")
    print("\n".join(f"  {line}" for line in shortfalls or ["nothing that was measured"]))
    _write(results, about, targets, effort, done, shortfalls)
    return 1 if any(report.failures(rows) for rows in done) else 0


def list_choices(cases: Sequence[Case]) -> None:
    """Show what can be measured here."""
    for case in cases:
        print(f"{case.name:18} {case.about} (goal: {case.goal:g}x)")
    print()
    for target in (kind() for kind in TARGETS):
        print(f"{target.name:18} {target.version() or 'not installed'}")


def _progress(text: str) -> None:
    """One line that rewrites itself on a terminal; plain lines elsewhere."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
    elif text:
        print(text, file=sys.stderr, flush=True)


def _write(
    path: Path,
    about: dict[str, object],
    targets: Sequence[Target],
    effort: Effort,
    done: Sequence[Sequence[Row]],
    shortfalls: Sequence[str],
) -> None:
    data = {
        "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "machine": about,
        "targets": {target.name: target.version() for target in targets},
        "seconds": effort.seconds,
        "rounds": effort.rounds,
        "rows": [report.as_data(row) for rows in done for row in rows],
        "slower_than_wanted": shortfalls,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, indent=1) + "\n")
    print(f"all figures: {path}", file=sys.stderr)
