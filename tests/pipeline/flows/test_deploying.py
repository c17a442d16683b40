"""Flows that cannot run on Spark are refused by name, before anything runs."""

import pytest

from flow_process import write_flow
from heliograph.errors import Problem
from heliograph.flow.loading.flow_loading import load_flow
from heliograph.pipeline.flows.deploying import (
    check_deployable,
    check_folder_suffices,
    sends_messages_only,
    written_sources,
)
from heliograph.pipeline.flows.routes import Routes

IN, OUT = "in: {type: QueueInput, queue: IN}\n", "out: {type: QueueOutput, queue: OUT}\n"
ONE = "spark: {single_partition: yes}"
SHARED = """
CREATE FILTER MODULE Any
  DECLARE Seen SHARED INTEGER 0;
  CREATE FUNCTION Main() RETURNS BOOLEAN BEGIN SET Seen = Seen + 1; RETURN TRUE; END;
END MODULE;
"""


@pytest.fixture
def deploy(tmp_path):
    def check(nodes, wires, settings="", files=None, routes=(), input_node=None):
        definition = load_flow(write_flow(tmp_path / "tested", nodes, wires, settings, files or {}))
        return check_deployable(definition, input_node, Routes.parse(routes))

    return check


@pytest.fixture
def refused(deploy):
    def check(*words, **more):
        with pytest.raises(Problem) as problem:
            deploy(*words, **more)
        return str(problem.value)

    return check


def test_a_flow_of_a_queue_or_a_topic_is_deployed(deploy):
    assert deploy(IN + OUT, "in.out -> out") == "in"
    assert deploy("from: {type: TopicInput, topic: a/#}\n" + OUT, "from.out -> out") == "from"


def test_ordered_inputs_are_refused(refused):
    text = refused("in: {type: QueueInput, queue: IN, order: by-queue}\n" + OUT, "in.out -> out")
    assert "flow tested cannot run on Spark" in text
    assert "QueueInput in: order: by-queue cannot be kept by several tasks at once" in text
    assert "say `spark: {single_partition: yes}` in the flow file" in text


def test_ordered_inputs_run_in_one_partition(deploy):
    assert deploy("in: {type: QueueInput, queue: IN, order: by-user}\n" + OUT, "in.out -> out", ONE)


SHARING = ("any: {type: Filter, esql: any.esql, module: Any}\n", "in.out -> any\nany.true -> out")


def test_shared_variables_are_refused_by_name(refused):
    text = refused(IN + SHARING[0] + OUT, SHARING[1], files={"any.esql": SHARED})
    assert "any.esql:3: the SHARED variable Seen would have another value in each task" in text


def test_shared_variables_live_in_one_partition(deploy):
    assert deploy(IN + SHARING[0] + OUT, SHARING[1], ONE, {"any.esql": SHARED})


@pytest.mark.parametrize(
    ("nodes", "wires", "told"),
    [
        ("in: {type: HttpInput, path: /x}\n" + OUT, "in.out -> out", "HttpInput in: its messages are requests"),
        ("in: {type: FileInput, directory: d}\n" + OUT, "in.out -> out", "FileInput in: its messages come from files"),
        (IN + "r: {type: HttpReply}\n", "in.out -> r", "HttpReply r: nobody waits for an answer on Spark"),
        (
            IN + "f: {type: FileOutput, directory: d, name: n, mode: append}\n",
            "in.out -> f",
            "FileOutput f: mode: append would add records again when a task is repeated",
        ),
    ],
)
def test_what_spark_cannot_do_is_refused(refused, nodes, wires, told):
    assert told in refused(nodes, wires)


def test_a_file_that_grows_may_have_a_route(deploy):
    nodes = IN + "f: {type: FileOutput, directory: d, name: n, mode: append}\n"
    assert deploy(nodes, "in.out -> f", routes=["f=parquet:out"])


def test_coordinated_flows_are_refused(refused):
    text = refused(IN + OUT, "in.out -> out", "coordinated: true")
    assert "coordinated: true is not possible" in text
    assert "done again if the task is repeated" in text


def test_everything_is_told_at_once(refused):
    nodes = "in: {type: QueueInput, queue: IN, order: by-queue}\nr: {type: HttpReply}\n"
    text = refused(nodes, "in.out -> r", "coordinated: true")
    assert len(text.splitlines()) == 4


def test_of_several_inputs_one_is_named(deploy, refused):
    nodes = IN + "other: {type: QueueInput, queue: OTHER}\n" + OUT
    wires = "in.out -> out\nother.out -> out"
    assert "has several inputs; say which one gets the stream: in, other" in refused(nodes, wires)
    assert deploy(nodes, wires, input_node="other") == "other"
    assert "has no input othre (did you mean other?)" in refused(nodes, wires, input_node="othre")


def test_nodes_that_the_stream_cannot_reach_do_not_matter(deploy):
    nodes = IN + OUT + "web: {type: HttpInput, path: /x}\nr: {type: HttpReply}\n"
    assert deploy(nodes, "in.out -> out\nweb.out -> r") == "in"


def test_routes_are_for_outputs(refused):
    text = refused(IN + OUT, "in.out -> out", routes=["uot=queue:A"])
    assert "there is a route for uot (did you mean out?), which is no output; outputs are: dead_letters, out" in text


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ("spark: {one_partition: yes}", "spark has no one_partition (did you mean single_partition?)"),
        ("spark: {single_partition: maybe}", "spark: single_partition is yes or no, not 'maybe'"),
        ("spark: yes", "expected {single_partition: yes} under spark, found 'yes'"),
    ],
)
def test_what_a_flow_says_of_spark_is_checked_when_it_is_loaded(refused, settings, told):
    assert told in refused(IN + OUT, "in.out -> out", settings)


@pytest.mark.parametrize(
    ("statement", "sources"),
    [
        ("RETURN EXISTS(SELECT T.A FROM Database.T AS T);", set()),
        ("INSERT INTO Database.T (A) VALUES (1); RETURN TRUE;", {"", "DB"}),
        ("DELETE FROM Database.OTHER.S.T AS T; RETURN TRUE;", {"OTHER"}),
        ("PASSTHRU 'DROP TABLE T' TO Database.OTHER; RETURN TRUE;", {"OTHER"}),
    ],
)
def test_sources_that_a_flow_changes_are_known(tmp_path, statement, sources):
    esql = f"CREATE DATABASE MODULE M CREATE FUNCTION Main() RETURNS BOOLEAN BEGIN {statement} END; END MODULE;"
    nodes = IN + "m: {type: Database, esql: m.esql, module: M, data_source: DB}\n"
    folder = write_flow(tmp_path / "f", nodes, "in.out -> m", "data_sources: {DB: , OTHER: }", {"m.esql": esql})
    assert written_sources(load_flow(folder)) == sources


FILE = "file: {type: FileOutput, directory: out, name: one.txt}\n"


@pytest.mark.parametrize(
    ("nodes", "wires", "routes", "only"),
    [
        (IN + OUT, "in.out -> out", (), True),
        (IN + OUT, "in.out -> out", ("out=topic:a", "dead_letters=queue:BAD"), True),
        (IN + OUT, "in.out -> out", ("out=parquet:a",), False),
        (IN + OUT, "in.out -> out", ("dead_letters=parquet:a",), False),
        (IN + FILE, "in.out -> file", (), False),
        (IN + FILE, "in.out -> file", ("file=topic:a",), True),
    ],
)
def test_whether_all_that_comes_out_of_a_flow_are_messages(tmp_path, nodes, wires, routes, only):
    definition = load_flow(write_flow(tmp_path / "tested", nodes, wires, "", {}))
    assert sends_messages_only(definition, "in", Routes.parse(routes)) is only


@pytest.mark.parametrize(
    ("routes", "told"),
    [
        ([], "from: out, dead_letters;"),
        (["out=topic:x", "dead_letters=parquet:bad"], "from: out;"),
        (["out=parquet:good"], "from: dead_letters;"),
        (["out=parquet:good", "dead_letters=table:sqlite:///bad.db#BAD"], ""),
    ],
)
def test_a_folder_is_enough_for_what_goes_to_files_and_tables(tmp_path, routes, told):
    definition = load_flow(write_flow(tmp_path / "tested", IN + OUT + FILE, "in.out -> out\nin.out -> file", "", {}))
    if told:
        with pytest.raises(Problem, match=told):
            check_folder_suffices(definition, "in", Routes.parse(routes), "/data")
    else:
        check_folder_suffices(definition, "in", Routes.parse(routes), "/data")
