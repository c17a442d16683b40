"""The score card: one line per scenario and target, with the published figure beside the measured one."""

from collections.abc import Sequence

from heliograph.lab.report.cases import Case
from heliograph.lab.report.document import Section
from heliograph.lab.report.figures import short
from heliograph.lab.report.results import Results
from heliograph.lab.report.table import Column, Row, Table

TYPES = ("Throughput", "Latency", "Connection rate", "Data-center efficiency", "Request/responder", "Message flow")
LATENCIES = ("avg_ms", "p50_ms", "p99_ms", "max_ms", "stdev_ms")

_COLUMNS = (
    Column("name", "Name", detail="description"),
    Column("target", "Target", detail="remark"),
    Column("value", "Value", "rate", detail="unit"),
    Column("ingress", "Ingress", "rate"),
    Column("avg_ms", "AVG", "ms"),
    Column("p50_ms", "50P", "ms"),
    Column("p99_ms", "99P", "ms"),
    Column("max_ms", "MAX", "ms"),
    Column("stdev_ms", "STDV", "ms"),
    Column("published", "Published", "rate", detail="published_unit"),
    Column("scale", "Scale", "number"),
)
_NOTE = (
    "Value is what the scenario counts; of several runs the median one is shown, with the least and the greatest value "
    "below its target. Published is the figure of the document that the scenario comes from, at scale 1 and on that "
    "document's hardware. AVG to STDV are the latency of messages from the moment they were due, so lateness of the "
    "sender counts; for requests it is the round trip, for bursts of connections the time of a connect."
)


def score_card(results: Results, cases: Sequence[Case]) -> Section:
    """The score card of all cases."""
    rows = [_row(results, case) for case in cases]
    table = Table("score_card", "Score card", _COLUMNS, tuple(rows), results.absent("rates"), group="type", note=_NOTE)
    return Section("score-card", "Score card", tables=(table,))


def _row(results: Results, case: Case) -> Row:
    run, measures = case.run, case.measures
    value = None if measures.is_latency else measures.value
    sent = measures.sent_rate
    differs = measures.score == "received_rate" and value and sent and abs(sent - value) > 0.2 * max(sent, value)
    latency = measures.latency
    figure = results.known.figure(run.scenario, run.variant, measures.score)
    return {
        "type": run.type or "Other",
        "name": run.label,
        "description": measures.about.title,
        "target": run.target,
        "remark": _remark(case),
        "value": value,
        "unit": measures.unit if value is not None else "",
        "ingress": sent if differs else None,
        **{key: latency.get(key) for key in LATENCIES},
        "published": figure.value,
        "published_unit": {"us": "\N{MICRO SIGN}s"}.get(figure.unit, figure.unit),
        "scale": run.scale,
    }


def _remark(case: Case) -> str:
    """What a reader must know of this line before believing it."""
    words = []
    if case.spread and not case.measures.is_latency:
        low, high = case.spread
        words.append(f"{len(case.repeats)} runs, {short(low)} to {short(high)}")
    if case.run.generator_bound:
        words.append("limited by the generator")
    if case.run.broken:
        words.append(f"not passed: {case.run.broken}")
    return "; ".join(words)
