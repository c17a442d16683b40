"""Databases for tests: SQLite in a file, and a real PostgreSQL."""

import pytest

from heliograph.flow.engine.database import Databases, DataSources


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request):
    """Each kind of database in turn."""
    return None if request.param == "sqlite" else request.getfixturevalue("postgresql")


@pytest.fixture
def sources(url, tmp_path):
    return DataSources({"stock": url}, tmp_path)


@pytest.fixture
def databases(sources):
    databases = Databases(sources)
    yield databases
    databases.close()


@pytest.fixture
def other(sources):
    """Somebody else's connections to the same."""
    databases = Databases(sources)
    yield databases
    databases.close()


@pytest.fixture
def items(databases):
    """An empty table of items."""
    databases.committing.execute("stock", "DROP TABLE IF EXISTS items", ())
    databases.committing.execute("stock", "CREATE TABLE items (id INTEGER PRIMARY KEY, name VARCHAR(20) NOT NULL)", ())
    yield
    databases.rollback_all()
    databases.committing.execute("stock", "DROP TABLE IF EXISTS items", ())
