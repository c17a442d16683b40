"""Targets side by side: ratios from pairs of interleaved runs, with a confidence interval."""

from collections.abc import Iterable, Sequence

from heliograph.lab.report.charts.chart import Axis, IntervalChart, RatioInterval
from heliograph.lab.report.document import Section
from heliograph.lab.report.report_cases import ReportCase
from heliograph.lab.report.results import Results
from heliograph.lab.report.table import Column, Table, TableRow, columns

METRICS = {
    "sent_rate": "messages sent/s",
    "received_rate": "messages received/s",
    "sustained_rate": "sustained messages/s",
    "round_trips": "round trips/s",
    "connect_seconds": "seconds to connect",
    "avg_ms": "latency AVG, ms",
    "p50_ms": "latency 50P, ms",
    "p99_ms": "latency 99P, ms",
    "max_ms": "latency MAX, ms",
    "server_cpu_ms_per_message": "CPU ms/message",
    "server_cpu_cores": "CPU cores",
    "rss_bytes": "memory, bytes",
    "messages_per_watt": "messages/W",
}

_COLUMNS = (
    Column("name", "Name", detail="metric"),
    Column("a", "A"),
    Column("a_median", "A, median", "rate"),
    Column("b", "B"),
    Column("b_median", "B, median", "rate"),
    *columns("ratio", ratio="Ratio", low="from", high="to"),
    Column("verdict", "Verdict"),
)
_COLOURS = {"A better": 0, "B better": 1}
_SAME = ("no difference shown", 5)
_MOST = 10  # ratios in one chart
_MOST_ROWS = 60
_DRAWN = {"received_rate", "round_trips", "p99_ms", "server_cpu_ms_per_message"}  # the others are in the table
_NOTE = (
    "Runs of A and B are interleaved, so that disturbances of the machine meet both. From and to are the bounds of the "
    "95 % confidence interval of the ratio; where it includes 1, no difference is shown. A single pair has no interval."
)


def comparison(results: Results, cases: Sequence[ReportCase]) -> Section:
    """The table of all pairs of targets or versions, and a chart for each two of them."""
    # What differs comes first: with many scenarios and figures, that is what people look for.
    pairs = sorted(newest_pairs(results), key=lambda pair: pair["verdict"] == _SAME[0])
    targets = {case.run.target for case in cases}
    why = (
        f"All runs are on {next(iter(targets))}: there is nothing to compare it with."
        if len(targets) == 1
        else "No pairs of targets were compared: that takes interleaved runs of the same scenario."
    )
    table = Table(
        "pairs", "Comparison of targets", _COLUMNS, tuple(map(_named, pairs)), why, note=_NOTE, most=_MOST_ROWS
    )
    return Section("comparison", "Comparison of targets", tables=(table,), charts=tuple(_charts(pairs)))


def _charts(pairs: Sequence[TableRow]) -> Iterable[IntervalChart]:
    for number, (a, b) in enumerate(dict.fromkeys((str(pair["a"]), str(pair["b"])) for pair in pairs), 1):
        mine = [pair for pair in pairs if (pair["a"], pair["b"]) == (a, b) and _is_drawn(pair)]
        for start in range(0, len(mine), _MOST):
            yield IntervalChart(
                f"pairs-{number}-{start // _MOST + 1}",
                f"{a} beside {b}",
                f"{a} beside {b}",
                f"The ratio of {a} to {b} in each figure, with the interval that it lies in; at 1 they are the same.",
                Axis(f"{a} / {b}", "ratio", logarithmic=True),
                tuple(map(_interval, mine[start : start + _MOST])),
                (*((f"{name} is better", _COLOURS[key]) for name, key in ((a, "A better"), (b, "B better"))), _SAME),
            )


def _is_drawn(pair: TableRow) -> bool:
    """Whether to draw this pair: only main figures, and only ratios above 0 that have an interval."""
    if pair["figure"] not in _DRAWN:
        return False
    return all(isinstance(pair[key], int | float) and pair[key] > 0 for key in ("ratio", "low", "high"))


def _interval(pair: TableRow) -> RatioInterval:
    colour = _COLOURS.get(str(pair["verdict"]), _SAME[1])
    return RatioInterval(f"{pair['name']}: {pair['metric']}", pair["ratio"], pair["low"], pair["high"], colour)


def _named(pair: TableRow) -> TableRow:
    """The pair with a verdict that names who is better."""
    verdict = str(pair["verdict"])
    for side in ("a", "b"):
        verdict = verdict.replace(f"{side.upper()} better", f"{pair[side]} is better")
    return {**pair, "verdict": verdict}


def newest_pairs(results: Results) -> list[TableRow]:
    """Pairs with names for people; of several experiments with the same pair the newest one."""
    started = {run.experiment: run.started for run in results.runs}
    first = min(started.values())
    newest: dict[tuple[str, ...], TableRow] = {}
    for pair in sorted(results.every("pairs"), key=lambda pair: started.get(pair.get("experiment", ""), first)):
        key = tuple(str(pair.get(name)) for name in ("scenario", "variant", "a", "b", "metric"))
        newest[key] = {
            **pair,
            "name": f"{pair.get('scenario')} {pair.get('variant') or ''}".strip(),
            "figure": pair.get("metric"),
            "metric": METRICS.get(str(pair.get("metric")), pair.get("metric")),
        }
    return list(newest.values())
