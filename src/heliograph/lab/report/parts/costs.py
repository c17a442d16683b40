"""What the figures cost: CPU of the system and of the generator, memory, energy, and what was the limit."""

import math
from collections.abc import Sequence
from itertools import pairwise

from heliograph.lab.report.charts.chart import Axis, Bar, BarChart
from heliograph.lab.report.document import Section
from heliograph.lab.report.report_cases import ReportCase
from heliograph.lab.report.results import Results
from heliograph.lab.report.table import NAMED, Column, Table, TableRow, columns

_KEYS = (
    *columns("number", server_cpu_cores="System, cores", generator_cpu_cores="Generator, cores"),
    Column("busiest_core_percent", "Busiest core", "percent"),
    Column("server_cpu_ms_per_message", "CPU per message", "ms"),
    Column("rss_bytes", "Memory", "bytes"),
    Column("connections_per_gb", "Connections/GB", "rate"),
    Column("context_switches_per_message", "Switches/message", "number"),
    Column("disk_bytes_per_message", "Disk/message", "bytes"),
    Column("watts", "Watts", "number"),
    *columns("rate", messages_per_watt="Messages/W", messages_per_unit="Messages/s/U"),
)
_LIMITS = (
    *NAMED,
    *columns("text", bottleneck="Bottleneck", evidence="Evidence"),
)
_MOST_GROUPS = 8  # groups of bars in one chart; more would not fit a screen
_COLOURS = (3, 5)  # those of targets come first in the palette and mean something else


def costs(results: Results, cases: Sequence[ReportCase]) -> Section:
    """Costs of every case, and a chart of the CPU."""
    rows = [_row(case) for case in cases if case.measures.costs]
    table = Table("costs", "CPU, memory and energy", (*NAMED, *_KEYS), tuple(rows), results.absent("costs"))
    return Section("costs", "CPU, memory and energy", charts=tuple(_charts(cases)), tables=(table,))


def bottlenecks(results: Results, cases: Sequence[ReportCase]) -> Section:
    """The likely limit of every case, and why it is thought to be."""
    rows = [
        {
            "name": case.run.label,
            "target": case.run.target,
            "bottleneck": case.measures.bottleneck.get("bottleneck"),
            "evidence": case.measures.bottleneck.get("evidence"),
        }
        for case in cases
        if case.measures.bottleneck
    ]
    table = Table("bottlenecks", "Bottlenecks", _LIMITS, tuple(rows), results.absent("bottlenecks"))
    return Section("bottlenecks", "Bottlenecks", tables=(table,))


def _row(case: ReportCase) -> TableRow:
    return {
        "name": case.run.label,
        "target": case.run.target,
        **{column.key: case.measures.costs.get(column.key) for column in _KEYS},
    }


def _charts(cases: Sequence[ReportCase]) -> list[BarChart]:
    """The CPU of all cases, in charts of about the same height that stand beside each other."""
    groups = [(case.label, _bars(case)) for case in cases if _bars(case)]
    if not groups:
        return []
    most = max(bar.value for _, bars in groups for bar in bars)
    count = math.ceil(len(groups) / _MOST_GROUPS)
    edges = [round(number * len(groups) / count) for number in range(count + 1)]
    return [
        BarChart(
            f"cpu-{number}",
            f"CPU of system and generator, {number} of {count}" if count > 1 else "CPU of system and generator",
            "CPU of system and generator",
            "Cores that the system under test and the load generator used on average, for each scenario and target.",
            Axis("cores"),
            tuple(groups[start:end]),
            most,
        )
        for number, (start, end) in enumerate(pairwise(edges), 1)
    ]


def _bars(case: ReportCase) -> tuple[Bar, ...]:
    found = []
    names = (("system under test", "server_cpu_cores"), ("load generator", "generator_cpu_cores"))
    for colour, (name, key) in zip(_COLOURS, names, strict=True):
        value = case.measures.costs.get(key)
        if value is not None:
            found.append(Bar(name, float(value), colour))
    return tuple(found)
