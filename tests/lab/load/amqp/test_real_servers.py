"""AMQP clients of a load do on a real server all that scenarios ask of them, and nothing gets lost on the way."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from certificates import Authority
from heliograph.errors import Problem
from heliograph.lab.load import Address, Group, LoadOutcome, Plan, Totals, group_from, run_load
from heliograph.lab.targets.broker_process import running_broker
from heliograph.lab.targets.rabbitmq import RabbitMQ
from heliograph.lab.targets.requirements import Layout
from heliograph.server.access.passwords import Cost, PasswordHash
from running import RunningServer, servers

QUEUES = ("a", "b", "c", "ask0", "ask1", "answer0", "answer1", "own0", "own1")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> Iterator[RunningServer]:
    """AMQP without and with TLS, where users have passwords, and over WebSocket."""
    folder = tmp_path_factory.mktemp("server")
    pair = authority.issue("server", "load")
    users = folder / "users"
    users.write_text(f"worker:{PasswordHash.of(b'secret', Cost(16, 1, 1))}\n")
    text = f"""
[[listener]]
protocol = "amqp"
port = 0
[[listener]]
protocol = "amqp"
kind = "tls"
port = 0
anonymous = false
cert = "{pair.cert}"
key = "{pair.key}"
[[listener]]
protocol = "amqp"
kind = "ws"
port = 0
[access]
password_file = "{users}"
[http]
enabled = false
"""
    text += "".join(f'[[queue]]\nname = "{queue}"\nmax_depth = 1000000\n' for queue in QUEUES)
    with servers(folder) as start:
        yield start(text)


def run(server: RunningServer, authority: Authority, *groups: dict[str, Any], processes: int = 1) -> LoadOutcome:
    addresses = {
        "main": Address(server.port_of("amqp")),
        "tls": Address(server.port_of("amqps"), ca_file=str(authority.cert)),
        "ws": Address(server.port_of("ws"), path="/amqp"),
    }
    made = tuple(group_from({"protocol": "amqp", **group}) for group in groups)
    return run_load(Plan(made, 0.5, 0.1, processes), addresses)


def put(name: str, destination: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "role": "publish", "clients": 2, "destination": destination, "qos": 1, "rate": 1000.0, **more}


def get(name: str, place: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "role": "consume", "clients": 2, "filters": [place], "qos": 1, **more}


def arrived(outcome: LoadOutcome, *names: str) -> list[Totals]:
    """These groups got all that was meant for them, once and in order."""
    found = [outcome.groups[name] for name in names]
    for name, totals in zip(names, found, strict=True):
        assert totals.expected > 0, name
        assert (totals.received, totals.lost, totals.duplicates) == (totals.expected, 0, 0), name
        assert (totals.reordered, totals.errors, totals.first_error) == (0, 0, ""), name
    return found


def test_queues_take_settled_unsettled_and_transacted_messages(server: RunningServer, authority: Authority) -> None:
    outcome = run(
        server,
        authority,
        put("settled", "queue://a", qos=0, payload=32),
        get("take", "queue://a", qos=0),
        put("unsettled", "queue://b", rate=None, window=50, persistent=True, payload={"ranges": [[100, 70_000]]}),
        get("accept", "queue://b", acknowledge_every=20),
        put("transacted", "queue://c", transaction=7, window=20),
        get("commit", "queue://c", transaction=11),
        processes=2,
    )
    taken, accepted, committed = arrived(outcome, "take", "accept", "commit")
    assert taken.latencies["message"].count > 200
    settled, unsettled, transacted = (outcome.groups[name] for name in ("settled", "unsettled", "transacted"))
    assert (settled.acknowledged, settled.errors) == (0, 0)
    assert unsettled.acknowledged == unsettled.sent == accepted.received
    assert transacted.acknowledged == transacted.sent == committed.received
    assert transacted.latencies["commit"].count > 0
    assert committed.latencies["commit"].count > 0


def test_subscriptions_are_volatile_durable_and_shared(server: RunningServer, authority: Authority) -> None:
    outcome = run(
        server,
        authority,
        put("many", "topic://t/{client}/{topic}", topics=3, persistent=True),
        get("volatile", "topic://t/#", qos=0),
        get("durable", "topic://t/{client}/+", durable=True, transaction=10),
        get("shared", "topic://t/#", shared="s"),
        get("both", "topic://t/#", shared="d", durable=True),
    )
    volatile, durable, shared, both = arrived(outcome, "volatile", "durable", "shared", "both")
    sent = outcome.groups["many"].sent
    assert (volatile.received, durable.received, shared.received, both.received) == (2 * sent, sent, sent, sent)


def test_requesters_get_the_answers_to_their_own_requests(server: RunningServer, authority: Authority) -> None:
    ask = {
        "name": "ask",
        "role": "request",
        "clients": 5,
        "destination": "queue://ask{partition}",
        "reply": "queue://answer{partition}",
        "destinations": 2,
        "qos": 1,
        "window": 1,
        "payload": 200_000,
    }
    answer = {"role": "respond", "clients": 2, "destinations": 2, "filters": ["queue://ask{partition}"], "qos": 1}
    own = {"name": "own", "role": "both", "clients": 2, "destination": "queue://own{client}", "qos": 1, "window": 10}
    outcome = run(server, authority, ask, {"name": "answer", **answer}, own, processes=2)
    asked, answered, _ = arrived(outcome, "ask", "answer", "own")
    assert asked.received == asked.sent == answered.received == answered.sent
    assert asked.latencies["round_trip"].count > 0


def test_they_come_over_tls_with_a_password_and_over_websocket(server: RunningServer, authority: Authority) -> None:
    known = {"user": "worker", "password": "secret", "transport": "tls", "door": "tls"}
    properties = {"properties": 2}
    outcome = run(
        server,
        authority,
        put("secure", "topic://secure", **known, **properties),
        get("web", "topic://secure", transport="ws", door="ws", selector="name_01 = 'value_01'"),
        {"name": "come", "role": "connect", "clients": 5, "connect_rate": 40.0, "stay": 0.05, **known},
    )
    arrived(outcome, "web")
    connects = outcome.groups["come"].latencies["connect"]
    assert connects.count > 5
    assert outcome.groups["come"].errors == 0


def test_what_the_server_says_is_told(server: RunningServer, authority: Authority) -> None:
    with pytest.raises(Problem, match="SASL outcome AUTH"):
        run(
            server,
            authority,
            put("stranger", "queue://a", user="worker", password="wrong", transport="tls", door="tls"),
        )
    with pytest.raises(Problem, match="amqp:not-found"):
        run(server, authority, get("lost", "queue://nowhere", clients=1))


@pytest.mark.skipif(RabbitMQ().version() is None, reason="needs rabbitmq-server")
def test_rabbitmq_is_loaded_in_the_same_way(tmp_path: Path) -> None:
    queues = ("a", "ask", "answer")
    with running_broker(RabbitMQ(), None, amqp=True, layout=Layout(queues=queues)) as broker:
        door = broker.doors[0]
        address = door.address
        groups: list[dict[str, Any]] = [
            put("put", "queue://a"),
            get("get", "queue://a"),
            put("publish", "topic://t/{client}"),
            get("subscribe", "topic://t/+"),
            put("ask", "queue://ask", role="request", reply="queue://answer", rate=None, window=2),
            get("answer", "queue://ask", role="respond"),
        ]
        known = {"protocol": "amqp", "user": door.user, "password": door.password}
        made: tuple[Group, ...] = tuple(group_from({**known, **group}) for group in groups)
        outcome = run_load(Plan(made, 0.5, 0.1), {"main": address})
    for name in ("get", "subscribe", "ask", "answer"):
        totals = outcome.groups[name]
        assert totals.expected > 0
        assert (totals.received, totals.lost, totals.duplicates, totals.errors) == (totals.expected, 0, 0, 0)
    assert outcome.groups["put"].acknowledged == outcome.groups["put"].sent
