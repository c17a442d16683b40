"""What several rooms of flows need: one PostgreSQL for all."""

import gc
import warnings
from collections.abc import Iterator

import pytest

from postgresql import PostgresqlServer, running_postgresql


@pytest.fixture(scope="module", autouse=True)
def _nothing_left_by_others() -> None:
    """A flow collects garbage when it starts. What tests of other rooms have left is not to be its failure."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.unfreeze()
        gc.collect()


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[PostgresqlServer]:
    with running_postgresql() as server:
        yield server


@pytest.fixture(scope="session")
def postgresql(postgresql_server: PostgresqlServer) -> str:
    """Its URL."""
    return postgresql_server.url
