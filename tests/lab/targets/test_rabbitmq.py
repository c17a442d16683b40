"""RabbitMQ as a peer: started, measured and gone, leaving nothing behind."""

import json

import psutil
import pytest

from heliograph.cli.main import main
from heliograph.lab.bench import bench_rounds
from heliograph.lab.bench.queue_cases import PutGet
from heliograph.lab.targets.broker_process import running_broker
from heliograph.lab.targets.rabbitmq import RabbitMQ
from heliograph.lab.targets.requirements import Layout
from heliograph.lab.targets.target import Listener, TargetSetup

needs_rabbitmq = pytest.mark.skipif(
    RabbitMQ().version() is None, reason="RabbitMQ is missing: install it (apt install rabbitmq-server)"
)


@needs_rabbitmq
def test_it_is_measured_from_end_to_end(tmp_path, capsys):
    results = tmp_path / "results.json"
    words = ["bench", "--quick", "--target", "rabbitmq", "--case", "request-2k-p-10qm", "--json", str(results)]
    assert main(words) == 0
    assert "rabbitmq" in capsys.readouterr().out
    [row] = json.loads(results.read_text())["rows"]
    [run] = row["runs"]
    assert run["delivered"] > 0
    assert (run["lost"], run["duplicates"], run["unexpected"]) == (0, 0, 0)
    assert row["median_cpu_us"] > 0


@needs_rabbitmq
def test_everything_that_was_started_for_it_ends_with_it():
    with running_broker(RabbitMQ(), None, amqp=True, layout=Layout(queues=("lab.0",))) as broker:
        started = [psutil.Process(broker.pid), *psutil.Process(broker.pid).children(recursive=True)]
        assert {"beam.smp", "epmd"} <= {process.name() for process in started}
    assert not [process for process in started if process.is_running()]


def test_every_queue_manager_is_a_virtual_host_with_all_queues(tmp_path):
    setup = TargetSetup(tmp_path, (Listener(1, "amqp"),), layout=Layout(2, ("a", "b")), spare_ports=(2, 3))
    RabbitMQ().command(setup)
    defined = json.loads((tmp_path / "definitions.json").read_text())
    assert [(queue["vhost"], queue["name"], queue["durable"]) for queue in defined["queues"]] == [
        ("qm0", "a", True),
        ("qm0", "b", True),
        ("qm1", "a", True),
        ("qm1", "b", True),
    ]
    assert [door.address.hostname for door in RabbitMQ().doors(setup)] == ["vhost:qm0", "vhost:qm1"]


def test_a_missing_peer_is_named_with_its_package(monkeypatch):
    monkeypatch.setattr(RabbitMQ, "version", lambda _self: None)
    case = PutGet(name="put-get", about="")
    [line] = bench_rounds.missing_targets([case])
    assert "rabbitmq is not installed" in line
    assert "apt install rabbitmq-server" in line


def test_brokers_that_cannot_do_what_a_case_needs_take_no_part():
    select = PutGet(name="select", about="", select=True)
    assert not select.needs <= RabbitMQ.capabilities
    assert PutGet(name="plain", about="").needs <= RabbitMQ.capabilities
