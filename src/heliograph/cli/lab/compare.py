"""Compare two sets of runs, A and B: is B really slower, or was it chance? The exit status is 1 if B is worse.

A and B are ids of runs or experiments, folders of results, or TARGET@EXPERIMENT, TARGET@FOLDER. Targets that took turns
in one experiment are compared round by round. All intervals together hold with 95 % confidence; a difference below 1 %
is none. One run of each cannot tell a difference from chance: repeat them (`helio lab run --repeats 5`).
"""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from heliograph.cli.lab.options import add_out
from heliograph.cli.pipeline.options import add_spark
from heliograph.cli.shared.tables import table
from heliograph.cli.shared.waiting import showing

if TYPE_CHECKING:
    from heliograph.pipeline.scoring import Comparison

EXAMPLES = """\
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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio lab compare`."""
    parser.add_argument("a", metavar="A", help="what B is held against")
    parser.add_argument("b", metavar="B", help="what may have become worse")
    add_out(parser)
    add_spark(parser)


def run(args: argparse.Namespace) -> int:
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
