"""Queue managers: processes of their own that the server starts, watches and stops."""

import os
import signal
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from configurations import PLAIN
from heliograph.mqtt import PubAck, Publish
from plain_client import PlainClient, is_served
from running import PATIENCE, RunningServer, Serve

TWO = f"""{PLAIN}
[storage]
directory = "data"
[[queue_manager]]
name = "QM1"
[[queue_manager.listener]]
port = 0
[[queue_manager]]
name = "QM2"
[[queue_manager.listener]]
port = 0
"""


def manager(server: RunningServer, name: str) -> dict[str, Any]:
    """What the server says of a queue manager."""
    found: dict[str, Any] = next(one for one in server.stats()["queue_managers"] if one["name"] == name)
    return found


def wait_for_end(pid: int) -> None:
    """Wait until a process that is not our child has gone."""
    give_up = time.monotonic() + PATIENCE
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < give_up, f"process {pid} is still there"
        time.sleep(0.02)


def killed_and_back(server: RunningServer, name: str, times: int = 1) -> dict[str, Any]:
    os.kill(manager(server, name)["pid"], signal.SIGKILL)
    server.wait_until(
        lambda stats: any(
            one["name"] == name and one["restarts"] == times and one["state"] == "running"
            for one in stats["queue_managers"]
        )
    )
    return manager(server, name)


def port_of(one: dict[str, Any]) -> int:
    return int(one["addresses"][0].rpartition(":")[2])


def test_each_is_a_ready_process_with_its_own_folder_and_address_when_the_server_is(
    serve: Serve, tmp_path: Path
) -> None:
    server = serve(TWO)
    first, second = manager(server, "QM1"), manager(server, "QM2")
    assert first["state"] == second["state"] == "running"
    assert len({first["pid"], second["pid"], server.process.pid}) == 3
    assert {folder.name for folder in tmp_path.glob("data*")} == {"data", "data-QM1", "data-QM2"}
    assert all(is_served(port_of(one)) for one in (first, second))


def test_one_that_is_killed_comes_back_with_what_it_had(serve: Serve) -> None:
    server = serve(TWO)
    with PlainClient(port_of(manager(server, "QM1"))).connected() as publisher:
        publisher.send(Publish("kept", b"still here", qos=1, retain=True, packet_id=1))
        assert isinstance(publisher.receive(), PubAck)
    back = killed_and_back(server, "QM1")
    assert "killed by SIGKILL" in server.log.wait_for("a queue manager has ended")
    with PlainClient(port_of(back)).connected() as reader:
        reader.subscribe("kept")
        message = reader.receive()
        assert isinstance(message, Publish)
        assert message.payload == b"still here"
    assert manager(server, "QM2")["restarts"] == 0


def test_they_stop_with_the_server(serve: Serve) -> None:
    server = serve(TWO)
    pids = [one["pid"] for one in server.stats()["queue_managers"]]
    server.stop()
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_they_end_when_the_server_is_killed(serve: Serve) -> None:
    server = serve(TWO)
    pids = [one["pid"] for one in server.stats()["queue_managers"]]
    server.kill()
    for pid in pids:
        wait_for_end(pid)


def test_a_reload_is_passed_on(serve: Serve) -> None:
    server = serve(TWO)
    server.reload(TWO.replace("[http]", '[log]\nformat = "json"\n[http]'))
    for name in ("QM1", "QM2"):
        line = server.log.wait_for(f'"queue_manager": "{name}"')
        assert "configuration reloaded" in line


def test_queues_that_a_reload_brings_are_made_by_the_queue_manager_they_are_for(serve: Serve) -> None:
    server = serve(TWO)
    before = manager(server, "QM2")["queues"]
    server.reload(TWO + '[[queue_manager.queue]]\nname = "new"\n')
    server.wait_until(lambda stats: stats["queue_managers"][1]["queues"] == before + 1)
    assert manager(server, "QM1")["queues"] == before


def test_one_that_cannot_start_is_tried_again_and_holds_nobody_up(serve: Serve) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        server = serve(TWO.replace("port = 0\n[[queue_manager]]", f"port = {port}\n[[queue_manager]]"))
        assert manager(server, "QM2")["state"] == "running"
        assert manager(server, "QM1")["state"] != "running"
        server.log.wait_for("a queue manager has ended")
        server.log.wait_for("is in use by another program or server")
    server.wait_until(lambda stats: stats["queue_managers"][0]["state"] == "running")


@pytest.mark.parametrize("metric", ["heliograph_queue_manager_up", "heliograph_queue_manager_restarts_total"])
def test_prometheus_is_told_how_they_are(serve: Serve, metric: str) -> None:
    assert f'{metric}{{queue_manager="QM1"}}' in serve(TWO).page("/metrics")
