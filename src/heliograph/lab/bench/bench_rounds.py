"""Runs cases on targets in rounds, so that disturbances of the machine meet all targets alike."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median_low

import psutil

from heliograph.errors import Problem
from heliograph.lab.bench.bench_case import BenchCase, BenchEffort, BenchOutcome, BrokerSite
from heliograph.lab.errors import InvalidTarget, TargetNotInstalled
from heliograph.lab.machine import Cores
from heliograph.lab.targets.broker_process import running_broker
from heliograph.lab.targets.target import Target
from heliograph.lab.targets.target_catalogue import TARGETS


@dataclass(frozen=True)
class BenchRound:
    """One case on one target in one round: what came out, or why nothing did."""

    round: int
    outcome: BenchOutcome | None
    error: str = ""


@dataclass(frozen=True)
class BenchRow:
    """All rounds of one case on one target."""

    case: BenchCase
    target: str
    runs: tuple[BenchRound, ...]

    @property
    def median(self) -> BenchOutcome | None:
        """The round whose CPU per delivery is the median (the lower one of two); None when no round succeeded."""
        outcomes = sorted((run.outcome for run in self.runs if run.outcome), key=lambda outcome: outcome.cpu)
        return outcomes[(len(outcomes) - 1) // 2] if outcomes else None

    @property
    def figures(self) -> dict[str, float]:
        """What only some cases measure; of each figure the median of its rounds (the lower one of two)."""
        kept = [run.outcome.figures for run in self.runs if run.outcome]
        return {name: median_low([figures[name] for figures in kept if name in figures]) for name in _names(kept)}

    def total(self, count: str) -> int:
        """A count of outcomes over all rounds: `lost`, `duplicates`, `unexpected` or `late`."""
        return sum(int(getattr(run.outcome, count)) for run in self.runs if run.outcome)

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
    return [target for target in known.values() if target.version() and not target.only_if_named]


def missing_targets(cases: Sequence[BenchCase]) -> list[str]:
    """Targets that these cases would be measured on but which are not installed, with how to install them."""
    return [
        f"{target.name} is not installed, so there is no row for it{_remedy(target)}"
        for target in (kind() for kind in TARGETS)
        if target.version() is None and not target.only_if_named and any(_takes_part(target, case) for case in cases)
    ]


def _remedy(target: Target) -> str:
    return f" ({target.install_hint})" if target.install_hint else ""


def measure(
    cases: Sequence[BenchCase],
    targets: Sequence[Target],
    effort: BenchEffort,
    cores: Cores,
    progress: Callable[[str], None],
) -> Iterator[list[BenchRow]]:
    """The rows of each case, one per target, as soon as its rounds are done."""
    for number, case in enumerate(cases, 1):
        taking_part = [target for target in targets if _takes_part(target, case)]
        if not taking_part:
            progress(f"[{number}/{len(cases)}] {case.name}: none of the chosen brokers takes part")
            continue
        runs: dict[str, list[BenchRound]] = {target.name: [] for target in taking_part}
        for turn in range(1, effort.rounds + 1):
            for target in taking_part:
                progress(f"[{number}/{len(cases)}] {case.name}: {target.name}, round {turn} of {effort.rounds}")
                runs[target.name].append(_run(case, target, effort, cores, turn))
        yield [BenchRow(case, name, tuple(done)) for name, done in runs.items()]


def _takes_part(target: Target, case: BenchCase) -> bool:
    capabilities = target.capabilities - {"mqtt", "amqp"} | target.capabilities & target.compared_protocols
    return case.needs <= capabilities and (case.share is not None or not target.only_compared)


def _run(case: BenchCase, target: Target, effort: BenchEffort, cores: Cores, turn: int) -> BenchRound:
    try:
        with running_broker(
            target, cores.broker, tls=case.tls, durable=case.durable, amqp="amqp" in case.needs, layout=case.layout
        ) as broker:
            site = BrokerSite(broker.address, broker.meter, effort, target.longest_queue, broker.restart, broker.doors)
            return BenchRound(turn, case.measure(site))
    except (Problem, psutil.Error) as error:
        return BenchRound(turn, None, str(error))
