"""`helio bench` from end to end on a broker that is not ours, and what it says about what it measured."""

import json

import pytest

from heliograph.cli.main import main
from heliograph.lab import machine
from heliograph.lab.bench import bench_report
from heliograph.lab.bench.backlog import Backlog
from heliograph.lab.bench.bench_case import BenchOutcome
from heliograph.lab.bench.bench_rounds import BenchRound, BenchRow
from heliograph.lab.bench.connections import Idle
from heliograph.lab.bench.throughput import Throughput
from heliograph.lab.probes.broker_meter import MeterReading
from heliograph.lab.targets.mosquitto import Mosquitto

CASE = Throughput(name="qos0", about="", goal=50)
DURABLE = Throughput(name="durable", about="", durable=True, qos=1, share=0.5)


def outcome(cpu: float, **more: int | dict[str, float]) -> BenchOutcome:
    """A thousand messages a second at this many microseconds each."""
    return BenchOutcome(spent=MeterReading(1.0, cpu / 1000, 0.25, 0.3), sent=1000, delivered=1000, **more)


def at_rate(delivered: int) -> BenchOutcome:
    """This many deliveries in a second."""
    return BenchOutcome(spent=MeterReading(1.0, 0.1, 0.25, 0.3, 4096), sent=delivered, delivered=delivered)


def row(target: str, *outcomes: BenchOutcome | str, case=CASE) -> BenchRow:
    runs = [
        BenchRound(number, None, result) if isinstance(result, str) else BenchRound(number, result)
        for number, result in enumerate(outcomes, 1)
    ]
    return BenchRow(case, target, tuple(runs))


def test_the_median_round_is_shown_and_losses_of_all_rounds():
    line = bench_report.lines([row("heliograph", outcome(9.0), outcome(1.0, lost=7), outcome(2.0, duplicates=3))])[0]
    assert line.split() == ["qos0", "heliograph", "1k", "1k", "2", "7", "3", "25%"]


def test_a_peer_has_the_ratio_of_its_cpu_to_ours():
    _, peer = bench_report.lines([row("heliograph", outcome(0.5)), row("mosquitto", outcome(10.0))])
    assert peer.split() == ["mosquitto", "1k", "1k", "10", "20x", "0", "0", "25%"]


def test_a_goal_missed_is_listed_with_what_was_wanted():
    rows = [row("heliograph", outcome(0.5)), row("mosquitto", outcome(10.0))]
    assert bench_report.shortfalls(rows) == ["qos0: 20x the CPU efficiency of mosquitto, wanted 50x"]
    assert bench_report.failures(rows) == []


def test_a_goal_met_is_not():
    assert bench_report.shortfalls([row("heliograph", outcome(0.1)), row("mosquitto", outcome(10.0))]) == []


def test_goals_met_are_listed_with_what_was_wanted():
    rows = [row("heliograph", outcome(0.1)), row("mosquitto", outcome(10.0))]
    assert bench_report.successes(rows) == ["qos0: 100x the CPU efficiency of mosquitto, wanted 50x"]


def test_a_case_in_which_messages_are_lost_meets_no_goal():
    rows = [row("heliograph", outcome(0.1, lost=1)), row("mosquitto", outcome(10.0))]
    assert bench_report.successes(rows) == []


def test_the_rate_on_disk_is_compared_round_by_round_with_the_one_in_memory():
    ours = row("heliograph", at_rate(50), at_rate(10), at_rate(30), case=DURABLE)
    hasty = row("heliograph-memory", at_rate(100), at_rate(40), at_rate(50), case=DURABLE)
    assert bench_report.share([ours, hasty]) == 0.5
    assert bench_report.successes([ours, hasty]) == ["durable: 50% of heliograph-memory's rate, wanted 50%"]
    assert "50% of heliograph-memory's rate" in bench_report.lines([ours, hasty])[0]


def test_a_share_that_is_too_small_is_a_shortfall():
    rows = [row("heliograph", at_rate(49), case=DURABLE), row("heliograph-memory", at_rate(100), case=DURABLE)]
    assert bench_report.shortfalls(rows) == ["durable: 49% of heliograph-memory's rate, wanted 50%"]


def test_a_durable_case_in_which_nothing_was_written_meets_no_goal():
    rows = [row("heliograph", outcome(1.0), case=DURABLE), row("heliograph-memory", at_rate(1), case=DURABLE)]
    assert bench_report.successes(rows) == []
    assert bench_report.shortfalls(rows) == ["durable: no writes to a disk were seen, so durability was not measured"]


def test_what_goes_wrong_without_waiting_for_the_disk_is_our_failure_too():
    rows = [row("heliograph", at_rate(1), case=DURABLE), row("heliograph-memory", "it went away", case=DURABLE)]
    assert bench_report.failures(rows) == ["durable (heliograph-memory): failed: it went away"]


def test_messages_out_of_order_are_our_failure():
    rows = [row("heliograph", outcome(0.1, late=2))]
    assert bench_report.failures(rows) == ["qos0: 0 lost, 0 duplicates, 0 unexpected packets, 2 out of order"]


def test_a_goal_for_many_messages_says_when_there_were_fewer():
    case = Backlog(name="backlog", about="", messages=1000, most={"MB resident": 200})
    rows = [row("heliograph", outcome(1.0, figures={"messages": 10, "MB resident": 50}), case=case)]
    assert bench_report.successes(rows) == ["backlog: 50 MB resident, wanted 200 at most (with 10 of 1000 messages)"]


def test_a_disk_in_memory_is_called_that():
    assert "in memory" in machine.disk_line({"folder": "/t", "filesystem": "tmpfs", "sync_ms": 0.0})
    assert "in memory" not in machine.disk_line({"folder": "/t", "filesystem": "ext4", "sync_ms": 1.0})


def test_figures_have_goals_of_their_own():
    case = Idle(name="idle", about="", connections=10, most={"KB/connection": 4})
    rows = [row("heliograph", outcome(1.0, figures={"KB/connection": 5.5}), case=case)]
    assert bench_report.shortfalls(rows) == ["idle: 5.5 KB/connection, wanted 4 at most"]


def test_our_failures_and_losses_are_listed_first():
    rows = [row("heliograph", outcome(0.1, lost=2), "it went away"), row("mosquitto", outcome(10.0, lost=9))]
    assert bench_report.failures(rows) == [
        "qos0: failed: it went away",
        "qos0: 2 lost, 0 duplicates, 0 unexpected packets",
    ]


def test_a_target_that_never_succeeded_says_why():
    assert "failed: no such luck" in bench_report.lines([row("heliograph", "no such luck")])[0]


def test_markdown_is_a_table():
    text = bench_report.markdown([[row("heliograph", outcome(0.5)), row("mosquitto", outcome(10.0))]])
    head, rule, first, second, *_ = text.splitlines()
    assert {line.count("|") for line in (head, rule, first, second)} == {len(bench_report.TABLE.columns) + 1}
    assert second == "|  | mosquitto | 1k | 1k | 10 | 20x | 0 | 0 | 25% |  |"


def test_the_list_names_cases_and_brokers(capsys):
    assert main(["bench", "--list", "--case", "fan-*"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line]
    assert names[0] == "fan-in-500"
    assert "qos0" not in names
    assert {"heliograph", "mosquitto"} <= set(names)


@pytest.mark.parametrize("words", [["--case", "nonsense"], ["--target", "nonsense"]])
def test_a_name_that_does_not_exist_is_refused(words, capsys):
    assert main(["bench", *words]) == 1
    assert "nonsense" in capsys.readouterr().err


@pytest.mark.skipif(Mosquitto().version() is None, reason="mosquitto is missing: install it (apt install mosquitto)")
def test_mosquitto_is_measured_from_end_to_end(tmp_path, capsys):
    results = tmp_path / "deep" / "results.json"
    words = ["bench", "--quick", "--target", "mosquitto", "--case", "qos[012]", "--case", "tls", "--json", str(results)]
    assert main(words) == 0
    assert "mosquitto" in capsys.readouterr().out
    data = json.loads(results.read_text())
    assert [row["case"] for row in data["rows"]] == ["qos0", "qos1", "qos2", "tls"]
    for measured in data["rows"]:
        [run] = measured["runs"]
        assert run["delivered"] > 0
        assert (run["lost"], run["duplicates"], run["unexpected"]) == (0, 0, 0)
        assert measured["median_cpu_us"] > 0
    assert data["machine"]["python"].startswith("CPython")
