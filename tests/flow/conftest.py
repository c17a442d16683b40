"""What several rooms of flows need: one PostgreSQL for all."""

from collections.abc import Iterator

import pytest

from postgresql import PostgresqlServer, running_postgresql


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[PostgresqlServer]:
    with running_postgresql() as server:
        yield server


@pytest.fixture(scope="session")
def postgresql(postgresql_server: PostgresqlServer) -> str:
    """Its URL."""
    return postgresql_server.url
