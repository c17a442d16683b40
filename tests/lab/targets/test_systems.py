"""Systems under test: what is wanted of them is there, their figures can be read, and they leave nothing behind."""

import time

import psutil
import pytest

from heliograph.errors import Problem
from heliograph.lab.load import Group, Plan
from heliograph.lab.targets.external import ExternalSystem
from heliograph.lab.targets.heliograph_server import Heliograph
from heliograph.lab.targets.mosquitto import Mosquitto
from heliograph.lab.targets.nats import Nats
from heliograph.lab.targets.rabbitmq import RabbitMQ
from heliograph.lab.targets.requirements import (
    Binding,
    Layout,
    ListenerType,
    Requirements,
    is_durable,
    listener_types_of,
    needs_of,
)
from heliograph.lab.targets.target import Listener, TargetSetup
from heliograph.lab.targets.target_catalogue import choose_systems
from paho_client import V311, PahoClient

TCP, TLS, WS = ListenerType("mqtt", "tcp"), ListenerType("mqtt", "tls"), ListenerType("mqtt", "ws")


def kind(name):
    return choose_systems([name], [], None, verify=True)[0]


def needs(target):
    return pytest.mark.skipif(target().version() is None, reason=f"{target.name} is missing: {target.install_hint}")


def publish_one(port, tls=None):
    """Publish a message to a subscriber of its own, and wait for it."""
    clients = [PahoClient(V311, name, context=tls).connect(port) for name in (f"lab-in-{port}", f"lab-out-{port}")]
    clients[0].subscribe("lab/t")
    clients[1].client.publish("lab/t", bytes(8))
    assert clients[0].message().payload == bytes(8)
    return clients


@pytest.mark.parametrize(
    ("name", "ways"),
    [
        ("heliograph", (TCP, TLS, WS, ListenerType("amqp", "tcp"))),
        pytest.param("mosquitto", (TCP, TLS, WS), marks=needs(Mosquitto)),
        pytest.param("nats", (TCP, WS), marks=needs(Nats)),
    ],
)
def test_a_system_listens_in_every_way_that_is_wanted_and_tells_its_figures(name, ways):
    with kind(name).running(Requirements(ways), None) as system:
        assert {way.door for way in ways} <= system.addresses.keys()
        links = publish_one(system.addresses["mqtt-tcp"].port)
        if TLS in ways:
            address = system.addresses["mqtt-tls"]
            links += publish_one(address.port, address.tls_context())
        processes = [psutil.Process(pid) for pid in system.pids()]
        metrics = {figure.metric for figure in _figures(system.statistics)}
        assert {"connected", "messages_received"} <= metrics
        assert system.configuration
        for link in links:
            link.drop()
        system.statistics.close()
    assert processes
    assert not [process for process in processes if process.is_running()]


def _figures(statistics):
    """Mosquitto publishes its own once a second."""
    deadline = time.monotonic() + 10
    while not (found := statistics.read()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def test_queues_and_discards_of_our_server_are_among_its_figures():
    wanted = Requirements(
        (TCP, ListenerType("amqp", "tcp")), layout=Layout(queues=("ORDERS",), bindings=(Binding("lab/#", "ORDERS"),))
    )
    with kind("heliograph").running(wanted, None) as system:
        links = publish_one(system.addresses["mqtt-tcp"].port)
        figures = {(figure.source, figure.name, figure.metric): figure.value for figure in system.statistics.read()}
        assert figures["queue", "ORDERS", "depth"] == 1
        assert figures["queue", "ORDERS", "high_water"] == 1
        assert figures["server", "statistics", "discarded"] == 0
        for link in links:
            link.drop()
        system.statistics.close()


def test_each_queue_manager_has_a_door():
    wanted = Requirements((ListenerType("amqp", "tcp"),), layout=Layout(managers=2, queues=("Q",)))
    with kind("heliograph").running(wanted, None) as system:
        ports = [system.addresses[f"QM{number}"].port for number in range(2)]
        assert len({system.addresses["amqp-tcp"].port, *ports}) == 3
        assert [system.addresses[f"QM{number}"].manager for number in range(2)] == ["QM0", "QM1"]
        assert len(system.pids()) >= 3


def test_a_plan_tells_what_it_needs():
    plan = Plan(
        (
            Group("devices", "publish", 3, protocol="mqtt5", transport="tls", qos=2),
            Group("programs", "consume", 2, protocol="amqp", selector="a > 1", transaction=10, durable=True),
            Group("plain", "consume", 2, shared="s"),
        ),
        seconds=1,
    )
    assert listener_types_of(plan) == (ListenerType("amqp", "tcp"), TCP, TLS)
    assert is_durable(plan)
    assert needs_of(plan) == {
        *("mqtt", "mqtt5", "qos2", "tls", "mqtt-tcp-and-tls", "shared", "amqp", "selectors", "transactions")
    }


@pytest.mark.parametrize("target", [Heliograph, Mosquitto, RabbitMQ, Nats])
def test_limits_that_a_scenario_sets_reach_the_configuration(target, tmp_path):
    limits = {Heliograph: "max_messages = 777", Mosquitto: "max_queued_messages 777"}
    sizes = {Heliograph: "packet_size = ", RabbitMQ: "max_message_size = 123456", Nats: "max_payload: 123456"}
    setup = TargetSetup(tmp_path, (Listener(1),), spare_ports=(2, 3), max_messages=777, max_message_size=123456)
    target().command(setup)
    text = "".join(file.read_text() for file in tmp_path.iterdir() if file.suffix in {".toml", ".conf"})
    assert limits.get(target, "") in text
    assert sizes.get(target, "") in text


def test_an_external_system_is_where_its_urls_say():
    system_kind = ExternalSystem(["mqtts://ann:s%40lt@broker.example.com", "amqp://broker.example.com:7777"], "ca.pem")
    assert {"mqtt", "tls", "amqp"} <= system_kind.capabilities
    assert "websocket" not in system_kind.capabilities
    with system_kind.running(Requirements((TLS, ListenerType("amqp", "tcp"))), None) as system:
        address = system.addresses["mqtt-tls"]
        assert (address.host, address.port, address.ca_file) == ("broker.example.com", 8883, "ca.pem")
        assert system.addresses["amqp-tcp"].port == 7777
        assert (system.user, system.password) == ("ann", "s@lt")
        assert system.pids() == []


def test_an_external_system_needs_a_url_for_each_way_of_the_load():
    system_kind = ExternalSystem(["mqtt://localhost"])
    with pytest.raises(Problem, match="give a --url for that"), system_kind.running(Requirements((TLS,)), None):
        pass
