"""Find the highest rate at which a system meets the pass rule of a scenario: steps, bisection, and a confirmation.

A trial of the steps and of the bisection takes up to 5 s; the confirmation takes the full time. If the load generator
is the limit, the result is a lower bound, reported as "at least".
"""

import argparse
import sys

import psutil

from heliograph.cli.lab.options import add_load, add_target, overrides, targets
from heliograph.cli.lab.progress import Progress
from heliograph.cli.shared.signals import ended_in_order
from heliograph.errors import Problem
from heliograph.lab import BrokerGone, raise_file_limit, rounded
from heliograph.lab.raw import new_run_id
from heliograph.lab.scenarios import load_scenario
from heliograph.lab.trials import (
    Experiment,
    PeakFound,
    Trial,
    TrialResult,
    TrialRunner,
    find_peak,
    reason_to_skip,
    unit_of,
)

EXAMPLES = """\
  helio lab search FANOUT --scale 0.01
  helio lab search PERSISTENT --scale 0.01 --seconds 20 --target heliograph --target mosquitto
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio lab search`."""
    parser.add_argument("name", metavar="NAME", help="a scenario, as `helio lab list` lists them")
    add_target(parser)
    add_load(parser)


def run(args: argparse.Namespace) -> int:
    """Search on each system, then print what was found; 1 if a search could not be done."""
    scenario, set_to = load_scenario(args.name), overrides(args)
    progress = Progress(sys.stderr)
    experiment = Experiment(new_run_id("search"), args.out, progress.on_interval)
    raise_file_limit()
    status, answers = 0, []
    for kind in targets(args):
        trial = Trial(scenario, kind, args.scale, args.variant, set_to, rack_units=args.rack_units)
        if why := reason_to_skip(trial):
            answers.append(f"{kind.name}: skipped: {why}")
            continue
        try:
            with ended_in_order(), TrialRunner(experiment) as runner:
                found = _search(trial, runner, progress)
            answers.append(f"{kind.name}: {found.sentence(unit_of(trial))} ({len(found.attempts)} trials)")
        except (BrokerGone, psutil.Error) as error:
            status = 1
            answers.append(f"{kind.name}: failed: {error}")
    progress.clear()
    print(f"{scenario.name}, highest {scenario.search_parameter}:")
    print("\n".join(f"  {answer}" for answer in answers))
    print(f"\nraw data: {experiment.directory}/runs, experiment {experiment.id}")
    return status


def _search(trial: Trial, runner: TrialRunner, progress: Progress) -> PeakFound:
    unit = unit_of(trial)

    def tell(value: float, result: TrialResult) -> None:
        ending = "holds" if result.verdict.passed else result.verdict.why
        progress.tell(f"{trial.kind.name}, {result.trial.purpose}: {rounded(value)} {unit}: {ending}")

    progress.begin(trial.title)
    try:
        return find_peak(trial, runner, tell)
    except Problem:
        progress.clear()
        raise
