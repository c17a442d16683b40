"""Client lists of mqttbench become groups of clients with names of their own."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from heliograph.errors import Problem
from heliograph.lab.load import Address, Plan, run_load
from heliograph.lab.load.client_list import ClientList, read_client_list
from lab.scripted.message_broker import MessageBroker


def read(folder: Path, clients: list[dict[str, Any]], rate: float | None = None) -> ClientList:
    file = folder / "clients.json"
    file.write_text(json.dumps(clients))
    return read_client_list(file, rate=rate)


def client(name: str, **more: Any) -> dict[str, Any]:
    return {"_id": name, "version": "TCP4", "dst": "127.0.0.1", "dstPort": 1234, **more}


def topics(*names: str, qos: int = 0) -> list[dict[str, Any]]:
    return [{"topicStr": name, "qos": qos} for name in names]


def test_clients_that_differ_only_in_names_are_one_group(tmp_path: Path) -> None:
    made = read(
        tmp_path,
        [
            client("a", publishTopics=topics("x/a"), username="u", password=base64.b64encode(b"secret").decode()),
            client("b", publishTopics=topics("x/b")),
            client("c", subscriptions=topics("x/#", qos=1), cleanSession=False, version="WS5", useTLS=True),
            client("d", publishTopics=topics("y/${COUNT:5-7}", qos=2)),
            client("e"),
        ],
        rate=300.0,
    )
    two, consumer, counted, idle = made.groups
    assert [member.client_id for member in two.members] == ["a", "b"]
    assert (two.members[0].user, two.members[0].password) == ("u", "secret")
    assert (consumer.role, consumer.transport, consumer.protocol) == ("consume", "wss", "mqtt5")
    assert (consumer.qos, consumer.durable) == (1, True)
    assert counted.members[0].topics == ("y/5", "y/6", "y/7")
    assert idle.role == "connect"
    assert (two.rate, counted.rate, consumer.rate) == (200.0, 100.0, None)
    assert made.addresses == {"127.0.0.1:1234": Address(1234)}


def test_a_list_runs_as_it_is(tmp_path: Path) -> None:
    with MessageBroker() as broker:
        here = {"dstPort": broker.port}
        names = ("short", "a/much/longer/name")
        clients = [client(f"p{n}", publishTopics=topics(name), **here) for n, name in enumerate(names)]
        clients += [client("s", subscriptions=topics("#"), **here)]
        made = read(tmp_path, clients, rate=400.0)
        outcome = run_load(Plan(made.groups, 0.3), made.addresses)
    sent, got = (outcome.groups[group.name] for group in made.groups)
    assert sent.sent > 50
    assert (got.received, got.lost, got.errors) == (sent.sent, 0, 0)


@pytest.mark.parametrize(
    ("clients", "problem"),
    [
        ([], "expected an array with one object per client"),
        ([client("a", version="TCP6")], "client 0 of .*: version is 'TCP6'; expected one of TCP3"),
        ([client("a", clientCertPath="x")], "'clientCertPath' is not supported"),
        ([client("a", publishTopics=[*topics("a"), *topics("b", qos=1)])], "its topics differ in 'qos'"),
        ([client("a", password="?")], "the password is not base64"),
    ],
)
def test_what_cannot_be_done_is_refused(tmp_path: Path, clients: list[dict[str, Any]], problem: str) -> None:
    with pytest.raises(Problem, match=problem):
        read(tmp_path, clients)
