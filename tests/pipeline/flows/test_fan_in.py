"""Which flows that aggregate can run on Spark, and what is said of others."""

import pytest

from flow_process import write_flow
from heliograph.errors import Problem
from heliograph.flow.loading.flow_loading import load_flow
from heliograph.pipeline.flows.aggregation.fan_in import FanIn, fan_ins
from heliograph.pipeline.flows.deploying import check_deployable, check_folder_suffices, reachable
from heliograph.pipeline.flows.routes import Routes

CONTROL = "c: {type: AggregateControl, aggregate: A, timeout: 5}\n"
ASK = """in: {type: QueueInput, queue: IN}
ask: {type: QueueOutput, queue: ASK, new_message_id: yes}
asked: {type: AggregateRequest, folder: F}
"""
REPLIES = "replies: {type: QueueInput, queue: REPLIES}\n"
COLLECT = "collect: {type: AggregateReply, aggregate: A}\nout: {type: QueueOutput, queue: OUT}\n"
WIRES = ["in.out -> c", "c.out -> ask", "ask.out -> asked", "replies.out -> collect", "collect.out -> out"]


@pytest.fixture
def load(tmp_path):
    def flow(nodes, wires, settings=""):
        return load_flow(write_flow(tmp_path / "tested", nodes, "\n".join(wires), settings, {}))

    return flow


@pytest.fixture
def refused(load):
    def check(*words, input_node=None, **more):
        with pytest.raises(Problem) as problem:
            check_deployable(load(*words, **more), input_node, Routes())
        return str(problem.value)

    return check


def test_the_input_that_asks_gets_the_stream_and_the_other_one_the_replies(load):
    flow = load(CONTROL + ASK + REPLIES + COLLECT, WIRES)
    assert check_deployable(flow, None, Routes()) == "in"
    assert fan_ins(flow, reachable(flow, "in").values()) == [FanIn("A", "replies", "collect", 5.0)]


def test_outputs_behind_the_replies_can_have_routes(load):
    flow = load(CONTROL + ASK + REPLIES + COLLECT, WIRES)
    assert check_deployable(flow, None, Routes.parse(["out=topic:x", "ask=queue:y"])) == "in"


def test_replies_cannot_come_from_a_stream_of_the_user(refused):
    text = refused(CONTROL + ASK + REPLIES + COLLECT, WIRES, input_node="replies")
    assert "AggregateReply collect: its input cannot get a stream" in text


def test_a_set_has_to_end_at_some_time(refused):
    text = refused(CONTROL.replace(", timeout: 5", "") + ASK + REPLIES + COLLECT, WIRES)
    assert "AggregateControl c: timeout: 0 would have Spark keep sets for ever" in text


def test_nobody_waits_for_control_messages(refused):
    nodes = CONTROL + ASK + REPLIES + COLLECT + "told: {type: QueueOutput, queue: TOLD}\n"
    assert "AggregateControl c: its control terminal is connected" in refused(nodes, [*WIRES, "c.control -> told"])


def test_both_halves_have_to_be_in_one_flow(refused):
    text = refused(CONTROL + ASK, WIRES[:3])
    assert "AggregateControl c: on Spark, the flow has to have one AggregateReply for aggregate A, found 0" in text


def test_replies_come_to_one_input(refused):
    nodes = CONTROL + ASK + REPLIES + REPLIES.replace("replies", "others") + COLLECT
    text = refused(nodes, [*WIRES, "others.out -> collect"], input_node="in")
    assert "AggregateReply collect: on Spark, one QueueInput or TopicInput has to lead to it, found: " in text


def test_no_aggregation_follows_another(refused):
    nodes = CONTROL + ASK + REPLIES + COLLECT
    text = refused(nodes, [*WIRES, "collect.timeout -> c"], input_node="in")
    assert "AggregateControl c: it is reached by replies of A; on Spark, no aggregation can follow another" in text


def test_a_flow_that_aggregates_is_not_kept_to_one_partition(refused):
    text = refused(CONTROL + ASK + REPLIES + COLLECT, WIRES, settings="spark: {single_partition: yes}")
    assert "spark: {single_partition: yes} is not possible for a flow that aggregates" in text


def test_a_flow_that_aggregates_needs_a_server_and_not_only_its_folder(load):
    with pytest.raises(Problem, match="flow tested aggregates, for which the server makes streams"):
        check_folder_suffices(load(CONTROL + ASK + REPLIES + COLLECT, WIRES), "in", Routes(), "/data")
