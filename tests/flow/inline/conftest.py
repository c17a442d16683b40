"""A real server, and flows that run in the test's own process or in one of their own."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from flow_process import FlowProcess, write_flow
from heliograph.client import connect
from running import servers
from running_flows import CONFIG, QUEUES, QueueFixture, Running, queues, running_flow


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    with servers(tmp_path_factory.mktemp("server")) as serve:
        yield serve(CONFIG.format(port=0) + queues())


@pytest.fixture
def url(server):
    """The server's address; its queues are empty."""
    address = f"amqp://127.0.0.1:{server.port_of('amqp')}"
    with connect(address) as connection, connection.session() as session:
        for name in (*QUEUES, "SMALL", "BOUND", "HASTY", "PATIENT", "SYSTEM.DEAD.LETTER.QUEUE"):
            consumer = session.consumer(name)
            while consumer.receive(0) is not None:
                pass
            consumer.close()
    return address


@pytest.fixture
def queue_fixture(url):
    queue_fixture = QueueFixture(url)
    yield queue_fixture
    queue_fixture.close()


@pytest.fixture
def flow(tmp_path, url, monkeypatch):
    """Runs a flow while the block lasts: `with flow(nodes, connections): ...`."""
    monkeypatch.setattr("heliograph.flow.inline.queue_input.WAIT", 0.02)  # so that it stops quickly
    monkeypatch.setattr("heliograph.flow.inline.http_input.WAIT", 0.02)

    @contextmanager
    def run(
        nodes: str, connections: str, settings: str = "", *, check: bool = True, **options: Any
    ) -> Iterator[Running]:
        name = options.pop("name", "tested")
        folder = write_flow(tmp_path / name, nodes, connections, settings, options.pop("files", {}))
        with running_flow(folder, tmp_path / "state", url, check=check, **options) as running:
            yield running

    return run


@pytest.fixture
def flow_process(tmp_path):
    """Starts flows as processes, which a test may kill."""
    started: list[FlowProcess] = []

    def start(
        url: str,
        nodes: str,
        connections: str,
        settings: str = "",
        files: dict[str, str] | None = None,
        name: str = "tested",
    ) -> FlowProcess:
        folder = write_flow(tmp_path / name, nodes, connections, settings, files or {})
        process = FlowProcess(folder, tmp_path / "state", url)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()


@pytest.fixture(autouse=True)
def quiet(caplog):
    """What a flow logs is for the test to look at."""
    caplog.set_level(logging.INFO, "heliograph.flow")
