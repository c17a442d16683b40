"""The key results in a few sentences."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from heliograph.lab.report.document import Section
from heliograph.lab.report.parts.comparison import newest_pairs
from heliograph.lab.report.report_cases import ReportCase
from heliograph.lab.report.results import Results
from heliograph.lab.report.table import duration, plain, short


def summary(results: Results, cases: Sequence[ReportCase]) -> Section:
    """The section: what was measured, the best results of each kind, and how targets compare."""
    missing = [] if results.every("rates") else [results.absent("rates")]
    return Section(
        "summary",
        "Key results",
        paragraphs=(_done(results, cases), *missing),
        points=(*_best(cases), *_compared(results)),
    )


def _done(results: Results, cases: Sequence[ReportCase]) -> str:
    scenarios = {(case.run.scenario, case.run.variant) for case in cases}
    targets = list(dict.fromkeys(case.run.target for case in cases))
    first, last = results.runs[0].started, results.runs[-1].started
    when = f"on {first:%d %B %Y}" if first.date() == last.date() else f"from {first:%d %B %Y} to {last:%d %B %Y}"
    passed, bound = sum(case.run.passed for case in cases), sum(case.run.generator_bound for case in cases)
    limited = f"; in {bound} the load generator was the limit" if bound else ""
    return (
        f"{_number(len(results.runs), 'run')} of {_number(len(scenarios), 'scenario')} on {_listed(targets)}, {when}. "
        f"{passed} of {len(cases)} results passed{limited}."
    )


def _best(cases: Sequence[ReportCase]) -> Iterable[str]:
    """One sentence for each kind of figure: the best result, and what other targets did in the same scenario.

    A result that the generator limited is a bound of the system's figure; it is used only where there is no other.
    """
    kept = [case for case in cases if not case.run.broken]
    for kind in _HEADLINES:
        found = [(case, value) for case in kept if (value := kind.value(case))]
        if found:
            best = max(found, key=lambda pair: (not pair[0].run.generator_bound, kind.rank(pair[1])))[0]
            told = [kind.told(case, value) for case, value in found if case.subject == best.subject]
            yield f"{kind.title} ({best.run.label}, scale {plain(best.run.scale)}): {'; '.join(told)}."


@dataclass(frozen=True)
class _Headline:
    """A figure for the summary."""

    title: str
    value: Callable[[ReportCase], float | None]
    written: Callable[[float], str] = short
    least_is_best: bool = False
    more: Callable[[ReportCase], str] = lambda case: ""

    def rank(self, value: float) -> float:
        """The higher, the better."""
        return -value if self.least_is_best else value

    def told(self, case: ReportCase, value: float) -> str:
        """The result of a target in words."""
        limited = case.run.generator_bound
        bound = ("at most " if self.least_is_best else "at least ") if limited else ""
        said = " (limited by the generator)" if limited else ""
        return f"{case.run.target} {bound}{self.written(value)}{self.more(case)}{said}"


def _delivered(case: ReportCase) -> float | None:
    return case.measures.received_rate if case.run.type == "Throughput" else None


def _flowed(case: ReportCase) -> float | None:
    return case.measures.received_rate if case.run.type == "Message flow" else None


def _waited(case: ReportCase) -> float | None:
    return case.measures.latency.get("avg_ms") if case.run.type == "Latency" else None


def _tail(case: ReportCase) -> str:
    last = case.measures.latency.get("p99_ms")
    return f", 99 % within {duration(last)}" if last is not None else ""


def _accepted(case: ReportCase) -> float | None:
    value = case.measures.value if case.measures.score == "connect_seconds" else None
    return case.run.connections / value if value else None


_HEADLINES = (
    _Headline("Most messages delivered per second", _delivered),
    _Headline("Shortest latency on average", _waited, duration, least_is_best=True, more=_tail),
    _Headline("Most requests answered per second", lambda case: case.measures.round_trips),
    _Headline("Most messages per second through a flow", _flowed),
    _Headline("Most connections accepted per second", _accepted),
    _Headline("Most messages per watt", lambda case: case.measures.costs.get("messages_per_watt")),
)


def _compared(results: Results) -> Iterable[str]:
    """How often each target of a pair is better, counting significant differences only."""
    outcomes: dict[tuple[str, str], list[str]] = {}
    for pair in newest_pairs(results):
        outcomes.setdefault((str(pair["a"]), str(pair["b"])), []).append(str(pair["verdict"]))
    for (a, b), verdicts in outcomes.items():
        better, worse = verdicts.count("A better"), verdicts.count("B better")
        open_ = len(verdicts) - better - worse
        yield (
            f"Of {_number(len(verdicts), 'figure')} measured side by side, {a} is better in {better} and {b} in "
            f"{worse}; in {open_} no difference is significant."
        )


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
