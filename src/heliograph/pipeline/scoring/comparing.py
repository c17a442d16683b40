"""Compares the runs of two experiments, targets or folders: what is better, what is worse, and how sure that is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from heliograph.errors import InvalidInput
from heliograph.pipeline.scoring.ratios import A_BETTER, CONFIDENCE, long_form, ratios
from heliograph.pipeline.scoring.scoring import interpreted, score_runs, session
from heliograph.pipeline.scoring.selection import folder_of, select

METRICS = ("received_rate", "round_trips", "connect_seconds", "p50_ms", "p99_ms", "server_cpu_ms_per_message")
"""Throughput in the form that the load has it, latency, and CPU for each message."""
_SUBJECT = ["scenario", "variant", "scale", "target"]


@dataclass(frozen=True)
class Comparison:
    """One figure of both sides: medians, and the ratio of A to B with its confidence interval.

    The intervals of all figures that are compared together hold with 95 % confidence, so that many comparisons do not
    make a difference of chance likely. `low` and `high` are None where there are too few runs to know one.
    """

    scenario: str
    variant: str
    scale: float
    target: str
    """Of both sides, or `A / B` if they are on different ones."""
    metric: str
    a_median: float
    b_median: float
    a_runs: int
    b_runs: int
    ratio: float
    low: float | None
    high: float | None
    verdict: str
    """`A better`, `B better` or `no difference shown`."""
    generator_bound: int
    """In how many runs of both sides the generator was the limit, and not the system."""

    @property
    def is_regression(self) -> bool:
        """Whether B is worse than A, by more than chance."""
        return self.verdict == A_BETTER

    @property
    def is_open(self) -> bool:
        """Whether there are too few runs to say anything."""
        return self.low is None


def compare(
    a: str, b: str, *, directory: Path, master: str | None = None, conf: Mapping[str, str] = {}
) -> list[Comparison]:
    """Compare what two words stand for (see `selection`); new runs are scored first.

    Scenarios, variants and scales that only one side has are left out. Targets are compared one by one, unless each
    side has only one. Runs that took turns in one experiment are compared round by round.
    """
    with session(master, conf) as spark:
        for folder in dict.fromkeys(folder_of(word, directory) for word in (a, b)):
            score_runs(folder, master=master, conf=conf)
        sides = [select(word, directory) for word in (a, b)]
        with interpreted(spark, small=True):
            return _compare(spark, a, b, sides)


def _compare(spark: SparkSession, a: str, b: str, sides: Sequence[pa.Table]) -> list[Comparison]:
    runs = [set(side["run"].to_pylist()) for side in sides]
    if common := runs[0] & runs[1]:
        raise InvalidInput(f"expected {a} and {b} to be different runs, found {min(common)} in both")
    both = _beside(*sides)
    keys = [*_SUBJECT, "side", "block"]
    samples = long_form(spark.createDataFrame(both.select([*keys, *METRICS])), keys, METRICS)
    count = samples.where(f.col("value") > 0).groupBy(*_SUBJECT, "metric").agg(f.count_distinct("side").alias("sides"))
    together = count.where(f.col("sides") == 2).count()
    if not together:
        raise InvalidInput(f"expected {a} and {b} to have a scenario, variant and scale in common, found none")
    rows = ratios(samples, _SUBJECT, 1 - (1 - CONFIDENCE) / together).collect()
    limited = both.filter(both["generator_bound"]).select(_SUBJECT).to_pylist()
    found = [
        Comparison(**row.asDict(), generator_bound=limited.count({name: row[name] for name in _SUBJECT}))
        for row in rows
    ]
    return sorted(found, key=lambda one: (one.scenario, one.variant, one.target, METRICS.index(one.metric)))


def _beside(a: pa.Table, b: pa.Table) -> pa.Table:
    """Both sides in one table. A round of an experiment that both are from is a block."""
    targets = [sorted(set(side["target"].to_pylist())) for side in (a, b)]
    one_each = all(len(names) == 1 for names in targets)
    label = " / ".join(dict.fromkeys(names[0] for names in targets))
    shared = set(a["experiment"].to_pylist()) & set(b["experiment"].to_pylist())
    both = pa.concat_tables(
        side.append_column("side", pa.array([name] * len(side))) for name, side in (("A", a), ("B", b))
    )
    if one_each:
        both = both.set_column(both.schema.get_field_index("target"), "target", pa.array([label] * len(both)))
    rounds = pc.binary_join_element_wise(both["experiment"], pc.cast(both["round"], pa.string()), "/")
    paired = pc.is_in(both["experiment"], pa.array(sorted(shared), pa.string()))
    return both.append_column("block", pc.if_else(paired, rounds, both["run"]))
