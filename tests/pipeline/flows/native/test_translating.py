"""Which filters Spark is asked to decide, and what of a flow they decide; without Spark."""

import pytest

from heliograph.flow.inline.conversion import MQMD_PROPERTIES
from heliograph.pipeline.flows.native.documents import STRANGE, Document
from heliograph.pipeline.flows.native.dropping import dropped
from heliograph.pipeline.flows.native.verdicts import FALSE
from pipeline.flows.native.filter_flows import ONE, flow_of

PYTHON_DECIDES = (
    ("Root.XMLNSC.M.a = 1", "another domain"),
    ("Root.JSON.Data.a[1] = 1", "an index"),
    ("Root.JSON.Data.*[1] = 1", "any name"),
    ("Body.Data.list.Item = 1", "items of an array"),
    ('Body.Data."it\'s" = 1', "a name that a path cannot have"),
    ("Body.Data.a + 1 = 2", "arithmetic"),
    ("UPPER(Body.Data.a) = 'X'", "a function"),
    ("CAST(Body.Data.a AS INTEGER) = 1", "a cast that may change the value"),
    ("CAST(Body.Data.a AS DECIMAL(5,2)) = 1", "a cast that may round"),
    ("Body.Data.a > 1234567890.123456", "more digits than are compared alike"),
    ("Body.Data.a > 1E300", "an exponent"),
    ("Body.Data.a = DATE '2026-01-01'", "a date"),
    ("Body.Data.a LIKE Body.Data.b", "a pattern from the message"),
    ("Body.Data.a LIKE 'a\\%'", "a pattern with an escape"),
    ("Body.Data.a IN (1, Body.Data.b)", "a choice from the message"),
    ("'a' = 1", "constants of different types"),
    ("Root.Properties.Topic = 't'", "what is not in the payload"),
    ("Environment.a = 1", "another tree"),
    ("DECLARE x INTEGER 1; RETURN Body.Data.a = x;", "a variable"),
    ("SET Environment.Variables.a = 1; RETURN Body.Data.a = 1;", "a side effect"),
    ("THROW USER EXCEPTION MESSAGE 1; RETURN TRUE;", "an exception"),
    ("IF Body.Data.a = 1 THEN RETURN FALSE; END IF;", "an end without RETURN"),
)


def found(folder, condition, declarations="", flow=ONE):
    return dropped(flow_of(folder, condition, declarations, flow), "in", Document())


@pytest.mark.parametrize(("condition", "why"), PYTHON_DECIDES, ids=[why for _, why in PYTHON_DECIDES])
def test_what_is_not_simple_is_for_python(tmp_path, condition, why):
    assert found(tmp_path, condition).when == FALSE


@pytest.mark.parametrize(
    "declarations",
    ["DECLARE n INTEGER 1/0;", "DECLARE n SHARED INTEGER 1;", "DECLARE a NAME 'b';", "DECLARE n EXTERNAL INTEGER 'x';"],
)
def test_a_module_that_declares_more_than_constants_is_for_python(tmp_path, declarations):
    assert found(tmp_path, "Body.Data.a = 1", declarations).when == FALSE


def test_a_parameter_of_the_flow_is_a_constant(tmp_path):
    limited = found(tmp_path, "Body.Data.a > limit", "DECLARE limit EXTERNAL DECIMAL 3;")
    assert "CAST('95' AS DECIMAL(30,15))" in limited.when
    assert limited.filters == ("check",)


def test_a_text_cannot_end_the_sql_around_it(tmp_path):
    quoted = found(tmp_path, "Body.Data.a = 'x'' OR TRUE --'").when
    assert "X'{}'".format(b"x' OR TRUE --".hex()) in quoted
    assert "OR TRUE --" not in quoted


def test_a_filter_whose_ways_all_lead_to_outputs_is_for_python(tmp_path):
    flow = ONE + "  - check.false -> out\n  - check.unknown -> out\n"
    assert found(tmp_path, "Body.Data.a = 1", flow=flow).when == FALSE


def test_a_message_that_has_another_way_is_not_dropped(tmp_path):
    assert found(tmp_path, "Body.Data.a = 1", flow=ONE + "  - in.out -> out\n").when == FALSE


def test_nodes_that_may_do_something_are_never_native(tmp_path):
    trace = "nodes:\n  seen: {type: Trace, destination: user, pattern: x}"
    flow = ONE.replace("nodes:", trace).replace("in.out -> check", "in.out -> seen\n  - seen.out -> check")
    assert found(tmp_path, "Body.Data.a = 1", flow=flow).when == FALSE


def test_properties_that_change_how_a_payload_is_read_are_told_by_how_their_names_begin():
    assert all(name.startswith(STRANGE) for name in MQMD_PROPERTIES)


def test_only_json_is_native(tmp_path):
    assert found(tmp_path, "Body.Data.a = 1", flow=ONE.replace("JSON", "XMLNSC")).when == FALSE


def test_filters_behind_each_other_decide_together(tmp_path):
    second = "nodes:\n  order: {type: FlowOrder}\n  again: {type: Filter, esql: check.esql}"
    flow = ONE.replace("nodes:", second).replace(
        "check.true -> out", "check.true -> order\n  - order.first -> again\n  - again.true -> out"
    )
    assert found(tmp_path, "Body.Data.a = 1", flow=flow).filters == ("check", "again")


def test_a_filter_that_drops_one_text_of_many_is_not_worth_it(tmp_path):
    assert found(tmp_path, "COALESCE(Body.Data.mode, 'run') <> 'test'").seldom
    assert not found(tmp_path, "Body.Data.mode = 'test'").seldom
    assert not found(tmp_path, "COALESCE(Body.Data.mode, 'test') <> 'test'").seldom
    assert not found(tmp_path, "Body.Data.mode <> 'test' AND Body.Data.temperature > 95").seldom
