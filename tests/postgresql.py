"""A real PostgreSQL for tests, which do not wait for its disk."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from heliograph.lab.flows import postgresql
from heliograph.lab.flows.postgresql import PostgresqlServer


@contextmanager
def running_postgresql() -> Iterator[PostgresqlServer]:
    """A server that runs as long as the block; skips the test where PostgreSQL is not installed."""
    if not postgresql.is_installed():
        if os.environ.get("CI"):
            pytest.fail(f"{postgresql.MISSING}, and these tests must not be skipped here")
        pytest.skip(postgresql.MISSING)
    with postgresql.running_postgresql(safe=False) as server:
        yield server
