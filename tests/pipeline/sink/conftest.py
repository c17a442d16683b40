"""A server with queues and a stream, and somebody who looks at what is there."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.sink.queue_server import CONFIG, QueueAdmin
from running import RunningServer, servers


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """One server for all tests of a file, which keep to queues and topics of their own."""
    folder: Path = tmp_path_factory.mktemp("server")
    with servers(folder) as serve:
        yield serve(CONFIG)


@pytest.fixture(scope="module")
def admin(server: RunningServer) -> Iterator[QueueAdmin]:
    with QueueAdmin(server.url("amqp")) as admin:
        yield admin
