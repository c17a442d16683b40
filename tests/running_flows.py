"""For tests of flows that run: a server's queues, and a flow in a thread of the test."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from configurations import PLAIN
from heliograph.client import connect
from heliograph.flow.inline.flow_process import run_flow
from heliograph.flow.inline.flow_statistics import FlowStatistics
from heliograph.flow.loading.flow_loading import load_flow

PATIENCE = 20.0
CONFIG = f"""{PLAIN}
[[listener]]
protocol = "amqp"
port = {{port}}
"""
QUEUES = ("IN", "OUT", "OTHER", "FAILED", "REPLIES", "AUDIT", "A", "B", "ALL", "SOME", "HELD", "CONTROL", "UNKNOWN")
BOUND = '[[queue]]\nname = "BOUND"\ntopics = ["prices/#"]\n'
SMALL = '[[queue]]\nname = "SMALL"\nmax_depth = 3\n'
HASTY = '[[queue]]\nname = "HASTY"\nbackout_threshold = 1\n'
PATIENT = '[[queue]]\nname = "PATIENT"\nbackout_threshold = 3\nbackout_queue = "FAILED"\n'


def soon(condition: Callable[[], Any]) -> None:
    """Wait until something is so; it must be."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it never came about"
        time.sleep(0.01)


def free_port() -> int:
    """A port for a server that is to be killed and started again."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def queues() -> str:
    return (
        "".join(f'[[queue]]\nname = "{name}"\nmax_depth = 1000000\n' for name in QUEUES)
        + SMALL
        + BOUND
        + HASTY
        + PATIENT
    )


def text_of(message: Any) -> Any:
    """Its body, whether it was sent as a text or as bytes."""
    return message.body.decode() if isinstance(message.body, bytes) else message.body


class QueueFixture:
    """The test's own client of a server's queues."""

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


CHECK_PY = """
def process(message):
    if b"bad" in message.body.bytes():
        raise ValueError("this one is bad")
    return message
"""
"""The file of a Python node that refuses some messages."""


def stored_config(port: int, folder: Path) -> str:
    """The configuration of a server that is killed and started again: it keeps its port and its data."""
    return CONFIG.format(port=port) + queues() + f'[storage]\ndirectory = "{folder}/data"\n'


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


@contextmanager
def running_flow(folder: Path, state: Path, url: str, *, check: bool = True, **options: Any) -> Iterator[Running]:
    """The flow of a folder, in a thread of the test, until the block ends."""
    running = Running()
    thread = threading.Thread(target=running.run, args=(folder, state, url), kwargs=options, daemon=True)
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
