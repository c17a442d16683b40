"""The databases of a flow: SQLite embedded, PostgreSQL for real, with units of work that go with the messages."""

from heliograph.flow.engine.database.databases import Databases, DataSources

__all__ = ["DataSources", "Databases"]
