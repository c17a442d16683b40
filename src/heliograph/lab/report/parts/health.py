"""What went wrong or stood out: lost messages, full queues, discards, and seconds that differ from the others."""

from collections.abc import Sequence

from heliograph.lab.report.document import Section
from heliograph.lab.report.parts.comparison import METRICS
from heliograph.lab.report.report_cases import ReportCase
from heliograph.lab.report.results import Results
from heliograph.lab.report.table import NAMED, Column, Table, TableRow, columns

_COUNTS = ("sent", "received", "lost", "duplicates", "reordered", "errors")
_HEALTH = (
    *NAMED,
    *columns(
        "count",
        sent="Sent",
        received="Received",
        lost="Lost",
        duplicates="Duplicates",
        reordered="Out of order",
        errors="Errors",
        high_water="High-water mark",
        published_high_water="Published high-water mark",
        discarded="Discarded",
    ),
)
_OUTLIERS = (
    *NAMED,
    Column("second", "Second", "count"),
    *columns("text", group="Group", metric="Figure"),
    *columns("rate", value="Value", usual="Typical"),
)


def health(results: Results, cases: Sequence[ReportCase]) -> Section:
    """Losses, high-water marks and discards of every case."""
    table = Table(
        "health",
        "Losses, high-water marks and discards",
        _HEALTH,
        tuple(_row(results, case) for case in cases if case.measures.rates),
        results.absent("rates"),
        note="The high-water mark is the most messages that waited in one queue or subscription at any time.",
    )
    return Section("health", "Losses, high-water marks and discards", tables=(table,))


def _row(results: Results, case: ReportCase) -> TableRow:
    run, measures = case.run, case.measures
    figure = results.known.figure(run.scenario, run.variant, measures.score)
    return {
        "name": run.label,
        "target": run.target,
        **{count: measures.total(count) for count in _COUNTS},
        "high_water": measures.costs.get("high_water"),
        "published_high_water": figure.high_water,
        "discarded": measures.costs.get("discarded"),
    }


def outliers(results: Results, cases: Sequence[ReportCase]) -> Section:
    """Seconds that differ from the others, the farthest first."""
    rows = [
        {
            "name": case.run.label,
            "target": case.run.target,
            **{key: row.get(key) for key in ("second", "group", "value", "usual")},
            "metric": METRICS.get(str(row.get("metric")), row.get("metric")),
        }
        for case in cases
        for row in results.of("outliers", case.run.run)
    ]
    table = Table(
        "outliers",
        "Outliers",
        _OUTLIERS,
        tuple(sorted(rows, key=_oddness, reverse=True)),
        "No outliers were found in the runs shown.",
        most=20,
    )
    return Section("outliers", "Outliers", tables=(table,))


def _oddness(row: TableRow) -> float:
    """How far the value is from the typical one, as a ratio of at least 1."""
    value, usual = float(row["value"] or 0), float(row["usual"] or 0)
    if value <= 0 or usual <= 0:
        return float("inf") if value != usual else 0.0
    return max(value / usual, usual / value)
