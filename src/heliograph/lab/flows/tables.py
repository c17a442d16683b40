"""The table that the database tests work on."""

from heliograph.flow.engine import Databases
from heliograph.lab.flows.cases import DATA_SOURCE, ROWS, TABLE


def make_table(databases: Databases) -> None:
    """A thousand rows, in a table of their own."""
    own = databases.committing
    own.execute(DATA_SOURCE, f"DROP TABLE IF EXISTS {TABLE}", ())
    own.execute(DATA_SOURCE, f"CREATE TABLE {TABLE} (NUMBER INTEGER PRIMARY KEY, THING VARCHAR(20))", ())
    values = ", ".join(f"({number}, 'thing {number}')" for number in range(ROWS))
    own.execute(DATA_SOURCE, f"INSERT INTO {TABLE} (NUMBER, THING) VALUES {values}", ())  # noqa: S608
