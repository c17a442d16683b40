"""One server for all clients of others, and topics of each test's own."""

from collections.abc import Iterator

import pytest

from running import RunningServer, servers


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, every_listener: str) -> Iterator[RunningServer]:
    """A server with a listener of each kind; its buffers have room for the longest run of messages in these tests."""
    more = '[limits]\nmax_messages = 20000\n[sys_topics]\ninterval = 0.5\n[log]\nlevel = "warning"\n'
    with servers(tmp_path_factory.mktemp("interop")) as start:
        yield start(every_listener + more)


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A topic name that no other test uses."""
    return "".join(letter if letter.isalnum() else "-" for letter in request.node.nodeid)
