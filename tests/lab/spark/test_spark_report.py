"""What the measurement of Spark makes of its figures, without Spark."""

import json
from pathlib import Path

import pytest

from heliograph.lab.spark import alerts, spark_bench
from heliograph.lab.spark.site import Spent
from heliograph.lab.spark.source_case import bytes_alone, loads
from heliograph.lab.spark.spark_rows import QUICK, SparkRow, SparkRun, best, middle, run_of, shortfalls
from heliograph.lab.spark.streams import text_payload


def run(seconds, cpu=10.0, others=0.0):
    return SparkRun(1000, seconds, cpu, 0.0, others)


def test_a_job_is_counted_by_row():
    measured = run_of(1000, 0.5, Spent(seconds=0.6, spark=0.02, server=0.01, others=0.0))
    assert (measured.rate, measured.spark_us, measured.server_us) == (2000, pytest.approx(20), pytest.approx(10))


def test_the_best_run_is_the_quickest():
    assert best([run(2.0), run(1.0), run(3.0)]).seconds == 1.0


def test_the_run_in_the_middle_is_compared_where_contenders_take_turns() -> None:
    assert middle([run(9.0), run(1.0), run(3.0)]).seconds == 3.0
    assert middle([run(9.0), run(1.0)]).seconds == 9.0


def test_a_row_says_how_many_times_as_long_it_takes():
    row = SparkRow("stream", 100, run(1.5, cpu=30.0), run(1.0, cpu=10.0), 1.3)
    assert (row.times, row.times_cpu) == (pytest.approx(1.5), pytest.approx(3.0))
    assert spark_bench.line(row).split() == ["stream", "100", "667", "30", "0", "1.50x", "3.00x", "goal", "1.3x"]


def test_a_row_that_takes_too_long_falls_short():
    slow, quick = (SparkRow("stream", 100, run(seconds), run(1.0), 1.3) for seconds in (1.5, 1.2))
    assert shortfalls([slow, quick]) == ["stream, 100 bytes: 1.50x the time, wanted at most 1.3x; 1.00x the CPU time"]


def test_a_row_without_a_goal_never_falls_short():
    assert shortfalls([SparkRow("stream", 100, run(9.0), run(1.0))]) == []


def test_a_figure_that_is_too_large_falls_short():
    row = SparkRow("alerts", 80, figures={"50P ms": 400.0}, most={"50P ms": 300.0})
    assert shortfalls([row]) == ["alerts, 80 bytes: 50P ms 400, wanted at most 300"]


def test_a_case_that_failed_says_why():
    row = SparkRow("sink", 0, error="3 are missing\nand so on")
    assert spark_bench.line(row).endswith("failed: 3 are missing")
    assert len(shortfalls([row])) == 1


def test_a_row_that_was_disturbed_says_so():
    assert spark_bench.line(SparkRow("stream", 100, run(1.0, others=0.7))).endswith("noisy: others used 0.7 cores")


def test_rows_can_be_written_as_json():
    assert json.loads(json.dumps(spark_bench.as_data(SparkRow("stream", 100, run(2.0), run(1.0)))))["times"] == 2.0


@pytest.mark.parametrize("load", loads(QUICK), ids=lambda load: load.stream)
def test_payloads_have_the_size_that_is_said_and_are_json(load):
    payload = load.payload(123456)
    assert len(payload) == load.size
    assert json.loads(payload)["number"] == 123456


def test_payloads_are_all_different():
    payload = text_payload(100)
    assert len({payload(1) for _ in range(100)}) == 100


def test_bytes_alone_come_all_and_are_counted_by_message(tmp_path: Path) -> None:
    (tmp_path / "0.log").write_bytes(bytes(3000))
    alone = bytes_alone(tmp_path, 4096, 1000)
    assert alone.rows == 1000
    assert alone.seconds > 0
    assert alone.server_us > 0


def test_every_tenth_reading_is_an_alert():
    hot = [number for number in range(100) if json.loads(alerts.reading(number, 1.0))["temperature"] > 30]
    assert len(hot) == alerts.alerts_due(100)
    assert alerts.alerts_due(101) == 11


def test_percentiles_are_in_milliseconds():
    assert alerts.percentiles([n / 1000 for n in range(1, 101)]) == pytest.approx(
        {"50P ms": 51, "99P ms": 100, "max ms": 100}
    )


def test_steps_are_those_of_the_later_half_of_the_batches():
    batches = [{"rows": rows, "steps": {"addBatch": ms}} for rows, ms in [(1, 5000), (2, 900), (200, 90), (220, 110)]]
    assert alerts.steps_of(batches) == {"batches": 4, "rows": 210, "addBatch": 100}
    assert alerts.steps_of([]) == {}
