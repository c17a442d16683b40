"""What the measurement says: a table for people, and JSON for everything else."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from heliograph.lab.spark.rows import Row
from heliograph.lab.spark.site import CORES

NOISY = 0.2
"""Cores used by others, from which on a row says so."""
COLUMNS = (
    ("what", 46),
    ("bytes", 6),
    ("rows/s", 9),
    ("Spark µs", 9),
    ("server µs", 9),
    ("time", 7),
    ("CPU", 7),
    ("remarks", 0),
)
_TEXTS = (0, len(COLUMNS) - 1)
LEGEND = f"""\
µs: CPU microseconds per row, of Spark (Java and Python's workers) and of the server. time, CPU: how many times what
the line above with "=" takes. For noop, that is a source in Python which hands Spark one Arrow batch again and again:
the most that the API allows. For Parquet, it is Spark which reads the same rows from Parquet files. "The bytes
alone" are sent from files (under "server") and received (under "Spark"), and nothing else. Spark, the server
and the load share {CORES} cores. Figures of sources are medians of some rounds in which all take turns, those of
sinks the best of some rounds; the flow and the alerts are one run each, and the flow's CPU time has the start of its
query in it, its rate has not. Messages are acknowledged when they are on the disk; all counts are checked. "In turn":
no two messages in a row have the same topic; else the log has runs of them. "In a record": they come in turn, too, and
were written into the log beforehand, with so many messages in each record; servers of the first release wrote one."""


def header() -> str:
    """The head of the table."""
    return _line([title for title, _ in COLUMNS])


def line(row: Row) -> str:
    """A row as text."""
    run = row.run
    return _line(
        [
            row.name,
            str(row.size),
            _figure(run.rate if run else None),
            _figure(run.spark_us if run else None),
            _figure(run.server_us if run else None),
            _times(row.times),
            _times(row.times_cpu),
            _remarks(row),
        ]
    )


def steps(row: Row) -> str:
    """The steps of a micro-batch as text."""
    shown = ", ".join(f"{name} {_figure(number)}" for name, number in row.steps.items())
    return f"    a micro-batch (medians, ms): {shown}"


def _line(cells: Sequence[str]) -> str:
    padded = [
        cell.ljust(width) if at in _TEXTS else cell.rjust(width)
        for at, (cell, (_, width)) in enumerate(zip(cells, COLUMNS, strict=True))
    ]
    return "  ".join(padded).rstrip()


def _remarks(row: Row) -> str:
    if row.error:
        return f"failed: {row.error.splitlines()[0]}"
    words = [f"{name} {_figure(number)}" for name, number in row.figures.items()]
    if row.most_times is not None:
        words.append(f"goal {row.most_times:g}x")
    words += [f"goal: {name} at most {most:g}" for name, most in row.most.items()]
    if row.run is not None and row.run.others > NOISY:
        words.append(f"noisy: others used {row.run.others:.1f} cores")
    return "; ".join(words)


def versions(described: Mapping[str, object]) -> str:
    """What Spark is."""
    return (
        f"Spark {described['spark']} ({described['master']}, heap {described['heap']}), Java {described['java']}, "
        f"pyarrow {described['pyarrow']}"
    )


def as_data(row: Row) -> dict[str, object]:
    """A row for JSON."""
    return {
        **asdict(row),
        "rate": row.run.rate if row.run else None,
        "times": row.times,
        "times_cpu": row.times_cpu,
    }


def _figure(number: float | None) -> str:
    if number is None:
        return "-"
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}"


def _times(number: float | None) -> str:
    return "" if number is None else f"{number:.2f}x"
