"""Raw data: what is written can be read back, as the schemas say, and only whole runs are to be seen."""

from dataclasses import asdict
from datetime import UTC, datetime, timedelta

import pyarrow.parquet as pq
import pytest

from heliograph.cli.main import main
from heliograph.errors import Problem
from heliograph.lab.load import Histogram, Interval
from heliograph.lab.probes.probe import Sample
from heliograph.lab.raw.run_files import RunWriter, add_samples, read_table, run_names
from heliograph.lab.raw.run_tables import TABLES, Manifest, new_run_id

STARTED = datetime(2026, 11, 16, 13, 20, 49, 123456, tzinfo=UTC)
MANIFEST = Manifest(
    run="r1",
    experiment="e1",
    scenario="FANIN",
    document="messagesight",
    variant="",
    type="Throughput",
    target="heliograph",
    target_version="1",
    started=STARTED,
    seconds=2.0,
    scale=0.001,
    round=0,
    purpose="measure",
    parameters="{}",
    plan="{}",
    setup="{}",
    machine="{}",
    versions="{}",
    connections=3,
    rack_units=None,
    passed=True,
    verdict="",
    generator_bound=False,
)


def histogram(*values):
    counts = {value: values.count(value) for value in sorted(set(values))}
    squares = float(sum(value * value for value in values))
    return Histogram(counts, len(values), min(values), max(values), sum(values), squares)


def write(directory, *intervals, samples=()):
    with RunWriter(directory, "r1") as writer:
        for interval in intervals:
            writer.interval(interval, "consume")
        writer.samples(samples)
        writer.event(0.5, "generator", "error", "it broke")
        return writer.finish(MANIFEST)


def test_every_table_has_the_columns_of_its_schema(tmp_path):
    folder = write(tmp_path, Interval(0, 0, "consumers"))
    assert {file.stem for file in folder.iterdir()} == set(TABLES)
    for name, schema in TABLES.items():
        assert pq.read_schema(folder / f"{name}.parquet").equals(schema)


def test_what_was_written_is_read_back(tmp_path):
    sample = Sample(0.25, "server", "77", "cpu_seconds", 1.5)
    write(tmp_path, Interval(-1, 0, "consumers", received=7, connected=3), samples=[sample])
    assert read_table(tmp_path, "r1", "manifest").to_pylist() == [asdict(MANIFEST)]
    [counters] = read_table(tmp_path, "r1", "counters").to_pylist()
    assert (counters["second"], counters["role"], counters["received"], counters["connected"]) == (-1, "consume", 7, 3)
    assert read_table(tmp_path, "r1", "samples").to_pylist() == [{"run": "r1", **sample._asdict()}]
    [event] = read_table(tmp_path, "r1", "events").to_pylist()
    assert event == {"run": "r1", "at": 0.5, "source": "generator", "kind": "error", "text": "it broke"}


def test_histograms_of_several_processes_are_one(tmp_path):
    first = Interval(0, 0, "consumers", latencies={"message": histogram(10, 10, 30)})
    second = Interval(0, 1, "consumers", latencies={"message": histogram(10, 50)})
    write(tmp_path, first, second)
    rows = read_table(tmp_path, "r1", "latencies").to_pylist()
    assert {row["bucket"]: row["count"] for row in rows} == {10: 3, 30: 1, 50: 1}
    [totals] = read_table(tmp_path, "r1", "latency_totals").to_pylist()
    assert (totals["count"], totals["min_ns"], totals["max_ns"], totals["sum_ns"]) == (5, 10, 50, 110)
    assert totals["sum_squares"] == 3 * 100 + 900 + 2500


def test_a_run_appears_when_it_is_whole(tmp_path):
    with RunWriter(tmp_path, "r1") as writer:
        writer.interval(Interval(0, 0, "consumers"), "consume")
        assert run_names(tmp_path) == []
        writer.finish(MANIFEST)
        assert run_names(tmp_path) == ["r1"]


def test_a_run_that_breaks_off_leaves_nothing(tmp_path):
    with pytest.raises(RuntimeError), RunWriter(tmp_path, "r1") as writer:
        writer.interval(Interval(0, 0, "consumers"), "consume")
        raise RuntimeError
    assert list((tmp_path / "runs").iterdir()) == []


def test_samples_of_another_instrument_take_the_place_of_earlier_ones(tmp_path):
    kept = Sample(0.0, "server", "77", "cpu_seconds", 1.5)
    write(tmp_path, samples=[kept, Sample(0.0, "power", "intel-rapl:0", "watts", 20.0)])
    added = Sample(1.0, "power", "supplies", "watts", 300.0)
    add_samples(tmp_path, "r1", [added], instead_of="power")
    assert [row["value"] for row in read_table(tmp_path, "r1", "samples").to_pylist()] == [1.5, 300.0]


def test_the_log_of_a_power_meter_is_added_to_runs_that_it_reaches_over(tmp_path, capsys):
    write(tmp_path)
    local = STARTED.astimezone()
    lines = [f"{local:%m/%d/%Y},{local + timedelta(seconds=at):%H:%M:%S},{300 + at}" for at in range(-1, 4)]
    log = tmp_path / "supply.csv"
    log.write_text("\n".join(["Log Date,Log Time,Watts", *lines]))
    assert main(["lab", "power", str(log), str(log), "--out", str(tmp_path)]) == 0
    assert "r1: 603.0 W" in capsys.readouterr().out
    rows = read_table(tmp_path, "r1", "samples").to_pylist()
    assert [(row["source"], row["metric"], row["value"]) for row in rows] == [
        ("power", "watts", 602.0),
        ("power", "watts", 604.0),
    ]


def test_ids_of_runs_say_when_what_and_where_and_differ():
    ids = {new_run_id("FANIN", "nats", now=STARTED) for _ in range(20)}
    assert len(ids) > 15
    assert all(one.startswith("20261116T132049-FANIN-nats-") for one in ids)


def test_a_folder_without_results_is_named(tmp_path):
    with pytest.raises(Problem, match="expected a folder with results"):
        run_names(tmp_path / "nowhere")


def test_many_rows_are_written_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr("heliograph.lab.raw.run_files._ROWS", 10)
    write(tmp_path, *(Interval(second, 0, "consumers", sent=second) for second in range(35)))
    sent = read_table(tmp_path, "r1", "counters")["sent"].to_pylist()
    assert sent == list(range(35))
