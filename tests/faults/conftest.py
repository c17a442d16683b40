"""A server for tests that restart it: stopped in good order in one run of the test, killed in the other."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.restarting import RestartingServer


@pytest.fixture(params=["stop", "kill"])
def lasting(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RestartingServer]:
    """A running server whose `restart` keeps its port and its data; each test is run with SIGTERM and with SIGKILL."""
    server = RestartingServer(tmp_path, killed=request.param == "kill")
    try:
        yield server
    finally:
        server.close()
