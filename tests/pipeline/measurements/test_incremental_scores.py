"""Only new runs are read; a run is in all tables or in none, and once."""

import os
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from heliograph.lab.probes.probe import Sample
from heliograph.lab.raw.reader import add_samples
from heliograph.pipeline.measurements import score_runs, scoring
from pipeline.measurements.made_runs import rows, steady

TABLES = ("percentiles", "rates", "costs", "bottlenecks", "distributions", "timeline", "figures")


def scored_runs(directory: Path, table: str) -> list[str]:
    found = rows(directory, table)
    return sorted({one["run"] for one in found})


def test_only_runs_that_are_new_or_got_the_log_of_a_power_meter_are_read_even_after_a_crash(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steady("one").write(tmp_path)
    assert score_runs(tmp_path).runs == 1
    (tmp_path / "runs" / "one" / "latencies.parquet").write_bytes(b"nobody reads this again")
    steady("two", target="mosquitto").write(tmp_path)

    write = scoring._write

    def crash(table: DataFrame, folder: Path) -> None:
        if folder.name == "distributions":
            raise KeyboardInterrupt
        write(table, folder)

    with monkeypatch.context() as patched:
        patched.setattr(scoring, "_write", crash)
        with pytest.raises(KeyboardInterrupt):
            score_runs(tmp_path)
    assert [scored_runs(tmp_path, table) for table in TABLES] == [["one"]] * len(TABLES)

    assert score_runs(tmp_path).runs == 1
    assert [scored_runs(tmp_path, table) for table in TABLES] == [["one", "two"]] * len(TABLES)
    assert len(rows(tmp_path, "costs")) == 2
    assert {(one["a"], one["b"]) for one in rows(tmp_path, "pairs")} == {("heliograph", "mosquitto")}
    assert score_runs(tmp_path).runs == 0

    add_samples(tmp_path, "two", [Sample(2.0, "power", "pdu", "watts", 20.0)], instead_of="power")
    assert score_runs(tmp_path).runs == 1
    assert {one["run"]: one["messages_per_watt"] for one in rows(tmp_path, "costs")} == {"one": None, "two": 5.0}
    assert len(rows(tmp_path, "timeline")) == 12


def test_without_new_runs_spark_is_not_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "runs" / ".half.partial").mkdir(parents=True)

    def start(*_: Any, **__: Any) -> None:
        raise AssertionError("there is nothing to do for Spark")

    monkeypatch.setattr(scoring, "build_session", start)
    assert score_runs(tmp_path).runs == 0
    assert os.listdir(tmp_path / "scores" / ".ledger") == []
