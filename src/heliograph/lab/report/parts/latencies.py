"""Latencies in full: all percentiles of every kind of latency that was measured."""

from collections.abc import Iterable, Sequence

from heliograph.lab.report.cases import Case
from heliograph.lab.report.document import Section
from heliograph.lab.report.parts.score_card import LATENCIES
from heliograph.lab.report.results import Results
from heliograph.lab.report.table import Column, Row, Table

_PERCENTILES = (
    Column("target", "Target", detail="kind"),
    Column("count", "Messages", "rate"),
    Column("min_ms", "MIN", "ms"),
    Column("avg_ms", "AVG", "ms"),
    Column("p50_ms", "50P", "ms"),
    Column("p75_ms", "75P", "ms"),
    Column("p90_ms", "90P", "ms"),
    Column("p95_ms", "95P", "ms"),
    Column("p99_ms", "99P", "ms"),
    Column("p999_ms", "99.9P", "ms"),
    Column("p9999_ms", "99.99P", "ms"),
    Column("max_ms", "MAX", "ms"),
    Column("stdev_ms", "STDV", "ms"),
)


def latencies(results: Results, cases: Sequence[Case]) -> Section:
    """The percentiles of all cases, by scenario, and what was published of them."""
    rows = [row for case in cases for row in _measured(results, case)] + list(_published(results, cases))
    rows.sort(key=lambda row: (str(row["name"]), row["kind"] == "published"))
    table = Table("latencies", "Latencies", _PERCENTILES, tuple(rows), results.absent("percentiles"), group="name")
    return Section("latencies", "Latencies", tables=(table,))


def _measured(results: Results, case: Case) -> Iterable[Row]:
    for row in sorted(results.of("percentiles", case.run.run), key=lambda row: (row["kind"], row["group"])):
        kind = str(row["kind"]).replace("_", " ")
        yield {**row, "name": case.run.label, "target": case.run.target, "kind": f"{kind}, {row['group']}"}


def _published(results: Results, cases: Sequence[Case]) -> Iterable[Row]:
    for scenario, variant in dict.fromkeys((case.run.scenario, case.run.variant) for case in cases):
        for figure in results.known.figures(scenario, variant):
            if figure.avg_ms is not None:
                had = {key: getattr(figure, key) for key in LATENCIES}
                yield {"name": f"{scenario} {variant}".strip(), "target": figure.source, "kind": "published", **had}
