"""Parameters: `$(name)` in properties, with other values in other environments."""

from pathlib import Path

import pytest

from heliograph.errors import Problem
from heliograph.flow.errors import DefinitionProblem
from heliograph.flow.loading.flow_loading import load_flow
from small_flows import flow_under_test, write_flow

FLOW = """flow: test
parameters: {queue: IN, tries: 3, where: east}
nodes:
  in: {type: QueueInput, queue: "$(queue)", backout_threshold: $(tries)}
  out: {type: QueueOutput, queue: OUT.$(where).$(queue)}
connections:
  - in.out -> out
additional_instances: $(tries)
"""


def test_a_text_that_is_a_parameter_has_its_type(tmp_path: Path) -> None:
    definition = load_flow(write_flow(tmp_path, FLOW))
    assert definition.nodes["in"].properties["backout_threshold"] == 3
    assert definition.nodes["out"].properties["queue"] == "OUT.east.IN"
    assert definition.settings == {"additional_instances": 3}


def test_an_environment_has_other_values(tmp_path: Path) -> None:
    folder = write_flow(tmp_path, FLOW, parameters___test__yaml="queue: TEST\ntries: 1\n")
    definition = load_flow(folder, "test")
    assert definition.parameters == {"queue": "TEST", "tries": 1, "where": "east"}
    assert definition.nodes["in"].properties["queue"] == "TEST"


def test_values_that_are_handed_in_come_first(tmp_path: Path) -> None:
    folder = write_flow(tmp_path, FLOW, parameters___test__yaml="queue: TEST\n")
    assert load_flow(folder, "test", {"queue": "MINE"}).nodes["in"].properties["queue"] == "MINE"


def test_only_what_the_flow_declares_can_be_given(tmp_path: Path) -> None:
    folder = write_flow(tmp_path, FLOW, parameters___test__yaml="qeue: TEST\n")
    with pytest.raises(
        DefinitionProblem, match=r"parameters/test.yaml:1:1: .* no parameter qeue \(did you mean queue\?\)"
    ):
        load_flow(folder, "test")


def test_an_environment_has_to_be_there(tmp_path: Path) -> None:
    folder = write_flow(tmp_path, FLOW, parameters___prod__yaml="queue: TEST\n")
    with pytest.raises(Problem, match="there is no environment test; there are: prod"):
        load_flow(folder, "test")


def test_a_value_of_the_wrong_type_is_told_where_it_is_used(tmp_path: Path) -> None:
    with pytest.raises(
        DefinitionProblem, match=r"flow.yaml:4:45: backout_threshold: expected a whole number, found 'x'"
    ):
        load_flow(write_flow(tmp_path, FLOW), parameters={"tries": "x"})


def test_external_variables_of_esql_are_parameters(tmp_path: Path) -> None:
    text = """flow: test
parameters: {greeting: hello}
nodes:
  in: {type: QueueInput, queue: Q}
  work: {type: Compute, esql: work.esql}
  out: {type: QueueOutput, queue: OUT}
connections:
  - in.out -> work
  - work.out -> out
"""
    esql = """
CREATE COMPUTE MODULE Work
  DECLARE greeting EXTERNAL CHARACTER 'nothing';
  CREATE FUNCTION Main() RETURNS BOOLEAN
  BEGIN
    SET OutputRoot.XMLNSC.Greeting = greeting;
    RETURN TRUE;
  END;
END MODULE;
"""
    with flow_under_test(tmp_path, text, work__esql=esql, options={"parameters": {"greeting": "good day"}}) as flow:
        flow.send("m")
        assert flow.queue("OUT")[0].body == b"<Greeting>good day</Greeting>"


def test_a_parameter_in_braces_is_told(tmp_path: Path) -> None:
    folder = write_flow(tmp_path, FLOW.replace("OUT.$(where).$(queue)", '"OUT.${where}"'))
    (warning,) = load_flow(folder).warnings
    assert "${where} is taken as it stands; the parameter is $(where)" in str(warning)
