"""A real server, and flows that run in the test's own process or in one of their own."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from flow_process import FlowProcess, write_flow
from heliograph.client import connect
from heliograph.flow.definition.loading import load_flow
from heliograph.flow.runner.running import run_flow
from heliograph.flow.runner.statistics import FlowStatistics
from postgresql import running_postgresql
from running import servers

PATIENCE = 20.0
CONFIG = """
[[listener]]
protocol = "amqp"
port = {port}
[http]
port = 0
"""
QUEUES = ("IN", "OUT", "OTHER", "FAILED", "REPLIES", "AUDIT")
SMALL = '[[queue]]\nname = "SMALL"\nmax_depth = 3\n'
PATIENT = '[[queue]]\nname = "PATIENT"\nbackout_threshold = 3\nbackout_queue = "FAILED"\n'


def queues() -> str:
    return "".join(f'[[queue]]\nname = "{name}"\nmax_depth = 1000000\n' for name in QUEUES) + SMALL + PATIENT


@pytest.fixture(scope="session")
def postgresql():
    with running_postgresql() as url:
        yield url


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    with servers(tmp_path_factory.mktemp("server")) as serve:
        yield serve(CONFIG.format(port=0) + queues())


@pytest.fixture
def url(server):
    """The server's address; its queues are empty."""
    address = f"amqp://127.0.0.1:{server.port_of('amqp')}"
    with connect(address) as connection, connection.session() as session:
        for name in (*QUEUES, "SMALL", "PATIENT", "SYSTEM.DEAD.LETTER.QUEUE"):
            consumer = session.consumer(name)
            while consumer.receive(0) is not None:
                pass
            consumer.close()
    return address


def text_of(message: Any) -> Any:
    """Its body, whether it was sent as a text or as bytes."""
    return message.body.decode() if isinstance(message.body, bytes) else message.body


class Desk:
    """The test's own hands at the server."""

    def __init__(self, url: str) -> None:
        self._connection = connect(url)
        self.session = self._connection.session()

    def put(self, queue: str, *bodies: Any, **manner: Any) -> None:
        producer = self.session.producer(queue, **manner)
        for receipt in [producer.send_async(body) for body in bodies]:
            receipt.result(PATIENCE)
        producer.close()

    def get(self, queue: str, count: int = 1) -> list[Any]:
        """So many messages, which must come."""
        consumer = self.session.consumer(queue)
        messages = []
        while len(messages) < count:
            message = consumer.receive(PATIENCE)
            assert message is not None, f"expected {count} messages in {queue}, found {messages}"
            messages.append(message)
        consumer.close()
        return messages

    def bodies(self, queue: str, count: int = 1) -> list[Any]:
        return [text_of(message) for message in self.get(queue, count)]

    def rest(self, queue: str) -> list[Any]:
        """What is there now."""
        return [text_of(message) for message in self.session.browser(queue)]

    def close(self) -> None:
        self._connection.close()


@pytest.fixture
def desk(url):
    desk = Desk(url)
    yield desk
    desk.close()


class Running:
    """A flow that runs in a thread of the test."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.ready = threading.Event()
        self.port = 0
        self.statistics = FlowStatistics()
        self.problem: BaseException | None = None
        self.lines: list[str] = []

    def run(self, folder: Path, state: Path, url: str, **options: Any) -> None:
        try:
            self.statistics = run_flow(
                load_flow(folder),
                state=state,
                stop=self.stop,
                server=url,
                report=self.lines.append,
                on_ready=self._is_ready,
                **options,
            )
        except BaseException as problem:
            self.problem = problem
        finally:
            self.ready.set()

    def _is_ready(self, port: int) -> None:
        self.port = port
        self.ready.set()


@pytest.fixture
def flow(tmp_path, url):
    """Runs a flow while the block lasts: `with flow(nodes, connections): ...`."""

    @contextmanager
    def run(
        nodes: str, connections: str, settings: str = "", *, check: bool = True, **options: Any
    ) -> Iterator[Running]:
        folder = write_flow(tmp_path / "flow", nodes, connections, settings, options.pop("files", {}))
        running = Running()
        arguments = (folder, tmp_path / "state", url)
        thread = threading.Thread(target=running.run, args=arguments, kwargs=options, daemon=True)
        thread.start()
        try:
            assert running.ready.wait(PATIENCE)
            if check and running.problem is not None:
                raise running.problem
            yield running
        finally:
            running.stop.set()
            thread.join(PATIENCE)
            assert not thread.is_alive()

    return run


@pytest.fixture
def flow_process(tmp_path):
    """Starts flows as processes, which a test may kill."""
    started: list[FlowProcess] = []

    def start(
        url: str, nodes: str, connections: str, settings: str = "", files: dict[str, str] | None = None
    ) -> FlowProcess:
        folder = write_flow(tmp_path / "flow", nodes, connections, settings, files or {})
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
