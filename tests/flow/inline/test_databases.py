"""Flows with databases: changes go with the messages."""

import pytest

from heliograph.flow.engine.database import Databases, DataSources
from running import servers
from running_flows import QueueFixture, free_port, soon, stored_config

NODES = """
in: {type: QueueInput, queue: IN, domain: XML}
note: {type: Database, esql: note.esql, module: Note, data_source: stock}
check: {type: Filter, esql: note.esql, module: Check}
out: {type: QueueOutput, queue: OUT}
"""
WIRES = "in.out -> note\nnote.out -> check\ncheck.true -> out"
FILES = {
    "note.esql": """
CREATE DATABASE MODULE Note
    CREATE FUNCTION Main() RETURNS BOOLEAN BEGIN
        INSERT INTO Database.notes (number) VALUES (CAST(Body.n AS INTEGER));
        RETURN TRUE;
    END;
END MODULE;
CREATE FILTER MODULE Check
    CREATE FUNCTION Main() RETURNS BOOLEAN BEGIN
        IF CAST(Body.n AS INTEGER) = 13 THEN
            THROW USER EXCEPTION MESSAGE 2951 VALUES('thirteen');
        END IF;
        RETURN TRUE;
    END;
END MODULE;
"""
}


def letters(count: int) -> list[str]:
    return [f"<n>{number}</n>" for number in range(count)]


@pytest.fixture(params=["sqlite", "postgresql"])
def stock(request, tmp_path):
    """A table of notes: the setting for the flow, and a look at what is in it."""
    url = None if request.param == "sqlite" else request.getfixturevalue("postgresql")
    databases = Databases(DataSources({"stock": url}, tmp_path / "state"))
    databases.committing.execute("stock", "DROP TABLE IF EXISTS notes", ())
    databases.committing.execute("stock", "CREATE TABLE notes (number INTEGER UNIQUE)", ())
    yield Stock(databases, f"data_sources: {{stock: {'null' if url is None else repr(url)}}}")
    databases.close()


class Stock:
    def __init__(self, databases: Databases, settings: str) -> None:
        self.settings = settings
        self.databases = databases

    def numbers(self) -> list[int]:
        return [row[0] for row in self.databases.query("stock", "SELECT number FROM notes ORDER BY number", ()).rows]


def test_changes_are_committed_with_the_messages(flow, queue_fixture, stock):
    queue_fixture.put("IN", *letters(10))
    with flow(NODES, WIRES, stock.settings, files=FILES):
        assert queue_fixture.bodies("OUT", 10) == letters(10)
    assert stock.numbers() == list(range(10))


def test_changes_of_a_message_that_fails_are_undone_and_those_of_its_neighbours_stay(flow, queue_fixture, stock):
    queue_fixture.put("IN", *letters(20))
    with flow(NODES, WIRES, stock.settings, files=FILES) as running:
        queue_fixture.get("OUT", 19)
        assert queue_fixture.bodies("SYSTEM.DEAD.LETTER.QUEUE") == ["<n>13</n>"]
    assert stock.numbers() == [number for number in range(20) if number != 13]
    assert running.statistics.split_batches >= 1


def test_changes_that_a_node_commits_stay_when_the_message_fails(flow, queue_fixture, stock):
    nodes = NODES.replace("data_source: stock", "data_source: stock, database_transaction: commit")
    queue_fixture.put("IN", "<n>13</n>")
    with flow(nodes, WIRES, stock.settings, files=FILES):
        queue_fixture.get("SYSTEM.DEAD.LETTER.QUEUE")
    assert stock.numbers() == [13]


def test_a_database_error_fails_the_message(flow, queue_fixture, stock):
    queue_fixture.put("IN", "<n>1</n>", "<n>1</n>", "<n>2</n>")
    with flow(NODES, WIRES, stock.settings, files=FILES):
        queue_fixture.get("OUT", 2)
        (letter,) = queue_fixture.get("SYSTEM.DEAD.LETTER.QUEUE")
    assert "DatabaseException" in letter.annotations["x-opt-dead-letter-exceptions"]
    assert stock.numbers() == [1, 2]


# What a flow does itself when a statement fails

GOES_ON = """
CREATE DATABASE MODULE Note
    CREATE FUNCTION Main() RETURNS BOOLEAN BEGIN
        DECLARE n INTEGER CAST(Body.n AS INTEGER);
        INSERT INTO Database.notes (number) VALUES (n);
        INSERT INTO Database.notes (number) VALUES (n);
        IF SQLCODE = 0 THEN THROW USER EXCEPTION MESSAGE 2951 VALUES('it is there twice'); END IF;
        INSERT INTO Database.notes (number) VALUES (1000 + n);
        RETURN TRUE;
    END;
END MODULE;
"""
STRAIGHT_ON = "in.out -> note\nnote.out -> out"


def test_a_flow_that_goes_on_after_an_error_keeps_what_it_did_before(flow, queue_fixture, stock):
    nodes = NODES.replace("data_source: stock", "data_source: stock, throw_database_errors: no").replace(
        "check: {type: Filter, esql: note.esql, module: Check}\n", ""
    )
    sent = [f"<n>{2 * number}</n>" for number in range(60)]
    queue_fixture.put("IN", *sent)
    with flow(nodes, STRAIGHT_ON, stock.settings, files={"note.esql": GOES_ON}):
        assert queue_fixture.bodies("OUT", len(sent)) == sent
    assert stock.numbers() == [*range(0, 120, 2), *range(1000, 1120, 2)]


# Coordinated


@pytest.fixture
def coordinated(postgresql, tmp_path):
    databases = Databases(DataSources({"stock": postgresql}, tmp_path / "state"))
    databases.committing.execute("stock", "DROP TABLE IF EXISTS notes", ())
    databases.committing.execute("stock", "CREATE TABLE notes (number INTEGER)", ())
    yield Stock(databases, f"data_sources: {{stock: '{postgresql}'}}\ncoordinated: yes\ncommit_count: 7")
    databases.close()


def prepared(stock: Stock) -> list[str]:
    return stock.databases.connection("stock").prepared("")


def test_coordinated_messages_and_rows_are_committed_together(flow, queue_fixture, coordinated):
    queue_fixture.put("IN", *letters(50))
    with flow(NODES, WIRES, coordinated.settings, files=FILES):
        queue_fixture.get("OUT", 49)
        queue_fixture.get("SYSTEM.DEAD.LETTER.QUEUE")
    assert coordinated.numbers() == [number for number in range(50) if number != 13]
    assert prepared(coordinated) == []


def test_a_coordinated_flow_can_be_stopped_and_started(flow, queue_fixture, coordinated):
    for turn in range(2):
        queue_fixture.put("IN", f"<n>{turn}</n>")
        with flow(NODES, WIRES, coordinated.settings, files=FILES):
            queue_fixture.get("OUT")
    assert coordinated.numbers() == [0, 1]


def test_a_coordinated_flow_cannot_use_an_embedded_database(flow):
    with flow(NODES, WIRES, "data_sources: {stock: null}\ncoordinated: yes", files=FILES, check=False) as running:
        running.stop.wait(20)
    assert "data source stock is SQLite" in str(running.problem)


# Where the process of a flow dies in the two phases, and whether the unit of work is committed in the end.
DEATHS = {
    "before the databases are prepared": ("heliograph.flow.engine.database.two_phase.TwoPhase.prepare", "before"),
    "when the databases are prepared": ("heliograph.flow.engine.database.two_phase.TwoPhase.prepare", "after"),
    "when the server has committed": ("heliograph.flow.engine.database.two_phase.TwoPhase.finish", "before"),
    "when the databases are committed": ("heliograph.flow.engine.database.two_phase.TwoPhase.finish", "after"),
}


@pytest.mark.parametrize(("function", "moment"), DEATHS.values(), ids=list(DEATHS))
def test_a_flow_that_dies_between_the_phases_does_everything_once(
    flow, flow_process, url, queue_fixture, coordinated, monkeypatch, function, moment
):
    queue_fixture.put("IN", *letters(5))
    monkeypatch.setenv("FLOW_DIES", f"{function} {moment}")
    dying = flow_process(url, NODES, WIRES, coordinated.settings, FILES)
    assert dying.process.wait(20) != 0
    with flow(NODES, WIRES, coordinated.settings, files=FILES):
        assert sorted(queue_fixture.bodies("OUT", 5)) == letters(5)
        queue_fixture.put("IN", "<n>99</n>")
        assert queue_fixture.bodies("OUT") == ["<n>99</n>"]
    assert coordinated.numbers() == [0, 1, 2, 3, 4, 99]
    assert prepared(coordinated) == []


def test_a_server_that_is_killed_under_a_coordinated_flow_loses_and_doubles_nothing(
    flow_process, coordinated, tmp_path
):
    count = 200
    port = free_port()
    config = stored_config(port, tmp_path)
    url = f"amqp://127.0.0.1:{port}"
    with servers(tmp_path) as serve:
        server = serve(config)
        queue_fixture = QueueFixture(url)
        queue_fixture.put("IN", *[f"<n>{number + 100}</n>" for number in range(count)])
        flow_process(url, NODES, WIRES, coordinated.settings, FILES)
        for part in (1, 2):
            soon(lambda part=part: len(coordinated.numbers()) >= part * count // 4)
            server.kill()
            queue_fixture.close()
            server = serve(config)
            queue_fixture = QueueFixture(url)
        bodies = queue_fixture.bodies("OUT", count)
        assert (
            queue_fixture.rest("OUT"),
            queue_fixture.rest("IN"),
            queue_fixture.rest("SYSTEM.DEAD.LETTER.QUEUE"),
        ) == ([], [], [])
        queue_fixture.close()
    expected = [number + 100 for number in range(count)]
    assert sorted(int(body.removeprefix("<n>").removesuffix("</n>")) for body in bodies) == expected
    soon(lambda: not prepared(coordinated))
    assert coordinated.numbers() == expected


@pytest.mark.parametrize("how", ["plain", "coordinated"])
def test_messages_wait_for_a_database_that_is_restarted(
    flow, queue_fixture, coordinated, postgresql_server, caplog, how
):
    settings = coordinated.settings if how == "coordinated" else coordinated.settings.replace("coordinated: yes\n", "")
    with flow(NODES, WIRES, settings, files=FILES):
        queue_fixture.put("IN", "<n>1</n>")
        queue_fixture.get("OUT")
        postgresql_server.stop()
        try:
            queue_fixture.put("IN", "<n>2</n>", "<n>3</n>")
            soon(lambda: "waiting for a database" in caplog.text)
        finally:
            postgresql_server.start()
        assert queue_fixture.bodies("OUT", 2) == ["<n>2</n>", "<n>3</n>"]
    coordinated.databases.reconnect("stock")
    assert coordinated.numbers() == [1, 2, 3]
    assert queue_fixture.rest("SYSTEM.DEAD.LETTER.QUEUE") == []
