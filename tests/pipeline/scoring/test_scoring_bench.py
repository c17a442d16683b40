"""The benchmark of the scoring jobs, with few samples."""

import numpy as np
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from heliograph.cli.main import main
from heliograph.lab.load.histogram import bucket_of as bucket_in_the_lab
from heliograph.pipeline.scoring.latencies import bucket_of


def test_it_says_how_many_rows_a_second_and_how_far_off_percentiles_are(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "scores", "--samples", "100000"]) == 0
    out = capsys.readouterr().out
    assert out.count("rows/s") == 4
    assert "greatest error of a percentile" in out


def test_too_few_samples_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "scores", "--samples", "10"]) == 1
    assert "expected at least 200 samples, found 10" in capsys.readouterr().err


def test_buckets_are_those_of_the_lab_at_all_powers_of_two(spark: SparkSession) -> None:
    values = [max(1, 2**power + step) for power in range(44) for step in (-1, 0, 1)]
    rows = spark.createDataFrame([(value,) for value in values], "value long").select(bucket_of(f.col("value")))
    assert [row[0] for row in rows.collect()] == bucket_in_the_lab(np.array(values)).tolist()
