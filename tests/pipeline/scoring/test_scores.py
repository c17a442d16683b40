"""Each table of scores, on runs whose figures are known beforehand; and how new runs are added to them."""

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession

from heliograph.lab.probes.probe import Sample
from heliograph.lab.raw.run_files import add_samples
from heliograph.pipeline.scoring import score_runs, scoring
from heliograph.pipeline.scoring.latencies import PERCENTILES
from pipeline.scoring.made_runs import Made, row, rows, steady

RANDOM = np.random.default_rng(20)
GROUPS = {"small": 900, "large": 40_000}


def lognormal_with_a_tail(count: int) -> NDArray[np.int64]:
    bulk = RANDOM.lognormal(13.5, 0.6, count)
    tail = RANDOM.random(count) < 0.002
    bulk[tail] = RANDOM.uniform(0, 5e8, tail.sum())
    return np.maximum(1, bulk).astype(np.int64)


SAMPLES = {name: lognormal_with_a_tail(count) for name, count in GROUPS.items()}


def of_latencies() -> Made:
    made = Made("latencies")
    for group, values in SAMPLES.items():
        for second, part in enumerate(np.array_split(values, 6)):
            made.measure(second, group, "message", part)
        made.measure(-1, group, "message", np.full(50, 10**10))
        made.measure(6, group, "message", np.full(50, 10**10))
        made.measure(-2, group, "connect", np.array([2_000_000, 4_000_000]))
    return made


def of_rates() -> Made:
    made = Made("rates", {"seconds": 6.5})
    for process in range(2):
        for second, sent in enumerate([99, 100, 100, 50, 50, 100, 100, 50, 7], start=-1):
            made.count(second, "producers", "publish", process=process, sent=sent, bytes_sent=10 * sent, connected=3)
            made.count(second, "consumers", "consume", process=process, received=2 * sent)
    made.count(3, "consumers", "consume", lost=5)
    made.count(7, "consumers", "consume", reordered=3, duplicates=2, errors=1)
    made.sample("load", "producers", "lost", [4])
    made.sample("load", "consumers", "connect_seconds", [0.25])
    return made


def of_burst() -> Made:
    made = Made("burst", {"plan": {"warm_up": 0}, "scenario": "CONNBURST", "parameters": {}})
    for second, connected in enumerate([10, 300, 900, 1000, 1000, 1000, 1000], start=-1):
        made.count(second, "devices", "connect", connected=connected)
    return made


def of_costs() -> Made:
    made = steady("costs", rate=200, rack_units=2.0, connections=1024, parameters={"producers": 2, "size": 64})
    made.sample("server", "8", "cpu_seconds", [3 + 0.25 * at for at in range(-2, 9)], start=-2)
    made.sample("generator", "9", "cpu_seconds", [0.75 * at for at in range(7)])
    made.sample("server", "8", "rss_bytes", [2**20, 2**28, 2**29, 2**29], start=-2)
    made.sample("server", "8", "context_switches", [100 * at for at in range(7)])
    made.sample("server", "8", "written_bytes", [6400 * at for at in range(7)])
    made.sample("server", "statistics", "discarded", [2, 2, 9], start=-1)
    made.sample("queue", "q1", "high_water", [1, 30])
    made.sample("queue", "q2", "high_water", [1, 20])
    for name, watts in (("psu1", 30.0), ("psu2", 50.0)):
        made.sample("power", name, "watts", [watts] * 6, start=0.6)
    for core, busy in (("0", 20.0), ("1", 60.0)):
        made.sample("core", core, "busy_percent", [busy] * 6, start=0.6)
    return made


def of_bottlenecks() -> list[Made]:
    busy = {
        "full-thread": ("server", "7", "busiest_thread_percent", 97.0),
        "full-cores": ("server", "7", "cpu_percent", 190.0),
        "full-disk": ("disk", "sda", "busy_percent", 92.0),
        "full-generator": ("generator", "9", "cpu_percent", 96.0),
    }
    found = []
    for name, (source, thing, metric, value) in busy.items():
        made = steady(name)
        made.sample("machine", "cpu", "busy_percent", [30.0] * 6, start=0.6)
        made.sample(source, thing, metric, [value] * 6, start=0.6)
        found.append(made)
    network = steady("full-line")
    network.sample("network", "lo", "sent_bytes", [10**12 * at for at in range(7)])
    network.sample("network", "eth0", "sent_bytes", [119_000_000 * at for at in range(7)])
    memory = steady("full-memory")
    memory.sample("machine", "memory", "used_bytes", [980 * 2**20] * 6)
    memory.sample("machine", "memory", "available_bytes", [20 * 2**20] * 6)
    told = steady("told", generator_bound=True)
    told.events.append({"at": 6.0, "source": "generator", "kind": "bottleneck", "text": "messages were sent late"})
    told.sample("server", "7", "busiest_thread_percent", [99.0] * 6, start=0.6)
    idle = steady("idle")
    idle.sample("machine", "cpu", "busy_percent", [30.0] * 6, start=0.6)
    return [*found, network, memory, told, idle]


def of_outliers() -> Made:
    made = Made("outliers", {"seconds": 12.0})
    for second in range(12):
        made.count(second, "consumers", "consume", received=300 if second == 7 else 1000 + second)
        slow = 40_000_000 if second == 4 else 2_000_000 + 10_000 * second
        made.measure(second, "consumers", "message", np.full(100, slow))
    return made


def of_curves() -> list[Made]:
    """Three fan-outs, one of them twice, and a run of another size that is on no curve."""
    found = []
    for name, fan_out, size in (("1:1", 1, 32), ("1:10", 10, 32), ("1:100", 100, 32), ("1:100", 100, 64)):
        parameters = {"fan_out": fan_out, "consumers": 10 * fan_out, "rate": 1000 // fan_out, "size": size}
        about = {"scenario": "FANOUT", "variant": name, "parameters": parameters, "experiment": "e-curves"}
        found.append(steady(f"fan-out-{fan_out}-{size}", rate=5 * fan_out, **about))
    for rate, purpose in ((100, "step"), (200, "step"), (150, "bisect")):
        about = {"scenario": "SEARCHED", "parameters": {"rate": rate, "producers": 3}, "purpose": purpose}
        found.append(steady(f"searched-{rate}", rate=rate, **about))
    return found


def of_pairs() -> list[Made]:
    """A machine whose mood changes from round to round much more than the two targets differ."""
    found = []
    for turn, mood in enumerate((1.0, 0.4, 2.0, 0.7, 1.5)):
        for target, rate, latency, cores in (("first", 1000, 2.0, 0.5), ("second", 800, 2.0, 0.25)):
            noise = 1 + 0.01 * ((turn * 7 + len(target)) % 3 - 1)
            about = {"experiment": "e-pairs", "scenario": "PAIRED", "target": target, "round": turn}
            found.append(steady(f"{target}-{turn}", round(rate * mood * noise), latency / mood * noise, cores, **about))
    return found


def of_distance() -> list[Made]:
    found = []
    for name, scenario, trips in (("near", "HA2", 80), ("far", "HA.DISTANCE", 20)):
        made = Made(name, {"scenario": scenario, "parameters": {"size": 2048, "clients": 30}, "experiment": name})
        for second in range(6):
            made.count(second, "requesters", "request", sent=trips, received=trips)
        found.append(made)
    return found


@pytest.fixture(scope="module")
def scored(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of them, scored together."""
    directory = tmp_path_factory.mktemp("results")
    made = [of_latencies(), of_rates(), of_burst(), of_costs(), of_outliers()]
    made += [*of_bottlenecks(), *of_curves(), *of_pairs(), *of_distance()]
    for one in made:
        one.write(directory)
    done = score_runs(directory)
    assert (done.runs, done.tables) == (len(made), directory / "scores")
    return directory


@pytest.mark.parametrize("group", GROUPS)
def test_percentiles_are_those_of_the_samples_within_half_a_per_cent(scored: Path, group: str) -> None:
    values, found = SAMPLES[group], row(scored, "percentiles", run="latencies", group=group, kind="message")
    for name, part in PERCENTILES.items():
        exact = np.sort(values)[-(-len(values) * part // 10_000) - 1] / 1e6
        assert exact <= found[f"{name}_ms"] < exact * 1.005, name


@pytest.mark.parametrize("group", GROUPS)
def test_count_least_average_greatest_and_deviation_are_exact(scored: Path, group: str) -> None:
    values, found = SAMPLES[group] / 1e6, row(scored, "percentiles", run="latencies", group=group, kind="message")
    assert found["count"] == len(values)
    expected = {"min_ms": values.min(), "avg_ms": values.mean(), "max_ms": values.max(), "stdev_ms": values.std()}
    assert {name: found[name] for name in expected} == pytest.approx(expected, rel=1e-9)


def test_connecting_counts_although_it_is_before_the_measured_time(scored: Path) -> None:
    found = row(scored, "percentiles", run="latencies", group="small", kind="connect")
    assert (found["count"], found["avg_ms"], found["max_ms"]) == (2, 3.0, 4.0)


def test_a_distribution_has_every_message_once_in_a_bucket_that_is_not_below_it(scored: Path) -> None:
    found = sorted(rows(scored, "distributions", run="latencies", group="large"), key=lambda one: one["bucket_ms"])
    found = [one for one in found if one["kind"] == "message"]
    values = np.sort(SAMPLES["large"]) / 1e6
    assert sum(one["count"] for one in found) == len(values)
    until = np.cumsum([one["count"] for one in found])
    tops = np.array([one["bucket_ms"] for one in found])
    assert (values[until - 1] <= tops).all()
    assert (values[until - 1] > tops * (1 - 2**-4)).all()


def test_rates_are_of_the_measured_time_and_of_all_processes(scored: Path) -> None:
    found = row(scored, "rates", run="rates", group="producers")
    assert (found["role"], found["sent"], found["connected"]) == ("publish", 1100, 6)
    assert found["sent_rate"] == pytest.approx(1100 / 6.5)
    assert found["bytes_per_second"] == pytest.approx(11000 / 6.5)


def test_a_sustained_rate_held_in_each_third_of_the_time(scored: Path) -> None:
    assert row(scored, "rates", run="rates", group="producers")["sustained_rate"] == 100.0
    assert row(scored, "rates", run="rates", group="consumers")["sustained_rate"] == 200.0


def test_what_went_wrong_counts_whenever_it_did_and_late_messages_are_not_lost(scored: Path) -> None:
    found = row(scored, "rates", run="rates", group="consumers")
    assert [found[name] for name in ("lost", "reordered", "duplicates", "errors")] == [2, 3, 2, 1]


def test_what_the_load_missed_in_the_end_is_lost_even_if_no_gap_showed_it(scored: Path) -> None:
    assert row(scored, "rates", run="rates", group="producers")["lost"] == 4


def test_connecting_took_what_the_load_said_or_until_all_of_a_burst_were_there(scored: Path) -> None:
    assert row(scored, "rates", run="burst")["connect_seconds"] == 3.0
    assert row(scored, "rates", run="rates", group="consumers")["connect_seconds"] == 0.25
    assert row(scored, "rates", run="rates", group="producers")["connect_seconds"] is None


def test_costs_are_shared_among_the_messages_that_came_out(scored: Path) -> None:
    found = row(scored, "costs", run="costs")
    expected = {
        "server_cpu_cores": 0.75,
        "server_cpu_ms_per_message": 3.75,
        "generator_cpu_cores": 0.75,
        "busiest_core_percent": 60.0,
        "rss_bytes": 2**29,
        "connections_per_gb": 2048,
        "watts": 80.0,
        "messages_per_watt": 2.5,
        "messages_per_unit": 100.0,
        "high_water": 30,
        "discarded": 7,
        "context_switches_per_message": 0.5,
        "disk_bytes_per_message": 32.0,
    }
    assert found == pytest.approx({"run": "costs", **expected})


def test_what_nobody_sampled_is_unknown_and_not_zero(scored: Path) -> None:
    found = row(scored, "costs", run="latencies")
    assert {value for name, value in found.items() if name != "run"} == {None}


@pytest.mark.parametrize(
    ("run", "bottleneck", "evidence"),
    [
        ("full-thread", "broker cpu", "its busiest thread used 97 % of a core"),
        ("full-cores", "broker cpu", "it used 1.90 of the 2 cores that it may use"),
        ("full-disk", "disk", "disk sda was busy 92 % of the time"),
        ("full-line", "network", "eth0 carried 0.95 Gbit/s, 95 % of what a line of 1.0 Gbit/s can"),
        ("full-memory", "memory", "98.0 % of the memory were in use, 20 MiB were left"),
        ("full-generator", "generator", "a process of the generator used 96 % of a core"),
        ("told", "generator", "messages were sent late"),
        ("idle", "none found", "the whole machine 30 % busy, whoever used it"),
        ("latencies", "none found", "nothing was sampled"),
    ],
)
def test_the_bottleneck_is_what_was_used_up_and_the_evidence_says_how_far(
    scored: Path, run: str, bottleneck: str, evidence: str
) -> None:
    assert row(scored, "bottlenecks", run=run) == {"run": run, "bottleneck": bottleneck, "evidence": evidence}


def test_seconds_that_are_far_from_the_usual_are_outliers(scored: Path) -> None:
    found = {(one["metric"], one["second"]): one for one in rows(scored, "outliers", run="outliers")}
    assert set(found) == {("received_rate", 7), ("p99_ms", 4)}
    assert (found["received_rate", 7]["value"], found["received_rate", 7]["usual"]) == (300, 1004.5)
    assert found["p99_ms", 4]["value"] == pytest.approx(40, rel=0.005)
    assert rows(scored, "outliers", run="costs") == []


def test_a_timeline_has_each_second_from_the_warm_up_to_the_end(scored: Path) -> None:
    found = sorted(rows(scored, "timeline", run="rates"), key=lambda one: one["second"])
    assert [one["second"] for one in found] == list(range(-1, 7))
    assert [(one["sent"], one["received"]) for one in found][:2] == [(198, 396), (200, 400)]
    third = row(scored, "timeline", run="costs", second=3)
    assert (third["avg_ms"], third["p99_ms"], third["server_cpu_cores"]) == (1.0, 1.0, 0.75)


def points(scored: Path, **only: Any) -> list[tuple[float, float]]:
    return sorted((one["x"], one["y"]) for one in rows(scored, "curves", **only))


def test_variants_of_a_scenario_make_a_curve_over_what_they_differ_in(scored: Path) -> None:
    for variant in ("1:1", "1:10", "1:100"):
        found = points(scored, scenario="FANOUT", variant=variant, y_name="received_rate")
        assert found == [(1, 5.0), (10, 50.0), (100, 500.0)]
    assert {one["x_name"] for one in rows(scored, "curves", scenario="FANOUT")} == {"fan_out"}


def test_a_search_makes_a_curve_over_the_rate(scored: Path) -> None:
    found = points(scored, scenario="SEARCHED", x_name="rate", y_name="received_rate")
    assert found == [(100, 100.0), (150, 150.0), (200, 200.0)]


def test_pairs_are_judged_round_by_round_so_that_moods_of_the_machine_fall_out(scored: Path) -> None:
    found = {one["metric"]: one for one in rows(scored, "pairs", experiment="e-pairs")}
    assert {(one["a"], one["b"], one["scenario"]) for one in found.values()} == {("first", "second", "PAIRED")}
    rate = found["received_rate"]
    assert (rate["a_median"], rate["verdict"]) == (pytest.approx(1000, rel=0.02), "A better")
    assert 1.2 < rate["low"] < rate["ratio"] < rate["high"] < 1.3
    assert found["p99_ms"]["verdict"] == "no difference shown"
    assert found["server_cpu_ms_per_message"]["verdict"] == "B better"


def test_a_delay_on_the_line_is_held_against_the_direct_one(scored: Path) -> None:
    found = row(scored, "direct")
    assert (found["run"], found["direct"], found["percent"]) == ("far", "HA2", 25.0)


OF_EACH_RUN = ("percentiles", "rates", "costs", "bottlenecks", "distributions", "timeline", "figures")


def tables_with(directory: Path, run: str) -> set[str]:
    return {table for table in OF_EACH_RUN if rows(directory, table, run=run)}


def test_only_runs_that_are_new_or_got_the_log_of_a_power_meter_are_read_even_after_a_crash(
    scored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = shutil.copytree(scored, tmp_path / "results")
    known = len(rows(directory, "costs"))
    for file in directory.glob("runs/*/latencies.parquet"):
        file.write_bytes(b"nobody reads this again")
    steady("new", experiment="e-new").write(directory)
    write = scoring._write

    def crash(table: DataFrame, folder: Path) -> None:
        if folder.name == "distributions":
            raise KeyboardInterrupt
        write(table, folder)

    with monkeypatch.context() as patched:
        patched.setattr(scoring, "_write", crash)
        with pytest.raises(KeyboardInterrupt):
            score_runs(directory)
    assert tables_with(directory, "new") == set()

    assert score_runs(directory).runs == 1
    assert tables_with(directory, "new") == set(OF_EACH_RUN)

    add_samples(directory, "new", [Sample(2.0, "power", "pdu", "watts", 20.0)], instead_of="power")
    steady("newer", target="mosquitto", experiment="e-new", round=1).write(directory)
    assert score_runs(directory).runs == 2
    assert row(directory, "costs", run="new")["messages_per_watt"] == 5.0
    assert len(rows(directory, "timeline", run="new")) == 6
    assert len(rows(directory, "costs")) == known + 2
    assert {(one["a"], one["b"]) for one in rows(directory, "pairs", experiment="e-new")} == {
        ("heliograph", "mosquitto")
    }
    assert len(rows(directory, "pairs", experiment="e-pairs")) == len(rows(scored, "pairs", experiment="e-pairs"))
    assert score_runs(directory).runs == 0


def test_without_new_runs_spark_is_not_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "runs" / ".half.partial").mkdir(parents=True)

    def start(*_: Any, **__: Any) -> None:
        raise AssertionError("there is nothing to do for Spark")

    monkeypatch.setattr(scoring, "build_session", start)
    assert score_runs(tmp_path).runs == 0
    assert os.listdir(tmp_path / "scores" / ".ledger") == []
