"""Tables of requests and replies: the highest rate of round trips, what it cost, and what one requester alone waits."""

from collections.abc import Sequence

from heliograph.lab.report.cases import Case
from heliograph.lab.report.document import Section
from heliograph.lab.report.figures import octets
from heliograph.lab.report.measures import is_persistent, requesters, size_of
from heliograph.lab.report.results import Results, Run
from heliograph.lab.report.table import Column, Row, Table
from heliograph.lab.scenarios.terms import SINGLE_THREAD

_COLUMNS = (
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
_NOTE = (
    "Max rate: round trips per second, each of two puts and two gets. CPU %: of the system under test, of all cores. "
    "Clients: requesters. Latency: the average round trip of a single requester, where such a run is among the results."
)
_DIRECT = " vs direct: the rate as a share of that of the same test without the extra distance or copy."


def responders(results: Results, cases: Sequence[Case]) -> Section:
    """The table of all cases that have requesters."""
    asked = [case for case in cases if requesters(case.run)]
    # A single requester is there for the latency of the whole case, and needs no line of its own beside that one.
    whole = [case for case in asked if not _is_alone(case)]
    rows = tuple(_row(results, case, asked) for case in whole or asked)
    table = Table(
        "request_responder",
        "Request/responder",
        _COLUMNS,
        rows,
        "No request/responder scenario is among the runs.",
        note=_NOTE + (_DIRECT if any(row["vs_direct"] is not None for row in rows) else ""),
    )
    return Section("requests", "Request/responder", tables=(table,))


def _row(results: Results, case: Case, cases: Sequence[Case]) -> Row:
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


def _load(run: Run) -> str:
    size, kind = size_of(run), "persistent" if is_persistent(run) else "non-persistent"
    return f"{octets(size)} {kind}" if size else kind


def _is_alone(case: Case) -> bool:
    return case.run.variant.endswith(SINGLE_THREAD)


def _alike(one: Case, other: Case) -> bool:
    return (one.run.target, one.run.scale) == (other.run.target, other.run.scale)


def _alone(case: Case, cases: Sequence[Case]) -> float | None:
    """The average round trip of the variant with a single requester."""
    wanted = case.run.scenario, case.run.variant.removesuffix(SINGLE_THREAD) + SINGLE_THREAD
    for other in cases:
        if (other.run.scenario, other.run.variant) == wanted and _alike(case, other):
            return other.measures.latency.get("avg_ms")
    return None
