"""Servers for tests that treat them as a user would."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from running import Serve, servers


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Start a server with a configuration: `serve(text)`. It is stopped, and its good end checked, after the test."""
    with servers(tmp_path) as start:
        yield start
