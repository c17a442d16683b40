"""What Spark's workers do with batches of messages; called here without Spark."""

import sqlite3
from datetime import datetime

import pytest

from flow_process import write_flow
from heliograph.errors import Problem
from heliograph.flow.loading.flow_loading import load_flow
from heliograph.pipeline.flows import processing
from heliograph.pipeline.flows.deploying import check_deployable
from heliograph.pipeline.flows.effect_rows import END
from heliograph.pipeline.flows.processing import FlowJob
from heliograph.pipeline.flows.routes import Routes
from heliograph.pipeline.flows.sending import Readable, Sending
from pipeline.flows.stream_rows import as_rows, stream_rows

BAD = b"no xml"
WIRES = "in.out -> check\ncheck.true -> out"
CHECK = """
CREATE FILTER MODULE Check
  CREATE FUNCTION Main() RETURNS BOOLEAN BEGIN RETURN Body.A.B = 'x'; END;
END MODULE;
"""


@pytest.fixture
def job(tmp_path):
    """The job of a flow: `job(nodes, connections)`; what it makes of messages is `run(job, messages)`."""

    def make(nodes="", wires=WIRES, settings="", files=None, routes=None, **more):
        inputs = "" if "in:" in nodes else "in: {type: QueueInput, queue: IN, domain: XMLNSC}\n"
        usual = "out: {type: QueueOutput, queue: OUT}\n"
        usual += "check: {type: Filter, esql: check.esql, module: Check}\n" if "check" in wires else ""
        folder = write_flow(tmp_path / "flow", inputs + nodes + usual, wires, settings, files or {})
        (folder / "check.esql").write_text(CHECK)
        definition = load_flow(folder)
        entry = check_deployable(definition, None, routes or Routes())
        sending = Readable() if routes is None else Sending(routes, {"in": "IN"})
        return FlowJob.of(definition, entry, str(tmp_path / "state"), sending=sending, **more)

    return make


def run(job, *messages):
    return as_rows(job(iter([stream_rows(messages)])))


def outputs(rows):
    return [(row["offset"], row["kind"], row["destination"], row["payload"]) for row in rows]


GOOD = b"<A><B>x</B></A>"


class TestRows:
    def test_each_output_is_a_row_with_the_place_of_its_message(self, job):
        rows = run(job(), GOOD, b"<A/>", GOOD)
        assert outputs(rows) == [(0, "queue", "OUT", GOOD), (2, "queue", "OUT", GOOD)]
        assert [(row["stream"], row["partition"], row["node"], row["index"]) for row in rows] == [
            ("s", 0, "out", 0)
        ] * 2

    def test_all_that_comes_of_a_message_is_counted(self, job):
        rows = run(job("more: {type: QueueOutput, queue: MORE}\n", WIRES + "\ncheck.true -> more"), GOOD)
        assert [(row["index"], row["destination"]) for row in rows] == [(0, "OUT"), (1, "MORE")]

    def test_identifiers_that_the_flow_makes_are_the_same_when_a_task_is_repeated(self, job):
        made = job()
        first, again = run(made, GOOD, GOOD), run(made, GOOD, GOOD)
        assert [row["message_id"] for row in first] == [row["message_id"] for row in again]
        assert first[0]["message_id"] != first[1]["message_id"]

    def test_more_messages_than_a_chunk_come_out_in_order(self, job, monkeypatch):
        monkeypatch.setattr(processing, "CHUNK", 7)
        assert [row["offset"] for row in run(job(), *[GOOD] * 50)] == list(range(50))

    def test_a_flow_is_compiled_once_in_a_process(self, job):
        made = job()
        run(made, GOOD)
        worker = processing.worker_of(made)
        run(made, GOOD)
        assert processing.worker_of(made) is worker


class TestFailures:
    def test_a_message_that_fails_is_a_dead_letter_with_reasons(self, job):
        (row,) = run(job(), BAD)
        assert outputs([row]) == [(0, "dead-letter", "SYSTEM.DEAD.LETTER.QUEUE", BAD)]
        assert "expected well-formed XML" in row["reason"]
        assert row["exceptions"].startswith("RecoverableException 2230 in flow.check")

    def test_its_neighbours_are_done(self, job):
        assert [row["kind"] for row in run(job(), GOOD, BAD, GOOD)] == ["queue", "dead-letter", "queue"]

    def test_a_message_outside_of_a_unit_of_work_is_not_thrown_away(self, job):
        (row,) = run(job("in: {type: QueueInput, queue: IN, domain: XMLNSC, transaction: no}\n"), BAD)
        assert row["kind"] == "dead-letter"

    def test_the_threshold_counts_as_reached(self, job):
        made = job("in: {type: QueueInput, queue: IN, domain: XMLNSC, backout_threshold: 5, backout_queue: FAILED}\n")
        (row,) = run(made, BAD)
        assert outputs([row]) == [(0, "dead-letter", "FAILED", BAD)]
        assert "expected well-formed XML" in row["reason"]

    @pytest.mark.parametrize("threshold", [0, 1, 4])
    def test_the_failure_path_gets_its_chance(self, job, threshold):
        nodes = f"in: {{type: QueueInput, queue: IN, domain: XMLNSC, backout_threshold: {threshold}}}\n"
        nodes += "put-away: {type: QueueOutput, queue: AWAY}\n"
        assert outputs(run(job(nodes, WIRES + "\nin.failure -> put-away"), BAD)) == [(0, "queue", "AWAY", BAD)]

    def test_a_failure_path_that_fails_ends_in_a_dead_letter(self, job):
        nodes = "throw: {type: Throw, text: still no good}\n"
        (row,) = run(job(nodes, WIRES + "\nin.failure -> throw"), BAD)
        assert row["kind"] == "dead-letter"
        assert "still no good" in row["reason"]


DATABASE = """
CREATE DATABASE MODULE Note
  CREATE FUNCTION Main() RETURNS BOOLEAN BEGIN
    INSERT INTO Database.SEEN (B) VALUES (Body.A.B);
    IF Body.A.B = 'bad' THEN THROW USER EXCEPTION MESSAGE 1 VALUES ('bad'); END IF;
    RETURN TRUE;
  END;
END MODULE;
CREATE FILTER MODULE Known
  CREATE FUNCTION Main() RETURNS BOOLEAN BEGIN
    RETURN EXISTS(SELECT S.B FROM Database.SEEN AS S WHERE S.B = Body.A.B);
  END;
END MODULE;
"""


class TestDatabases:
    @pytest.fixture
    def seen(self, tmp_path):
        """What the table has in it."""
        file = tmp_path / "seen.db"
        with sqlite3.connect(file) as connection:
            connection.execute("CREATE TABLE SEEN (B TEXT)")

        def rows():
            with sqlite3.connect(file) as connection:
                return sorted(value for (value,) in connection.execute("SELECT B FROM SEEN"))

        rows.settings = f"data_sources: {{DB: 'sqlite:///{file}'}}"
        rows.file = file
        return rows

    def test_changes_of_what_failed_are_undone_and_all_others_are_there(self, job, seen):
        made = job(
            "note: {type: Database, esql: note.esql, module: Note, data_source: DB}\n",
            "in.out -> note\nnote.out -> out",
            seen.settings,
            {"note.esql": DATABASE},
        )
        rows = run(made, b"<A><B>1</B></A>", b"<A><B>bad</B></A>", b"<A><B>2</B></A>")
        assert [row["kind"] for row in rows] == ["queue", "dead-letter", "queue"]
        assert seen() == ["1", "2"]

    def known(self, job, seen, **more):
        nodes = "known: {type: Filter, esql: note.esql, module: Known, data_source: DB}\n"
        only_reads = DATABASE[DATABASE.index("CREATE FILTER") :]
        return job(nodes, "in.out -> known\nknown.true -> out", seen.settings, {"note.esql": only_reads}, **more)

    def test_answers_are_kept_if_the_pipeline_says_so(self, job, seen):
        made = self.known(job, seen, lookup_cache=10)
        assert run(made, GOOD) == []
        with sqlite3.connect(seen.file) as connection:
            connection.execute("INSERT INTO SEEN VALUES ('x')")
        assert run(made, GOOD) == []  # as it was a moment ago

    def test_answers_are_not_kept_otherwise(self, job, seen):
        made = self.known(job, seen)
        assert run(made, GOOD) == []
        with sqlite3.connect(seen.file) as connection:
            connection.execute("INSERT INTO SEEN VALUES ('x')")
        assert len(run(made, GOOD)) == 1

    def test_answers_of_a_source_that_the_flow_changes_are_never_kept(self, job, seen):
        nodes = "note: {type: Database, esql: note.esql, module: Note, data_source: DB}\n"
        nodes += "known: {type: Filter, esql: note.esql, module: Known, data_source: DB}\n"
        nodes += "new: {type: QueueOutput, queue: NEW}\n"
        wires = "in.out -> known\nknown.true -> out\nknown.false -> note\nnote.out -> new"
        made = job(nodes, wires, seen.settings, {"note.esql": DATABASE}, lookup_cache=10)
        assert [row["destination"] for row in run(made, GOOD, GOOD)] == ["NEW", "OUT"]

    def test_a_database_that_is_gone_fails_the_task_and_no_message(self, job, seen, monkeypatch):
        monkeypatch.setattr(processing, "PATIENCE", 0.2)
        made = self.known(job, seen)
        seen.file.unlink()
        seen.file.mkdir()  # so that it cannot be opened
        with pytest.raises(Problem, match=r"flow flow cannot reach a database: .*DB"):
            run(made, GOOD)


class TestSharedVariables:
    COUNT = """
    CREATE COMPUTE MODULE Count
      DECLARE Counted SHARED INTEGER 0;
      CREATE FUNCTION Main() RETURNS BOOLEAN BEGIN
        SET Counted = Counted + 1;
        SET OutputRoot.XMLNSC.N = Counted;
        RETURN TRUE;
      END;
    END MODULE;
    """

    def counting(self, job, tmp_path):
        return job(
            "count: {type: Compute, esql: count.esql, module: Count}\n",
            "in.out -> count\ncount.out -> out",
            "spark: {single_partition: yes}",
            {"count.esql": self.COUNT},
            shared=str(tmp_path / "shared"),
        )

    @pytest.fixture
    def batch(self, monkeypatch):
        """Says which micro-batch a task is of."""
        return lambda number: monkeypatch.setattr(processing, "_batch_id", lambda: number)

    def bodies(self, made):
        return [row["payload"] for row in run(made, GOOD, GOOD)]

    def test_they_go_on_in_the_next_batch(self, job, tmp_path, batch):
        made = self.counting(job, tmp_path)
        batch(0)
        assert self.bodies(made) == [b"<N>1</N>", b"<N>2</N>"]
        batch(1)
        assert self.bodies(made) == [b"<N>3</N>", b"<N>4</N>"]

    def test_a_batch_that_is_repeated_begins_with_the_same_values(self, job, tmp_path, batch):
        made = self.counting(job, tmp_path)
        for number in range(3):
            batch(number)
            self.bodies(made)
        assert self.bodies(made) == [b"<N>5</N>", b"<N>6</N>"]

    def test_they_begin_anew_outside_of_streams(self, job, tmp_path, batch):
        made = self.counting(job, tmp_path)
        batch(-1)
        self.bodies(made)
        assert self.bodies(made) == [b"<N>1</N>", b"<N>2</N>"]


class TestSending:
    def test_messages_are_as_the_server_takes_them(self, job):
        (row, end) = run(job(routes=Routes()), GOOD)
        assert (row["kind"], row["destination"], row["row"], row["payload"]) == ("queue", "OUT", 0, None)
        assert row["message"].endswith(GOOD)
        assert end["kind"] == END

    def test_a_route_leads_elsewhere(self, job):
        row, _ = run(job(routes=Routes.parse(["out=topic:orders/big"])), GOOD)
        assert (row["kind"], row["destination"]) == ("topic", "orders/big")
        assert b"topic://orders/big" in row["message"]

    def test_what_goes_to_files_stays_readable(self, job):
        row, _ = run(job(routes=Routes.parse(["out=parquet:x"])), GOOD)
        assert (row["payload"], row["message"]) == (GOOD, None)

    def test_rows_tell_the_number_of_their_message(self, job):
        rows = run(job(routes=Routes()), b"<A/>", GOOD, b"<A/>", BAD)
        assert [(row["row"], row["kind"]) for row in rows] == [(1, "queue"), (3, "dead-letter"), (None, END)]

    def test_a_dead_letter_on_a_topic_says_why(self, job):
        row, _ = run(job(routes=Routes.parse(["dead_letters=topic:failed"])), BAD)
        assert row["kind"] == "topic"
        assert b"dead_letter_reason" in row["message"]


def test_the_flow_sees_the_time_that_it_is_told(job):
    clock = """
    CREATE COMPUTE MODULE Clock
      CREATE FUNCTION Main() RETURNS BOOLEAN BEGIN
        SET OutputRoot.XMLNSC.N = CURRENT_DATE;
        RETURN TRUE;
      END;
    END MODULE;
    """
    nodes = "clock: {type: Compute, esql: clock.esql, module: Clock}\n"
    made = job(nodes, "in.out -> clock\nclock.out -> out", files={"clock.esql": clock}, now=datetime(2020, 2, 29))
    assert [row["payload"] for row in run(made, GOOD)] == [b"<N>2020-02-29</N>"]
