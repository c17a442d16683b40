"""Run scenarios on one or several systems, keep the raw data, and print a table of results.

The table has a row for each scenario and system, with medians if there were several runs. The exit status is 1 if a run
could not be done.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median

import psutil

from heliograph.cli.lab.options import add_load, add_target, overrides, targets
from heliograph.cli.lab.progress import Console, Progress
from heliograph.cli.shared.output import table
from heliograph.cli.shared.signals import ended_in_order
from heliograph.errors import InvalidInput, Problem
from heliograph.lab import raise_file_limit, rounded
from heliograph.lab.load import Histogram
from heliograph.lab.raw import new_run_id
from heliograph.lab.scenarios import Scenario, all_scenarios, load_scenario
from heliograph.lab.trials import (
    Experiment,
    RecordedControl,
    Trial,
    TrialResult,
    TrialRunner,
    interleaved,
    reason_to_skip,
)

HEADINGS = (
    "SCENARIO",
    "VARIANT",
    "TARGET",
    "IN/S",
    "OUT/S",
    "AVG MS",
    "50P MS",
    "99P MS",
    "MAX MS",
    "LOST",
    "CORES",
    "PASSED",
)


def row(results: Sequence[TrialResult]) -> tuple[object, ...]:
    """The row of all rounds of one scenario on one system."""
    trial = results[0].trial
    passed = sum(result.verdict.passed for result in results)
    return (
        trial.scenario.name,
        trial.scenario.variant(trial.variant).name,
        trial.kind.name,
        rounded(median(result.sent_rate for result in results)),
        rounded(median(result.received_rate for result in results)),
        _latency(results, lambda found: found.sum_ns / found.count),
        _latency(results, lambda found: found.percentile(50)),
        _latency(results, lambda found: found.percentile(99)),
        _latency(results, lambda found: found.max_ns),
        sum(result.lost for result in results),
        _cores(results),
        ("yes" if passed else "no") if len(results) == 1 else f"{passed} of {len(results)}",
    )


def _latency(results: Sequence[TrialResult], part: Callable[[Histogram], float]) -> str:
    found = [result.latency for result in results]
    values = [part(one) for one in found if one is not None and one.count]
    return rounded(median(values) / 1e6) if values else "-"


def _cores(results: Sequence[TrialResult]) -> str:
    values = [result.cpu_cores for result in results if result.cpu_cores is not None]
    return f"{median(values):.2f}" if values else "-"


EXAMPLES = """\
  helio lab run FANOUT --scale 0.01
  helio lab run FANIN FANOUT --scale 0.01 --target heliograph --target mosquitto --repeats 5
  helio lab run FANIN --set rate=5000 --seconds 60 --interactive
  helio lab run PERSISTENT --scale 0.01 --target external --url mqtt://user:secret@broker.example.com
  helio lab run --all --scale 0.001
  helio lab run --all --common --scale 0.01 --target heliograph --target mosquitto --repeats 3
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio lab run`."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="scenarios, as `helio lab list` lists them")
    parser.add_argument("--all", action="store_true", help="all scenarios, each in its usual variant")
    add_target(parser)
    parser.add_argument("--common", action="store_true", help="only scenarios that all these targets can run")
    add_load(parser)
    parser.add_argument(
        "--repeats", type=_rounds, default=1, metavar="N", help="runs of each scenario on each target (1)"
    )
    parser.add_argument(
        "--interactive", action="store_true", help="take commands while it runs: rate=N, stop, Enter for statistics"
    )


def _rounds(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a number of rounds from 1 on, found '{text}'")
    return int(text)


@dataclass
class _Tally:
    """What has been done so far."""

    results: dict[tuple[str, str], list[TrialResult]] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


def run(args: argparse.Namespace) -> int:
    """Run them all, then print the table."""
    scenarios = _scenarios(args)
    kinds, set_to = targets(args), overrides(args)
    progress = Progress(sys.stderr)
    console = Console(progress) if args.interactive else None
    experiment = Experiment(
        new_run_id("run"), args.out, progress.on_interval, console.make_control if console else RecordedControl
    )
    raise_file_limit()
    tally = _Tally()
    with ended_in_order(), TrialRunner(experiment) as runner:
        for number, scenario in enumerate(scenarios, 1):
            if console is not None and console.stopped:
                break
            trials = [
                Trial(scenario, kind, args.scale, args.variant, set_to, rack_units=args.rack_units) for kind in kinds
            ]
            place = f"[{number}/{len(scenarios)}] " if len(scenarios) > 1 else ""
            _run_scenario(_possible(trials, tally, common=args.common), args.repeats, runner, progress, place, tally)
    progress.clear()
    _print(tally, experiment)
    return 1 if tally.failed else 0


def _scenarios(args: argparse.Namespace) -> list[Scenario]:
    if args.all == bool(args.names):
        raise InvalidInput("expected names of scenarios, or --all; `helio lab list` shows what there is")
    return all_scenarios() if args.all else [load_scenario(name) for name in args.names]


def _possible(trials: Sequence[Trial], tally: _Tally, *, common: bool) -> list[Trial]:
    refusals = [reason_to_skip(trial) for trial in trials]
    for trial, why in zip(trials, refusals, strict=True):
        if why:
            tally.skipped.append(f"{trial.scenario.name} on {trial.kind.name}: {why}")
    if common and any(refusals):
        return []
    return [trial for trial, why in zip(trials, refusals, strict=True) if not why]


def _run_scenario(
    trials: Sequence[Trial], repeats: int, runner: TrialRunner, progress: Progress, place: str, tally: _Tally
) -> None:
    for trial in interleaved(trials, repeats):
        turn = f", round {trial.round + 1} of {repeats}" if repeats > 1 else ""
        progress.begin(f"{place}{trial.title}{turn}")
        try:
            result = runner.run(trial)
        except (Problem, psutil.Error) as problem:
            tally.failed.append(f"{trial.title}: {problem}")
            progress.tell(f"{place}{trial.title}{turn}: {problem}")
            continue
        tally.results.setdefault((trial.scenario.name, trial.kind.name), []).append(result)
        ending = "passed" if result.verdict.passed else result.verdict.why
        progress.tell(f"{place}{trial.title}{turn}: {rounded(result.received_rate)} msg/s out, {ending}")


def _print(tally: _Tally, experiment: Experiment) -> None:
    if tally.results:
        print("\n".join(table(HEADINGS, [row(results) for results in tally.results.values()])))
    _list("not passed", [_why(results) for results in tally.results.values() if _why(results)])
    _list("skipped", tally.skipped)
    _list("failed", tally.failed)
    if tally.results:
        print(f"\nraw data: {experiment.directory}/runs, experiment {experiment.id}")


def _why(results: Sequence[TrialResult]) -> str:
    first = next((result for result in results if not result.verdict.passed), None)
    return f"{first.trial.title}: {first.verdict.why}" if first else ""


def _list(title: str, lines: Sequence[str]) -> None:
    if lines:
        print(f"\n{title}:")
        print("\n".join(f"  {line}" for line in lines))
