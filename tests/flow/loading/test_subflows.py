"""Subflows: flows that are used as nodes, with properties of their own."""

from pathlib import Path

import pytest

from heliograph.flow.errors import DefinitionProblem
from heliograph.flow.loading.flow_loading import load_flow
from small_flows import flow_under_test, write_flow

AUDIT = """subflow: audit
properties:
  queue: write.queue
  text: [fail.text]
nodes:
  in: {type: Input}
  check: {type: Python, file: check.py}
  write: {type: QueueOutput, queue: AUDIT}
  fail: {type: Throw, text: refused}
  out: {type: Output}
  bad: {type: Output}
connections:
  - in.out -> check
  - check.out -> write
  - write.out -> out
  - check.out1 -> bad
  - check.out2 -> fail
"""
CHECK = """
def process(message):
    body = message.body.first("BLOB").value
    return {b"good": "out", b"bad": "out1", b"worse": "out2"}[body], message
"""
FLOW = """
nodes:
  in: {type: QueueInput, queue: Q, transaction: no}
  audit: {type: Subflow, flow: audit}
  again: {type: Subflow, flow: audit, queue: SECOND, text: refused twice}
  good: {type: QueueOutput, queue: GOOD}
  bad: {type: QueueOutput, queue: BAD}
connections:
  - in.out -> audit.in
  - audit.out -> again
  - again.out -> good
  - audit.bad -> bad
"""
FILES = {"subflows___audit__yaml": AUDIT, "check__py": CHECK}


def test_a_subflow_is_used_like_a_node(tmp_path: Path) -> None:
    with flow_under_test(tmp_path, FLOW, **FILES) as flow:
        flow.send("good")
        flow.send("bad")
        flow.send("worse")
        assert {name: [message.body for message in put] for name, put in flow.queues.items()} == {
            "AUDIT": [b"good"],
            "SECOND": [b"good"],
            "GOOD": [b"good"],
            "BAD": [b"bad"],
        }
        assert flow.failures[0].text == "refused"
        assert "test.audit.fail" in flow.failures[0].exceptions


def test_its_nodes_are_named_by_the_node_that_uses_it(tmp_path: Path) -> None:
    definition = load_flow(write_flow(tmp_path, FLOW, **FILES))
    assert [name for name in definition.nodes if "." in name] == [
        *("audit.check", "audit.write", "audit.fail"),
        *("again.check", "again.write", "again.fail"),
    ]
    assert definition.nodes["again.write"].properties["queue"] == "SECOND"
    assert definition.nodes["again.fail"].properties["text"] == "refused twice"


def test_subflows_can_be_inside_of_subflows(tmp_path: Path) -> None:
    outer = """subflow: outer
properties: {queue: inner.queue}
nodes:
  in: {type: Input}
  inner: {type: Subflow, flow: audit}
  out: {type: Output}
connections:
  - in.out -> inner.in
  - inner.out -> out
"""
    flow = FLOW.replace("{type: Subflow, flow: audit}", "{type: Subflow, flow: outer, queue: DEEP}").replace(
        "audit.bad", "again.bad"
    )
    with flow_under_test(tmp_path, flow, subflows___outer__yaml=outer, **FILES) as under_test:
        under_test.send("good")
        assert list(under_test.queues) == ["DEEP", "SECOND", "GOOD"]


def test_an_input_may_lead_straight_to_an_output(tmp_path: Path) -> None:
    empty = """subflow: empty
nodes:
  in: {type: Input}
  out: {type: Output}
connections:
  - in.out -> out
"""
    flow = """
nodes:
  in: {type: QueueInput, queue: Q}
  empty: {type: Subflow, flow: empty}
  good: {type: QueueOutput, queue: GOOD}
connections:
  - in.out -> empty
  - empty.out -> good
"""
    with flow_under_test(tmp_path, flow, subflows___empty__yaml=empty) as under_test:
        under_test.send("m")
        assert list(under_test.queues) == ["GOOD"]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "flow: audit}",
            "flow: adit}",
            "flow.yaml:5:26: there is no subflow adit (did you mean audit?); there are: audit",
        ),
        ("flow: audit}", "fluw: audit}", "flow.yaml:5:3: Subflow audit needs a property flow"),
        (
            "queue: SECOND",
            "quee: SECOND",
            "flow.yaml:6:39: subflow audit has no property quee (did you mean queue?); it has: queue, text",
        ),
        (
            "audit.bad ->",
            "audit.bat ->",
            "flow.yaml:13:5: subflow audit has no output terminal bat (did you mean bad?); it has: bad, out",
        ),
        ("-> audit.in", "-> audit.on", "flow.yaml:10:5: subflow audit has no input terminal on; it has: in"),
        ("queue: SECOND", "queue: [1]", "flow.yaml:6:39: queue: expected text, found a list"),
        ("  good:", "  x: {type: Input}\n  good:", "flow.yaml:7:3: Input x belongs into a subflow, not into a flow"),
    ],
)
def test_mistakes_in_the_use_of_a_subflow(tmp_path: Path, old: str, new: str, expected: str) -> None:
    assert old in FLOW
    with pytest.raises(DefinitionProblem) as caught:
        load_flow(write_flow(tmp_path, FLOW.replace(old, new, 1), **FILES))
    assert any(line.startswith(expected) for line in str(caught.value).splitlines()), str(caught.value)


def test_a_mistake_inside_of_a_subflow_is_told_once_however_often_it_is_used(tmp_path: Path) -> None:
    wrong = AUDIT.replace("{type: Throw, text: refused}", "{type: Throw, number: many}")
    with pytest.raises(DefinitionProblem) as caught:
        load_flow(write_flow(tmp_path, FLOW, subflows___audit__yaml=wrong, check__py=CHECK))
    assert str(caught.value) == "subflows/audit.yaml:9:23: number: expected a whole number, found 'many'"


def test_a_subflow_cannot_be_inside_itself(tmp_path: Path) -> None:
    own = AUDIT.replace("check: {type: Python, file: check.py}", "check: {type: Subflow, flow: audit}")
    with pytest.raises(DefinitionProblem, match="subflow audit is inside itself: audit > audit"):
        load_flow(write_flow(tmp_path, FLOW, subflows___audit__yaml=own, check__py=CHECK))
