"""`helio lab compare` calls B worse only if that is more than chance."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from heliograph.cli.main import main
from heliograph.errors import Problem
from heliograph.pipeline.scoring import compare
from heliograph.pipeline.scoring.ratios import quantile
from pipeline.scoring.made_runs import BEGAN

NOISE = (1.0, 1.03, 0.97, 1.01, 0.98)


def figures(experiment: str, rates: Sequence[float], target: str = "heliograph", **other: Any) -> list[dict[str, Any]]:
    """A run for each rate; latency is longer where the rate is lower."""
    return [
        {
            "run": f"{experiment}-{target}-{turn}", "experiment": experiment, "scenario": "FANIN", "variant": "",
            "target": target, "scale": 1.0, "round": turn, "purpose": "measure",
            "started": BEGAN + timedelta(seconds=turn), "received_rate": rate, "round_trips": None,
            "connect_seconds": None, "p50_ms": 1000 / rate, "p99_ms": 3.0 * NOISE[turn],
            "server_cpu_ms_per_message": 0.01, "generator_bound": False, **other,
        }
        for turn, rate in enumerate(rates)
    ]  # fmt: skip


def scored(directory: Path, rows: list[dict[str, Any]]) -> Path:
    """A folder in which everything is scored already."""
    (directory / "runs").mkdir(parents=True)
    (directory / "scores" / "figures").mkdir(parents=True)
    table = pa.Table.from_pylist(rows)
    for name in ("round_trips", "connect_seconds"):
        table = table.set_column(table.schema.get_field_index(name), name, pa.nulls(len(rows), pa.float64()))
    pq.write_table(table, directory / "scores" / "figures" / "made-00000.parquet")
    return directory


def noisy(rate: float) -> list[float]:
    return [rate * factor for factor in NOISE]


def test_a_fifth_less_is_a_regression_and_ends_with_status_1(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = scored(tmp_path / "before", figures("e1", noisy(1000), generator_bound=True))
    after = scored(tmp_path / "after", figures("e2", noisy(800)))
    assert main(["lab", "compare", str(before), str(after)]) == 1
    out = capsys.readouterr().out
    assert "B is significantly worse than A in 2 of 4 figures." in out
    assert "-20.0 %" in out
    assert "In 5 of the runs the generator was the limit" in out
    assert main(["lab", "compare", str(after), str(before)]) == 0
    assert "B is better" in capsys.readouterr().out


def test_what_chance_does_is_no_regression(spark: SparkSession, tmp_path: Path) -> None:
    directory = scored(tmp_path, figures("e1", noisy(1000)) + figures("e2", noisy(990)))
    found = {one.metric: one for one in compare("e1", "e2", directory=directory)}
    assert set(found) == {"received_rate", "p50_ms", "p99_ms", "server_cpu_ms_per_message"}
    assert {one.verdict for one in found.values()} == {"no difference shown"}
    rate = found["received_rate"]
    assert rate.low is not None
    assert rate.high is not None
    assert rate.low < 1 < rate.ratio < rate.high


def test_one_run_of_each_is_not_enough_whatever_they_say(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = scored(tmp_path, figures("e1", [1000.0]) + figures("e2", [100.0]))
    words = ["lab", "compare", "e1-heliograph-0", "e2-heliograph-0", "--out", str(directory)]
    assert main(words) == 0
    assert "One run is not enough to call a difference significant" in capsys.readouterr().out


def test_targets_of_one_experiment_are_compared_round_by_round(spark: SparkSession, tmp_path: Path) -> None:
    moods = (1.0, 0.3, 2.5, 0.6, 1.7)
    fast = figures("e1", [1000 * mood * noise for mood, noise in zip(moods, NOISE, strict=True)])
    slow = figures("e1", [900 * mood for mood in moods], "mosquitto")
    directory = scored(tmp_path, fast + slow)
    found = compare("heliograph@e1", "mosquitto@e1", directory=directory)
    rate = next(one for one in found if one.metric == "received_rate")
    assert (rate.target, rate.is_regression) == ("heliograph / mosquitto", True)


def test_more_comparisons_need_more_to_be_sure(spark: SparkSession, tmp_path: Path) -> None:
    """The interval of one figure among four is as wide as 98.75 % confidence makes it."""
    directory = scored(tmp_path, figures("e1", [100.0, 110.0]) + figures("e1", [100.0, 100.0], "nats"))
    found = compare("heliograph@e1", "nats@e1", directory=directory)
    rate = next(one for one in found if one.metric == "received_rate")
    assert rate.high is not None
    assert rate.high == pytest.approx(rate.ratio ** (1 + quantile(1 - 0.05 / 8, 1)), rel=1e-6)


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        ("e1", "e1-heliograph-7", "expected a run or an experiment of .*, found none; did you mean 'e1-heliograph-0'"),
        ("nats@e1", "e2", "expected a target that is in the runs of e1, found 'nats'; there are: heliograph"),
        ("e1", "e1-heliograph-0", "expected e1 and e1-heliograph-0 to be different runs"),
        ("e1", "other", "expected e1 and other to have a scenario, variant and scale in common"),
    ],
)
def test_what_cannot_be_compared_is_refused(spark: SparkSession, tmp_path: Path, a: str, b: str, said: str) -> None:
    other = figures("other", [10.0], scenario="FANOUT")
    directory = scored(tmp_path, figures("e1", [10.0]) + figures("e2", [10.0]) + other)
    with pytest.raises(Problem, match=said):
        compare(a, b, directory=directory)


@pytest.mark.parametrize(
    ("probability", "freedom", "expected"),
    [(0.975, 1, 12.7062), (0.975, 2, 4.3027), (0.975, 4, 2.7764), (0.995, 10, 3.1693), (0.975, 30, 2.0423)],
)
def test_quantiles_are_those_of_printed_tables(probability: float, freedom: int, expected: float) -> None:
    assert quantile(probability, freedom) == pytest.approx(expected, abs=5e-5)
