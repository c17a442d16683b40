"""Runs of jobs, rows of the report that compare them, and how much is measured."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from heliograph.lab.spark.site import Spent


@dataclass(frozen=True, slots=True)
class SparkEffort:
    """How much to measure."""

    small: int
    """Messages of 100 bytes."""
    large: int
    """Messages of 4 KB."""
    flow: int
    filtered: int
    """Messages that go to a Filter which drops most of them."""
    sink_small: int
    sink_large: int
    rounds: int
    warm_seconds: float
    alert_seconds: float


FULL = SparkEffort(2_000_000, 200_000, 20_000, 100_000, 200_000, 40_000, rounds=5, warm_seconds=8.0, alert_seconds=20.0)
QUICK = SparkEffort(300_000, 30_000, 6_000, 30_000, 60_000, 12_000, rounds=2, warm_seconds=5.0, alert_seconds=8.0)


@dataclass(frozen=True, slots=True)
class SparkRun:
    """One job."""

    rows: int
    seconds: float
    spark_us: float
    """CPU microseconds per row, of Java and Python's workers."""
    server_us: float
    others: float

    @property
    def rate(self) -> float:
        """Rows per second."""
        return self.rows / self.seconds

    @property
    def cpu_us(self) -> float:
        """CPU microseconds per row of all that is ours."""
        return self.spark_us + self.server_us


def run_of(rows: int, seconds: float, spent: Spent) -> SparkRun:
    """What a job of so many rows has taken."""
    return SparkRun(rows, seconds, spent.spark / rows * 1e6, spent.server / rows * 1e6, spent.others)


def best(runs: Sequence[SparkRun]) -> SparkRun:
    """The quickest one: what slows a run down comes from elsewhere."""
    return min(runs, key=lambda run: run.seconds)


def middle(runs: Sequence[SparkRun]) -> SparkRun:
    """The median run by time: runs are interleaved, so disturbances meet all of them."""
    return sorted(runs, key=lambda run: run.seconds)[len(runs) // 2]


@dataclass(frozen=True, slots=True)
class SparkRow:
    """One line of the report."""

    name: str
    size: int
    run: SparkRun | None = None
    beside: SparkRun | None = None
    """What it is compared with, measured in the same minute; None for what others are compared with, too."""
    most_times: float | None = None
    """How many times as long as that it may take."""
    figures: dict[str, float] = field(default_factory=dict)
    """What only this row has."""
    steps: dict[str, float] = field(default_factory=dict)
    """Where a micro-batch spends its time, as Spark says: milliseconds."""
    most: dict[str, float] = field(default_factory=dict)
    """How large some of these may be."""
    error: str = ""

    @property
    def times(self) -> float | None:
        """How many times as long it takes as what it is compared with."""
        return None if self.run is None or self.beside is None else self.beside.rate / self.run.rate

    @property
    def times_cpu(self) -> float | None:
        """How many times as much CPU time it takes: the steadier of the two on a busy machine."""
        if self.run is None or self.beside is None or not self.beside.cpu_us:
            return None
        return self.run.cpu_us / self.beside.cpu_us


def shortfalls(rows: Sequence[SparkRow]) -> list[str]:
    """Where a goal is missed, and what failed."""
    found = []
    for row in rows:
        name = f"{row.name}, {row.size} bytes"
        if row.error:
            found.append(f"{name}: failed: {row.error}")
        if row.most_times is not None and row.times is not None and row.times > row.most_times:
            cpu = f"; {row.times_cpu:.2f}x the CPU time" if row.times_cpu is not None else ""
            found.append(f"{name}: {row.times:.2f}x the time, wanted at most {row.most_times:g}x{cpu}")
        found += [
            f"{name}: {figure} {row.figures[figure]:.0f}, wanted at most {most:g}"
            for figure, most in row.most.items()
            if row.figures.get(figure, 0) > most
        ]
    return found
