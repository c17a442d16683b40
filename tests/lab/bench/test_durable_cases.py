"""Durable cases on a broker that is not ours, and what brokers are started with for them."""

import os
from contextlib import contextmanager
from pathlib import Path

import pytest

import heliograph
from heliograph.lab.bench import bench_rounds
from heliograph.lab.bench.backlog import Backlog, Recovery
from heliograph.lab.bench.bench_case import BenchEffort, BrokerSite
from heliograph.lab.bench.throughput import Throughput
from heliograph.lab.load.client_loop import ClientLoop, give_up
from heliograph.lab.load.mqtt.client import MqttClientGroup
from heliograph.lab.load.mqtt.connection import MqttConnection
from heliograph.lab.load.plan import Group, Plan
from heliograph.lab.machine import Cores, filesystem, occupied, work_folder
from heliograph.lab.targets.broker_process import running_broker
from heliograph.lab.targets.heliograph_server import Heliograph, HeliographMemory
from heliograph.lab.targets.mosquitto import Mosquitto
from heliograph.lab.targets.target import Listener, TargetSetup

EFFORT = BenchEffort(0.1, 1, 120)

needs_mosquitto = pytest.mark.skipif(
    Mosquitto().version() is None, reason="mosquitto is missing: install it (apt install mosquitto)"
)


@contextmanager
def mosquitto():
    with running_broker(Mosquitto(), None, durable=True) as broker:
        yield BrokerSite(broker.address, broker.meter, EFFORT, restart=broker.restart)


@needs_mosquitto
def test_a_backlog_is_kept_and_drained_in_order():
    with mosquitto() as site:
        outcome = Backlog(name="backlog", about="", messages=60_000).measure(site)
    assert (outcome.delivered, outcome.lost, outcome.duplicates, outcome.late, outcome.unexpected) == (
        60_000,
        0,
        0,
        0,
        0,
    )
    assert outcome.figures["messages"] == 60_000
    assert outcome.figures["MB resident"] > 1
    assert outcome.figures["drain k msg/s"] > 0


@needs_mosquitto
@pytest.mark.parametrize("publishers", [1, 10])
def test_a_broker_that_saves_its_messages_recovers_them(publishers):
    with mosquitto() as site:
        outcome = Recovery(name="recovery", about="", messages=1000, publishers=publishers).measure(site)
    assert (outcome.delivered, outcome.lost, outcome.duplicates, outcome.late, outcome.unexpected) == (1000, 0, 0, 0, 0)
    assert 0 < outcome.figures["s to recover"] < 10


@needs_mosquitto
def test_a_client_that_has_left_is_away_and_its_session_stays():
    present = []

    class Client(MqttConnection):
        __slots__ = ()

        def accepted(self, packet, now):
            present.append(packet.session_present)
            super().accepted(packet, now)

    with mosquitto() as site:
        loop = ClientLoop(give_up)
        group = Group("s", "consume", 1, filters=("t",), durable=True)
        clients = MqttClientGroup(Plan((group,), 1.0), 0, 0, site.address, loop.poller, Client)
        for _ in range(2):
            loop.connect(clients)
            loop.leave(clients.load_clients)
        loop.close()
    assert present == [False, True]


def test_a_short_run_has_fewer_messages_and_a_broker_may_have_a_bound():
    site = BrokerSite(None, None, BenchEffort(0.1, 1, 120, backlog=0.5), longest_queue=1000)
    assert [site.messages(count) for count in (1, 100, 10_000)] == [1, 50, 1000]


@pytest.mark.parametrize(("target", "durability"), [(Heliograph(), "disk"), (HeliographMemory(), "memory")])
def test_ours_is_told_where_and_how_safely_to_store(target, durability, tmp_path):
    target.command(TargetSetup(tmp_path, (Listener(1),), durable=True))
    config = (tmp_path / "heliograph.toml").read_text()
    assert f'directory = "{tmp_path}/data"' in config
    assert f'durability = "{durability}"' in config
    assert "max_messages = 20000000" in config


@pytest.mark.parametrize(("durable", "line"), [(True, "persistence true"), (False, "persistence false")])
def test_mosquitto_stores_in_durable_cases_only(durable, line, tmp_path):
    Mosquitto().command(TargetSetup(tmp_path, (Listener(1),), durable=durable))
    assert line in (tmp_path / "mosquitto.conf").read_text().splitlines()


def test_ours_in_memory_is_measured_where_it_is_compared(monkeypatch):
    monkeypatch.setattr(bench_rounds, "_run", lambda *_: bench_rounds.BenchRound(1, None, "not measured here"))
    cases = [Throughput(name="plain", about=""), Throughput(name="durable", about="", durable=True, share=0.5)]
    done = bench_rounds.measure(cases, [Heliograph(), HeliographMemory()], EFFORT, Cores(), lambda _: None)
    assert [[row.target for row in rows] for rows in done] == [["heliograph"], ["heliograph", "heliograph-memory"]]


def test_the_file_system_of_a_folder_that_everybody_has():
    if not Path("/proc/self").exists():
        pytest.skip("this system has no /proc")
    assert filesystem(Path("/proc/sys")) == "proc"
    assert work_folder().is_dir()


def test_what_a_folder_occupies(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "file").write_bytes(bytes(1_000_000))
    assert 900_000 < occupied(tmp_path) < 1_200_000


def test_the_server_that_runs_is_the_code_that_measures(monkeypatch):
    """Even when it was found by a relative path, as the server starts in another folder."""
    monkeypatch.setenv("PYTHONPATH", "src")
    source = str(Path(heliograph.__file__).parents[1])
    with running_broker(Heliograph(), None) as broker:
        environment = Path(f"/proc/{broker.pid}/environ")
        if not environment.exists():
            pytest.skip("this system has no /proc")
        paths = dict(pair.partition("=")[::2] for pair in environment.read_text().split("\0"))["PYTHONPATH"]
    assert paths.split(os.pathsep)[0] == source
