"""`helio qm` against a server with queue managers."""

import json
import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest

from cli.queue_server import CONFIG, QueueServer
from running import PATIENCE, servers

MORE = """
[[queue_manager]]
name = "QM1"
[[queue_manager.queue]]
name = "mine"
default_persistence = true
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QueueServer]:
    with servers(tmp_path_factory.mktemp("managers")) as start:
        yield QueueServer(start(CONFIG + MORE))


def shown(server: QueueServer, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(server.done("qm", "show", name, "--json"))
    return found


def within(server: QueueServer, *words: str, stdin: bytes = b"") -> tuple[int, str, str]:
    """Run a command on the queue manager, found by its name through the server."""
    return server.helio(*words, stdin=stdin, url=f"{server.url}/?hostname=QM1")


def test_list_is_a_table_with_the_server_first(server: QueueServer) -> None:
    lines = server.done("qm", "list").splitlines()
    assert lines[0].split() == ["NAME", "STATE", "PID", "QUEUES", "DEPTH", "RESTARTS", "ADDRESSES"]
    assert lines[1].split()[:2] == ["heliograph", "running"]
    assert lines[2].split()[:2] == ["QM1", "running"]
    assert [one["name"] for one in json.loads(server.done("qm", "list", "--json"))] == ["heliograph", "QM1"]


def test_show_without_a_name_is_the_server_itself(server: QueueServer) -> None:
    assert "dead_letter_queue  SYSTEM.DEAD.LETTER.QUEUE" in server.done("qm", "show")
    assert server.problem("qm", "show", "QM9") == "helio qm: there is no queue manager QM9"


def test_a_client_that_asks_for_a_queue_manager_is_sent_to_it(server: QueueServer) -> None:
    assert within(server, "queue", "put", "mine", "hello")[0] == 0
    assert "there is no queue mine" in server.problem("queue", "get", "mine")
    assert within(server, "queue", "get", "mine") == (0, "hello\n", "")


def test_a_queue_manager_that_is_not_there_is_refused_by_the_server(server: QueueServer) -> None:
    status, out, err = server.helio("queue", "get", "mine", url=f"{server.url}/?hostname=QM9")
    assert (status, out) == (1, "")
    assert "there is no queue manager QM9, only heliograph, QM1" in err


def test_one_is_stopped_and_started(server: QueueServer) -> None:
    assert server.done("qm", "stop", "QM1") == "QM1 is stopped\n"
    assert shown(server, "QM1")["pid"] == 0
    assert within(server, "queue", "list")[0] == 1, "nobody else answers in its place"
    assert server.done("qm", "start", "QM1") == "QM1 is running\n"
    assert within(server, "queue", "list")[0] == 0


def test_the_server_itself_is_not_started_or_stopped_like_this(server: QueueServer) -> None:
    assert "heliograph is the server itself" in server.problem("qm", "stop", "heliograph")
    assert server.problem("qm", "stop", "QM9") == "helio qm: there is no queue manager QM9"


def test_one_that_is_killed_comes_back_with_its_messages(server: QueueServer) -> None:
    assert within(server, "queue", "put", "mine", "-l", "--persistent", stdin=b"one\ntwo\n")[0] == 0
    before = shown(server, "QM1")
    os.kill(before["pid"], signal.SIGKILL)
    give_up = time.monotonic() + PATIENCE
    while (now := shown(server, "QM1"))["restarts"] == before["restarts"] or now["state"] != "running":
        assert time.monotonic() < give_up, now
        time.sleep(0.05)
    assert within(server, "queue", "get", "mine", "-n", "0") == (0, "one\ntwo\n", "")
