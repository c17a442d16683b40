"""Tables with a row per case: the score card, latencies, requests with their replies, and message flows."""

from collections.abc import Iterable, Sequence

from heliograph.lab.report.document import Section
from heliograph.lab.report.measures import is_persistent, requesters, size_of
from heliograph.lab.report.report_cases import ReportCase
from heliograph.lab.report.results import RecordedRun, Results
from heliograph.lab.report.table import Column, Table, TableRow, columns, octets, short
from heliograph.lab.scenarios.scenario_terms import SINGLE_THREAD

TYPES = ("Throughput", "Latency", "Connection rate", "Data-center efficiency", "Request/responder", "Message flow")
LATENCIES = ("avg_ms", "p50_ms", "p99_ms", "max_ms", "stdev_ms")

_SCORE_COLUMNS = (
    Column("name", "Name", detail="description"),
    Column("target", "Target", detail="remark"),
    Column("value", "Value", "rate", detail="unit"),
    Column("ingress", "Ingress", "rate"),
    *columns("ms", avg_ms="AVG", p50_ms="50P", p99_ms="99P", max_ms="MAX", stdev_ms="STDV"),
    Column("published", "Published", "rate", detail="published_unit"),
    Column("scale", "Scale", "number"),
)
_SCORE_NOTE = (
    "Value: the score of the scenario. Of several runs the median one is shown, with the least and the greatest value "
    "below its target. Published: the figure of the document that the scenario comes from, at scale 1 and on that "
    "document's hardware. AVG to STDV: the latency of messages, counted from the time when they were due, so delays of "
    "the sender are included; for requests the round trip, for connection bursts the time of a connect. 50P and 99P: "
    "percentiles."
)

_PERCENTILES = (
    Column("target", "Target", detail="kind"),
    Column("count", "Messages", "rate"),
    *columns(
        "ms",
        min_ms="MIN",
        avg_ms="AVG",
        p50_ms="50P",
        p75_ms="75P",
        p90_ms="90P",
        p95_ms="95P",
        p99_ms="99P",
        p999_ms="99.9P",
        p9999_ms="99.99P",
        max_ms="MAX",
        stdev_ms="STDV",
    ),
)
_REQUEST_COLUMNS = (
    Column("test", "Test", detail="load"),
    Column("target", "Target"),
    Column("rate", "Max rate", "rate"),
    Column("cpu_percent", "CPU %", "number"),
    Column("clients", "Clients", "count"),
    Column("latency_ms", "Latency", "ms"),
    Column("vs_direct", "vs direct", "percent"),
    Column("published_rate", "Published rate", "rate"),
    Column("published_cpu_percent", "Published CPU %", "number"),
    Column("published_clients", "Published clients", "count"),
    Column("published_latency_ms", "Published latency", "ms"),
    Column("published_vs_direct", "Published vs direct", "percent"),
)
_REQUEST_NOTE = (
    "Max rate: round trips per second, each of two puts and two gets. CPU %: of the system under test, of all cores. "
    "Clients: requesters. Latency: the average round trip of a single requester, where such a run is among the results."
)
_DIRECT = " vs direct: the rate as a share of that of the same test without the extra distance or copy."
_FLOW_COLUMNS = (
    Column("test", "Test", detail="description"),
    *columns("text", target="Target", persistent="Persistent"),
    Column("size", "Size", "bytes"),
    Column("rate", "Messages/s", "rate"),
    *columns("number", cpu_percent="CPU %", cpu_ms="CPU ms/message"),
    Column("published_rate", "Published messages/s", "rate"),
    *columns("number", published_cpu_percent="Published CPU %", published_cpu_ms="Published CPU ms/message"),
)
_FLOW_NOTE = (
    "CPU % is of all cores of the machine; CPU ms per message is what the system under test used, all its processes "
    "together."
)


def score_card(results: Results, cases: Sequence[ReportCase]) -> Section:
    """The score card of all cases."""
    rows = [_score_row(results, case) for case in cases]
    table = Table(
        "score_card", "Score card", _SCORE_COLUMNS, tuple(rows), results.absent("rates"), group="type", note=_SCORE_NOTE
    )
    return Section("score-card", "Score card", tables=(table,))


def _score_row(results: Results, case: ReportCase) -> TableRow:
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


def _remark(case: ReportCase) -> str:
    """Remarks on a result: the spread of its runs, a limit of the generator, a pass rule that was broken."""
    words = []
    if case.spread and not case.measures.is_latency:
        low, high = case.spread
        words.append(f"{len(case.repeats)} runs, {short(low)} to {short(high)}")
    if case.run.generator_bound:
        words.append("limited by the generator")
    if case.run.broken:
        words.append(f"not passed: {case.run.broken}")
    return "; ".join(words)


def latencies(results: Results, cases: Sequence[ReportCase]) -> Section:
    """The percentiles of all cases, by scenario, and what was published of them."""
    rows = [row for case in cases for row in _measured(results, case)] + list(_published(results, cases))
    rows.sort(key=lambda row: (str(row["name"]), row["kind"] == "published"))
    table = Table("latencies", "Latencies", _PERCENTILES, tuple(rows), results.absent("percentiles"), group="name")
    return Section("latencies", "Latencies", tables=(table,))


def _measured(results: Results, case: ReportCase) -> Iterable[TableRow]:
    for row in sorted(results.of("percentiles", case.run.run), key=lambda row: (row["kind"], row["group"])):
        kind = str(row["kind"]).replace("_", " ")
        yield {**row, "name": case.run.label, "target": case.run.target, "kind": f"{kind}, {row['group']}"}


def _published(results: Results, cases: Sequence[ReportCase]) -> Iterable[TableRow]:
    for scenario, variant in dict.fromkeys((case.run.scenario, case.run.variant) for case in cases):
        for figure in results.known.figures(scenario, variant):
            if figure.avg_ms is not None:
                had = {key: getattr(figure, key) for key in LATENCIES}
                yield {"name": f"{scenario} {variant}".strip(), "target": figure.source, "kind": "published", **had}


def responders(results: Results, cases: Sequence[ReportCase]) -> Section:
    """The table of all cases that have requesters."""
    asked = [case for case in cases if requesters(case.run)]
    # A single requester is there for the latency of the whole case, and needs no line of its own beside that one.
    whole = [case for case in asked if not _is_alone(case)]
    rows = tuple(_request_row(results, case, asked) for case in whole or asked)
    table = Table(
        "request_responder",
        "Request/responder",
        _REQUEST_COLUMNS,
        rows,
        "No request/responder scenario is among the runs.",
        note=_REQUEST_NOTE + (_DIRECT if any(row["vs_direct"] is not None for row in rows) else ""),
    )
    return Section("requests", "Request/responder", tables=(table,))


def _request_row(results: Results, case: ReportCase, cases: Sequence[ReportCase]) -> TableRow:
    run, measures = case.run, case.measures
    figure = results.known.figure(run.scenario, run.variant, "round_trips")
    return {
        "test": run.label,
        "load": _load(run),
        "target": run.target,
        "rate": measures.round_trips,
        "cpu_percent": measures.cpu_percent,
        "clients": requesters(run),
        "latency_ms": _alone(case, cases),
        "vs_direct": results.one("direct", run.run).get("percent"),
        "published_rate": figure.value,
        "published_cpu_percent": figure.cpu_percent,
        "published_clients": figure.clients,
        "published_latency_ms": figure.latency_ms,
        "published_vs_direct": figure.vs_direct,
    }


def _load(run: RecordedRun) -> str:
    size, kind = size_of(run), "persistent" if is_persistent(run) else "non-persistent"
    return f"{octets(size)} {kind}" if size else kind


def _is_alone(case: ReportCase) -> bool:
    return case.run.variant.endswith(SINGLE_THREAD)


def _alike(one: ReportCase, other: ReportCase) -> bool:
    return (one.run.target, one.run.scale) == (other.run.target, other.run.scale)


def _alone(case: ReportCase, cases: Sequence[ReportCase]) -> float | None:
    """The average round trip of the variant with a single requester."""
    wanted = case.run.scenario, case.run.variant.removesuffix(SINGLE_THREAD) + SINGLE_THREAD
    for other in cases:
        if (other.run.scenario, other.run.variant) == wanted and _alike(case, other):
            return other.measures.latency.get("avg_ms")
    return None


def nodes(results: Results, cases: Sequence[ReportCase]) -> Section:
    """The table of all cases that run a message flow."""
    rows = [_flow_row(results, case) for case in cases if case.run.type == "Message flow"]
    table = Table(
        "message_flows",
        "Message flows",
        _FLOW_COLUMNS,
        tuple(rows),
        "No message flow is among the runs.",
        note=_FLOW_NOTE,
    )
    return Section("flows", "Message flows", tables=(table,))


def _flow_row(results: Results, case: ReportCase) -> TableRow:
    run, measures = case.run, case.measures
    figure = results.known.figure(run.scenario, run.variant, "flow_rate")
    return {
        "test": run.label,
        "description": measures.about.title,
        "target": run.target,
        "persistent": is_persistent(run),
        "size": size_of(run),
        "rate": measures.received_rate,
        "cpu_percent": measures.cpu_percent,
        "cpu_ms": measures.costs.get("server_cpu_ms_per_message"),
        "published_rate": figure.value,
        "published_cpu_percent": figure.cpu_percent,
        "published_cpu_ms": figure.cpu_ms,
    }
