"""What becomes of results: reports, comparisons, and the log of a power meter that is added to them."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from heliograph.cli.errors import CommandFailed
from heliograph.cli.lab.options import add_out
from heliograph.cli.pipeline.options import add_spark
from heliograph.cli.shared.output import showing, table
from heliograph.errors import InvalidInput
from heliograph.lab.report import FORMATS, write_report
from heliograph.pipeline import is_spark_error, spark_error_text

if TYPE_CHECKING:
    from heliograph.pipeline.scoring import Comparison
from heliograph.cli.commands import Action
from heliograph.lab.probes import power_samples, read_power_log
from heliograph.lab.raw import add_samples, read_table, run_names

_REPORT = """\
Write a report of the lab's results: a self-contained HTML page, and CSV, Markdown and JSON files.

New runs are scored first, with Spark; then the report is written to DIR/report, and its tables to DIR/scores.
"""
_REPORT_EXAMPLES = """\
  helio lab report
  helio lab report lab-results --format html
  helio lab report results --format csv,json --master spark://host:7077
"""


def _report_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "directory", nargs="?", type=Path, default=Path("lab-results"), metavar="DIR", help="results (lab-results)"
    )
    parser.add_argument(
        "--format",
        type=formats,
        default=FORMATS,
        metavar="FORMATS",
        help=f"which files, with commas between them ({','.join(FORMATS)})",
    )
    add_spark(parser)


def formats(text: str) -> tuple[str, ...]:
    """`html,csv` ..."""
    named = tuple(name.strip() for name in text.split(",") if name.strip())
    unknown = [name for name in named if name not in FORMATS]
    if unknown or not named:
        raise argparse.ArgumentTypeError(f"expected any of {', '.join(FORMATS)}, found {(unknown or [text])[0]!r}")
    return named


def _report(args: argparse.Namespace) -> int:
    """Score what is new, then write; prints where the report is."""
    if not (args.directory / "runs").is_dir():
        raise InvalidInput(f"{args.directory}: expected a folder with runs, found none; `helio lab run` makes them")
    with showing("scoring new runs with Spark"):
        score(args)
    with showing("writing the report"):
        files = list(write_report(args.directory, args.format))
    for file in files:
        print(file)
    return 0


def score(args: argparse.Namespace) -> None:
    """Turn raw data of new runs into tables."""
    from heliograph.pipeline.scoring import score_runs  # noqa: PLC0415 - Spark is not needed to read a help text

    try:
        score_runs(args.directory, master=args.master or None, conf=dict(args.conf))
    except Exception as error:
        if is_spark_error(error):
            raise CommandFailed(spark_error_text(error)) from error
        raise


_COMPARE = """\
Compare two sets of runs, A and B, and tell whether B is significantly worse. The exit status is 1 if it is.

A and B are ids of runs or experiments, folders of results, or TARGET@EXPERIMENT, TARGET@FOLDER. Targets that were
interleaved in one experiment are compared round by round. The joint confidence of all intervals is 95 %; differences
below 1 % are ignored. One run of each is not enough to tell a difference from chance: use `helio lab run --repeats 5`.
"""
_COMPARE_EXAMPLES = """\
  helio lab compare heliograph@20261116T140516-run-057a mosquitto@20261116T140516-run-057a
  helio lab compare results-before results-after
  helio lab compare 20261115T090000-run-11aa 20261116T090000-run-22bb --out lab-results
"""
_HEADINGS = ("SCENARIO", "VARIANT", "TARGET", "FIGURE", "A", "B", "RUNS", "B AGAINST A", "INTERVAL", "VERDICT")
_FIGURES = {
    "received_rate": "messages/s",
    "round_trips": "round trips/s",
    "connect_seconds": "connecting, s",
    "p50_ms": "latency 50P, ms",
    "p99_ms": "latency 99P, ms",
    "server_cpu_ms_per_message": "CPU ms/message",
}
_FAR = 1000
"""Times that say no more than that nothing is known."""
_VERDICTS = {"A better": "B is worse", "B better": "B is better"}


def _compare_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", metavar="A", help="the baseline")
    parser.add_argument("b", metavar="B", help="the runs to compare with the baseline")
    add_out(parser)
    add_spark(parser)


def _compare(args: argparse.Namespace) -> int:
    """Score what is new, compare, print; 1 if B is worse in anything."""
    from heliograph.pipeline.scoring import compare  # noqa: PLC0415 - Spark is not needed to read a help text

    with showing("scoring new runs and comparing with Spark"):
        found = compare(args.a, args.b, directory=args.out, master=args.master or None, conf=dict(args.conf))
    print("\n".join(table(_HEADINGS, [_row(one) for one in found])))
    if bound := sum({(one.scenario, one.variant, one.target): one.generator_bound for one in found}.values()):
        print(f"\nIn {bound} of the runs the generator was the limit: their figures are not those of the system alone.")
    print(f"\n{_conclusion(found)}")
    return 1 if any(one.is_regression for one in found) else 0


def _row(one: "Comparison") -> tuple[object, ...]:
    interval = "-" if one.low is None or one.high is None else f"{_change(one.high)} to {_change(one.low)}"
    verdict = "too few runs" if one.is_open else _VERDICTS.get(one.verdict, one.verdict)
    return (
        one.scenario,
        one.variant,
        one.target,
        _FIGURES[one.metric],
        f"{one.a_median:,.4g}",
        f"{one.b_median:,.4g}",
        f"{one.a_runs}/{one.b_runs}",
        _change(one.ratio),
        interval,
        verdict,
    )


def _change(ratio: float) -> str:
    """How much more or less B is, from the ratio of A to B; in times, where per cent would be a long number."""
    if ratio * _FAR < 1:
        return f"over x {_FAR}"
    inverse = 1 / ratio
    return f"{100 * (inverse - 1):+.1f} %" if inverse < 10 else f"x {inverse:.3g}"


def _conclusion(found: Sequence["Comparison"]) -> str:
    worse = sum(one.is_regression for one in found)
    if worse:
        return f"B is significantly worse than A in {worse} of {len(found)} figures."
    if all(one.is_open for one in found):
        return "One run is not enough to call a difference significant: repeat them (`helio lab run --repeats 5`)."
    few = " Some have too few runs to tell." if any(one.is_open for one in found) else ""
    return f"No significant regression of B against A in {len(found)} figures.{few}"


_POWER = """\
Add the log of a power meter to runs: the power in watts while each of them was measured.

The log of a power distribution unit is a table with headings such as Log Date, Log Time, Voltage, Current, Power
Factor, Watts, kWh. For a system with two power supplies, give both logs; they are added up. Times are local times of
this machine.
"""
_POWER_EXAMPLES = """\
  helio lab power pdu.csv
  helio lab power supply-1.csv supply-2.csv --run 20261116T132049-PERSISTENT.MPW-heliograph-1f3a
"""


def _power_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("logs", nargs="+", type=Path, metavar="FILE", help="the log of one power supply")
    parser.add_argument(
        "--run", action="append", metavar="ID", help="only this run (default: all runs in the time span of the logs)"
    )
    add_out(parser)


def _power(args: argparse.Namespace) -> int:
    """Add to each run what was drawn meanwhile."""
    logs = [read_power_log(path) for path in args.logs]
    known = run_names(args.out)
    for name in args.run or ():
        if name not in known:
            raise InvalidInput(f"{args.out}: there is no run {name}")
    added = 0
    for name in args.run or known:
        [about] = read_table(args.out, name, "manifest").select(["started", "seconds"]).to_pylist()
        samples = power_samples(logs, about["started"].timestamp(), about["seconds"])
        if samples:
            add_samples(args.out, name, samples, instead_of="power")
            added += 1
            print(f"{name}: {sum(sample.value for sample in samples) / len(samples):.1f} W")
    if not added:
        raise InvalidInput("the logs do not reach over any of the runs; nothing was changed")
    return 0


ACTIONS = {
    "report": Action(_REPORT, _REPORT_EXAMPLES, _report_arguments, _report),
    "compare": Action(_COMPARE, _COMPARE_EXAMPLES, _compare_arguments, _compare),
    "power": Action(_POWER, _POWER_EXAMPLES, _power_arguments, _power),
}
