"""Tables of requests and replies: the highest rate of round trips, what it cost, and what one requester alone waits."""

from collections.abc import Sequence

from heliograph.lab.report.cases import Case
from heliograph.lab.report.document import Section
from heliograph.lab.report.figures import octets
from heliograph.lab.report.known import Published
from heliograph.lab.report.measures import Measures, group_of, is_persistent, single_requesters, size_of
from heliograph.lab.report.results import Results, Run
from heliograph.lab.report.table import Column, Row, Table

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
)
_NOTE = (
    "Max rate: round trips per second, each of two puts and two gets. CPU %: of the system under test, of all cores. "
    "Clients: requesters. Latency: the average round trip of a single requester, where such a run is among the results."
)
_DIRECT = " vs direct: the rate as a share of that of the same test without the extra distance or copy."
_NOBODY = Published("")


def responders(results: Results, cases: Sequence[Case]) -> Section:
    """The table of all cases that have requesters."""
    asked = [case for case in cases if group_of(case.run, {"request"})]
    rows = tuple(_row(results, case, asked) for case in asked)
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
    figure = results.known.figure(run.scenario, run.variant, "round trips/s") or _NOBODY
    return {
        "test": run.label,
        "load": _load(run),
        "target": run.target,
        "rate": measures.round_trips,
        "cpu_percent": measures.cpu_percent,
        "clients": group_of(run, {"request"}).get("clients"),
        "latency_ms": _alone(results, run),
        "vs_direct": _vs_direct(results, case, cases),
        "published_rate": figure.value,
        "published_cpu_percent": figure.cpu_percent,
        "published_clients": figure.clients,
        "published_latency_ms": figure.latency_ms,
    }


def _load(run: Run) -> str:
    size, kind = size_of(run), "persistent" if is_persistent(run) else "non-persistent"
    return f"{octets(size)} {kind}" if size else kind


def _alone(results: Results, run: Run) -> float | None:
    same = [
        one
        for one in single_requesters(results.runs)
        if (one.scenario, one.target) == (run.scenario, run.target) and size_of(one) == size_of(run)
    ]
    return Measures(results, same[-1]).latency.get("avg_ms") if same else None


def _vs_direct(results: Results, case: Case, cases: Sequence[Case]) -> float | None:
    """The rate in per cent of the scenario that is named as the direct one, with the same target, scale and size."""
    direct = results.known.about(case.run.scenario).direct
    for other in cases:
        alike = (other.run.target, other.run.scale, size_of(other.run)) == (
            case.run.target,
            case.run.scale,
            size_of(case.run),
        )
        if direct and other.run.scenario == direct and alike and other.measures.round_trips:
            return 100 * (case.measures.round_trips or 0) / other.measures.round_trips
    return None
