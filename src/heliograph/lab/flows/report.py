"""What the measurement of flows says: a table for people, a list of what falls short, JSON for everything else."""

from collections.abc import Sequence
from dataclasses import asdict

from heliograph.lab.flows.rows import Row

GOAL = 10.0
"""How many times the published rate of one instance we want."""
MOST_TIMES_BARE = 2.0
"""How many times bare lxml a flow from XML to XML may take in memory."""
LEAST_SWIFT = 1000.0
"""MT543 messages per second."""
XML_TO_XML, SWIFT = "10.8.1.1", "10.8.5"
NOISY = 0.2
"""Cores used by others, from which on a row says so."""

COLUMNS = (
    ("section", 9),
    ("flow", 42),
    ("size", 6),
    ("", 1),
    ("publ./s", 8),
    ("ours/s", 8),
    ("ratio", 6),
    ("publ. ms", 8),
    ("ours ms", 8),
    ("ratio", 6),
    ("mem. µs", 8),
    ("x lxml", 7),
    ("x same", 7),
    ("remarks", 0),
)
_TEXTS = (0, 1, len(COLUMNS) - 1)
LEGEND = (
    "p: persistent. publ.: published, for one instance on 4 x 900 MHz; ms: CPU milliseconds per message of everything "
    "involved (ours: flow and server, and PostgreSQL or a responder where there is one). mem.: CPU microseconds of the "
    "flow alone, in memory. x lxml: times what lxml takes to read the document and write it again; x same: times what "
    "it takes to do the flow's work. Ours commits units of work of up to 500 messages, the published system of one."
)
PARALLEL_LEGEND = (
    "10.11: instances are threads of one process, and Python runs one of them at a time, so they add nothing where the "
    "flow is all computing; execution groups are processes, and share what cores there are with the server."
)


def header() -> str:
    """The head of the table as text."""
    return _line([title for title, _ in COLUMNS])


def line(row: Row) -> str:
    """A row as text."""
    return _line(_cells(row))


def markdown(rows: Sequence[Row]) -> str:
    """The whole table as Markdown."""
    titles = [title for title, _ in COLUMNS]
    rules = ["---" if at in _TEXTS else "---:" for at in range(len(COLUMNS))]
    table = [titles, rules, *(_cells(row) for row in rows)]
    return "\n".join(["| " + " | ".join(cells) + " |" for cells in table] + ["", LEGEND, "", PARALLEL_LEGEND])


def _line(cells: Sequence[str]) -> str:
    padded = [
        cell.ljust(width) if at in _TEXTS else cell.rjust(width)
        for at, (cell, (_, width)) in enumerate(zip(cells, COLUMNS, strict=True))
    ]
    return "  ".join(padded).rstrip()


def _cells(row: Row) -> list[str]:
    published, run, memory = row.published, row.run, row.memory
    return [
        row.case.section,
        row.case.name,
        str(published.size),
        "p" if published.persistent else "",
        _figure(published.rate),
        _figure(run.rate if run else None),
        _times(row.times_rate),
        _figure(published.cpu_ms),
        _figure(run.cpu_ms if run else None),
        _times(row.times_cpu),
        _figure(memory.flow if memory else None),
        _times(memory.times_bare if memory else None),
        _times(memory.times_same_work if memory else None),
        _remarks(row),
    ]


def _remarks(row: Row) -> str:
    if row.error:
        return f"failed: {row.error.splitlines()[0]}"
    if row.run is not None and row.run.others > NOISY:
        return f"noisy: others used {row.run.others:.1f} cores"
    return ""


def shortfalls(rows: Sequence[Row]) -> list[str]:
    """Where we are slower than wanted, and what a row could reach by its CPU time alone."""
    found = []
    for row in rows:
        name = f"{row.case.section} {row.case.name}, {row.published.size} bytes"
        name += ", persistent" if row.published.persistent else ""
        if row.error:
            found.append(f"{name}: failed: {row.error}")
        if row.run is not None and row.times_rate is not None and row.times_rate < GOAL and not row.case.parallel:
            limit = 1e3 / row.run.flow_cpu_ms
            found.append(
                f"{name}: {_times(row.times_rate)} the published rate, wanted {_times(GOAL)} (the flow's CPU time "
                f"alone would allow {_figure(limit)}/s, {_times(limit / row.published.rate)})"
            )
        if row.case.section == SWIFT and row.run is not None and row.run.rate < LEAST_SWIFT:
            found.append(f"{name}: {_figure(row.run.rate)} messages/s, wanted {LEAST_SWIFT:.0f}")
        times = row.memory.times_bare if row.memory else None
        if row.case.section == XML_TO_XML and times is not None and times > MOST_TIMES_BARE:
            found.append(f"{name}: {_times(times)} the time of bare lxml in memory, wanted {_times(MOST_TIMES_BARE)}")
    return found


def as_data(row: Row) -> dict[str, object]:
    """A row for JSON."""
    return {
        "section": row.case.section,
        "name": row.case.name,
        "published": asdict(row.published),
        "in_memory": None if row.memory is None else asdict(row.memory),
        "end_to_end": None if row.run is None else asdict(row.run),
        "times_rate": row.times_rate,
        "times_cpu": row.times_cpu,
        "error": row.error,
    }


def _figure(number: float | None) -> str:
    if number is None:
        return "-"
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}"


def _times(number: float | None) -> str:
    return "" if number is None else f"{_figure(number)}x"
