"""Puts a report together from results."""

from heliograph.lab.report.cases import Case, cases
from heliograph.lab.report.document import Report
from heliograph.lab.report.parts.comparison import comparison
from heliograph.lab.report.parts.configuration import configuration
from heliograph.lab.report.parts.costs import bottlenecks, costs
from heliograph.lab.report.parts.details import details
from heliograph.lab.report.parts.health import health, outliers
from heliograph.lab.report.parts.latencies import latencies
from heliograph.lab.report.parts.limitations import limitations
from heliograph.lab.report.parts.nodes import nodes
from heliograph.lab.report.parts.repeating import repeating
from heliograph.lab.report.parts.responders import responders
from heliograph.lab.report.parts.score_card import TYPES, score_card
from heliograph.lab.report.parts.summary import summary
from heliograph.lab.report.parts.systems import systems
from heliograph.lab.report.results import Results


def build_report(results: Results) -> Report:
    """The report of these results."""
    found = sorted(cases(results), key=lambda case: _place(results, case))
    sections = (
        summary(results, found),
        score_card(results, found),
        responders(results, found),
        nodes(results, found),
        comparison(results, found),
        details(results, found, _colours(found)),
        latencies(results, found),
        costs(results, found),
        bottlenecks(results, found),
        outliers(results, found),
        health(results, found),
        systems(results, found),
        configuration(found),
        repeating(results, found),
        limitations(found),
    )
    return Report("Lab report", _subtitle(results, found), sections)


def _place(results: Results, case: Case) -> tuple[object, ...]:
    """Scenarios by type, then as in the catalogue; targets of one scenario stay in their order."""
    run = case.run
    kind = TYPES.index(run.type) if run.type in TYPES else len(TYPES)
    return kind, results.known.place(run.scenario, run.variant), run.scenario, run.variant, run.scale


def _colours(found: list[Case]) -> dict[str, int]:
    """A colour for each target, the same in all charts."""
    return {target: number for number, target in enumerate(dict.fromkeys(case.run.target for case in found))}


def _subtitle(results: Results, found: list[Case]) -> str:
    named = [f"{run.target} {run.target_version}".strip() for run in (case.run for case in found)]
    return f"{', '.join(dict.fromkeys(named))} · {results.runs[-1].started:%d %B %Y}"
