"""Runs cases on targets in rounds, so that disturbances of the machine meet all targets alike."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median_low

import psutil

from heliograph.errors import Problem
from heliograph.lab.bench.bench_case import Case, Effort, Outcome, Site
from heliograph.lab.errors import BrokerGone, InvalidTarget, TargetNotInstalled
from heliograph.lab.machine import Cores
from heliograph.lab.targets.broker_process import running
from heliograph.lab.targets.target import Target
from heliograph.lab.targets.target_catalogue import TARGETS


@dataclass(frozen=True)
class Run:
    """One case on one target in one round: what came out, or why nothing did."""

    round: int
    outcome: Outcome | None
    error: str = ""


@dataclass(frozen=True)
class Row:
    """All rounds of one case on one target."""

    case: Case
    target: str
    runs: tuple[Run, ...]

    @property
    def median(self) -> Outcome | None:
        """The round whose CPU per delivery is the median (the lower one of two); None when no round succeeded."""
        outcomes = sorted((run.outcome for run in self.runs if run.outcome), key=lambda outcome: outcome.cpu)
        return outcomes[(len(outcomes) - 1) // 2] if outcomes else None

    @property
    def figures(self) -> dict[str, float]:
        """What only some cases measure; of each figure the median of its rounds (the lower one of two)."""
        kept = [run.outcome.figures for run in self.runs if run.outcome]
        return {name: median_low([figures[name] for figures in kept if name in figures]) for name in _names(kept)}

    @property
    def lost(self) -> int:
        """Messages lost, over all rounds."""
        return sum(run.outcome.lost for run in self.runs if run.outcome)

    @property
    def duplicates(self) -> int:
        """Messages delivered twice, over all rounds."""
        return sum(run.outcome.duplicates for run in self.runs if run.outcome)

    @property
    def strange(self) -> int:
        """Packets that had no place in the load, over all rounds."""
        return sum(run.outcome.strange for run in self.runs if run.outcome)

    @property
    def late(self) -> int:
        """Messages that arrived after later ones, over all rounds."""
        return sum(run.outcome.late for run in self.runs if run.outcome)

    @property
    def written(self) -> int:
        """Bytes that the broker wrote to a disk, over all rounds."""
        return sum(run.outcome.spent.broker_written for run in self.runs if run.outcome)

    @property
    def errors(self) -> list[str]:
        """Why rounds failed."""
        return [run.error for run in self.runs if run.error]


def _names(figures: Sequence[dict[str, float]]) -> dict[str, None]:
    """The names of all figures, in the order that the case gave them."""
    return dict.fromkeys(name for one in figures for name in one)


def choose_targets(names: Sequence[str]) -> list[Target]:
    """The targets of these names; without names, all that are installed and need no request."""
    known = {kind.name: kind() for kind in TARGETS}
    for name in names:
        if name not in known:
            raise InvalidTarget(f"no target is called '{name}'; known are {', '.join(known)}")
        if known[name].version() is None:
            raise TargetNotInstalled(f"{name} is not installed on this machine{_remedy(known[name])}")
    if names:
        return [target for target in known.values() if target.name in names]
    return [target for target in known.values() if target.version() and not target.on_request]


def missing(cases: Sequence[Case]) -> list[str]:
    """Which peers these cases would have and this machine has not, with what to do about it."""
    return [
        f"{target.name} is not installed, so there is no row for it{_remedy(target)}"
        for target in (kind() for kind in TARGETS)
        if target.version() is None and not target.on_request and any(_takes_part(target, case) for case in cases)
    ]


def _remedy(target: Target) -> str:
    return f" ({target.remedy})" if target.remedy else ""


def measure(
    cases: Sequence[Case], targets: Sequence[Target], effort: Effort, cores: Cores, progress: Callable[[str], None]
) -> Iterator[list[Row]]:
    """The rows of each case, one per target, as soon as its rounds are done."""
    for number, case in enumerate(cases, 1):
        taking_part = [target for target in targets if _takes_part(target, case)]
        if not taking_part:
            progress(f"[{number}/{len(cases)}] {case.name}: none of the chosen brokers is measured here")
            continue
        runs: dict[str, list[Run]] = {target.name: [] for target in taking_part}
        for turn in range(1, effort.rounds + 1):
            for target in taking_part:
                progress(f"[{number}/{len(cases)}] {case.name}: {target.name}, round {turn} of {effort.rounds}")
                runs[target.name].append(_run(case, target, effort, cores, turn))
        yield [Row(case, name, tuple(done)) for name, done in runs.items()]


def _takes_part(target: Target, case: Case) -> bool:
    knows = target.knows - {"mqtt", "amqp"} | target.knows & target.peer_for
    return case.needs <= knows and (case.share is not None or not target.only_compared)


def _run(case: Case, target: Target, effort: Effort, cores: Cores, turn: int) -> Run:
    try:
        with running(
            target, cores.broker, tls=case.tls, durable=case.durable, amqp="amqp" in case.needs, layout=case.layout
        ) as broker:
            site = Site(broker.address, broker.meter, effort, target.longest_queue, broker.restart, broker.doors)
            return Run(turn, case.measure(site))
    except (BrokerGone, Problem, psutil.Error) as error:
        return Run(turn, None, str(error))
