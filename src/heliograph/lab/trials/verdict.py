"""The verdict on a run: the pass rule of its scenario applied to what was observed.

Rates must be sustained, not only reached on average: the measured time is divided into thirds, and each of them is
judged. Small deviations pass, as messages at the ends of a third may be counted on either side.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from heliograph.lab.load.meter import Interval, LoadOutcome
from heliograph.lab.load.plan import Group, Plan
from heliograph.lab.probes.probe import Sample
from heliograph.lab.scenarios import PassRule
from heliograph.lab.text_table import rounded

SENT_SHARE = 0.97
"""Of the offered rate, that has to be sent in each third of the time."""
ARRIVED_SHARE = 0.95
"""Of what the sent messages make, that has to arrive in each third: messages that are in flight at the ends vary."""
SLACK = 2
"""Messages that may fall on the other side of a boundary between seconds; matters where messages are few."""


@dataclass(frozen=True)
class Verdict:
    """How a run ended."""

    passed: bool
    why: str = ""
    """The rules that were broken; empty if it passed."""
    generator_bound: bool = False


@dataclass(frozen=True)
class Observations:
    """The observations that the pass rule is applied to."""

    lost: int
    discarded: int
    errors: int
    first_error: str
    not_sustained: str
    """Which group fell behind when; empty if none did."""
    latency_ms: float | None
    connect_ms: float | None
    busiest_cpu: float | None
    """Per cent of a core: of the busiest thread, or of all cores that the system may use."""


def judge(rule: PassRule, facts: Observations, bottleneck: str | None) -> Verdict:
    """The verdict, with every rule that does not hold."""
    broken = list(_broken(rule, facts))
    if bottleneck:
        broken.append(f"the generator was the limit: {bottleneck}")
    return Verdict(not broken, "; ".join(broken), bottleneck is not None)


def _broken(rule: PassRule, facts: Observations) -> Iterator[str]:
    if facts.errors:
        yield f"{facts.errors:,} errors, the first: {facts.first_error}"
    if rule.lost is not None and facts.lost > rule.lost:
        yield f"{facts.lost:,} messages lost"
    if rule.lost is not None and facts.discarded > rule.lost:
        yield f"{facts.discarded:,} messages discarded by the server"
    if rule.held and facts.not_sustained:
        yield facts.not_sustained
    for limit, found, what, unit in (
        (rule.average_latency_ms, facts.latency_ms, "average latency", "ms"),
        (rule.average_connect_ms, facts.connect_ms, "average time to connect", "ms"),
        (rule.busiest_cpu, facts.busiest_cpu, "busiest CPU", "%"),
    ):
        if limit is not None and found is not None and found > limit:
            yield f"{what} {rounded(found)} {unit}, above {limit:g} {unit}"


def observations_of(
    plan: Plan, intervals: Sequence[Interval], outcome: LoadOutcome, samples: Sequence[Sample], cores: int | None
) -> Observations:
    """What the run showed; `cores` is how many the system may use."""
    totals = outcome.groups.values()
    return Observations(
        lost=sum(group.lost for group in totals),
        discarded=_discarded(samples),
        errors=sum(group.errors for group in totals),
        first_error=next((group.first_error for group in totals if group.first_error), ""),
        not_sustained=_not_sustained(plan, intervals, outcome),
        latency_ms=_mean(outcome, ("message", "round_trip")),
        connect_ms=_mean(outcome, ("connect",)),
        busiest_cpu=busiest_cpu(samples, cores, outcome.seconds),
    )


def _mean(outcome: LoadOutcome, kinds: Sequence[str]) -> float | None:
    """Milliseconds, over all groups, of the first kind that was measured."""
    for kind in kinds:
        found = [group.latencies[kind] for group in outcome.groups.values() if kind in group.latencies]
        if count := sum(one.count for one in found):
            return sum(one.sum_ns for one in found) / count / 1e6
    return None


def _discarded(samples: Sequence[Sample]) -> int:
    """By the server's own count, since the first look."""
    counted = [one.value for one in samples if one.source == "server" and one.metric == "discarded"]
    return round(counted[-1] - counted[0]) if counted else 0


def busiest_cpu(samples: Sequence[Sample], cores: int | None, seconds: float) -> float | None:
    """The average of the busiest thread, or of all cores that the system may use, whichever is nearer to its limit.

    The system's own use, not the machine's: what others do on a shared machine does not count.
    """
    mine = [one for one in samples if one.source == "server" and 0.5 < one.at <= seconds + 0.5]
    threads = _mean_of_each(mine, "busiest_thread_percent")
    together = sum(_mean_of_each(mine, "cpu_percent").values())
    if not threads:
        return None
    return max(*threads.values(), together / cores if cores else 0.0)


def _mean_of_each(samples: Sequence[Sample], metric: str) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for one in samples:
        if one.metric == metric:
            found.setdefault(one.name, []).append(one.value)
    return {name: sum(values) / len(values) for name, values in found.items()}


def _not_sustained(plan: Plan, intervals: Sequence[Interval], outcome: LoadOutcome) -> str:
    """The first group that did not keep to its rate in some third of the time."""
    for group in plan.groups:
        if group.rate and group.sends and group.pace == "steady":
            for third, (seconds, sent) in enumerate(_thirds(intervals, {group.name}, "sent", outcome.seconds), 1):
                if sent + SLACK < SENT_SHARE * group.rate * seconds:
                    return (
                        f"{group.name} sent {rounded(sent / seconds)} of {rounded(group.rate)} msg/s ({_place(third)})"
                    )
    return _behind(plan, intervals, outcome)


def _behind(plan: Plan, intervals: Sequence[Interval], outcome: LoadOutcome) -> str:
    """Whether consumers got as many messages in each third as producers made for them."""
    receiving = {group.name for group in plan.groups if group.role == "consume"}
    offered = sum(group.rate or 0.0 for group in plan.groups if _is_steady(group))
    sent = sum(outcome.groups[group.name].sent for group in plan.groups if group.sends)
    expected = sum(outcome.groups[name].expected for name in receiving)
    if not offered or not sent or not expected or not all(_is_steady(group) for group in plan.groups if group.sends):
        return ""
    wanted = offered * expected / sent
    for third, (seconds, received) in enumerate(_thirds(intervals, receiving, "received", outcome.seconds), 1):
        if received + SLACK * expected / sent < ARRIVED_SHARE * wanted * seconds:
            return f"{rounded(received / seconds)} of {rounded(wanted)} msg/s arrived ({_place(third)})"
    return ""


def _is_steady(group: Group) -> bool:
    return group.sends and group.rate is not None and group.pace == "steady"


def _place(third: int) -> str:
    return f"in third {third} of the measured time"


def _thirds(intervals: Sequence[Interval], groups: set[str], column: str, seconds: float) -> list[tuple[float, float]]:
    """Length and sum of each third; of all the time, where thirds would not have whole seconds."""
    whole = int(seconds)
    if whole < 1:
        return []
    counts = [0] * whole
    for one in intervals:
        if 0 <= one.second < whole and one.group in groups:
            counts[one.second] += getattr(one, column)
    parts = 3 if whole >= 3 else 1
    bounds = [whole * part // parts for part in range(parts + 1)]
    return [(end - start, sum(counts[start:end])) for start, end in pairwise(bounds)]
