"""Compiled flows: they travel between processes, measure themselves if asked, and take what is wrong with a name."""

import pickle
from pathlib import Path

import pytest

from heliograph.errors import Problem
from heliograph.flow.engine.compiled_flow import compile_flow
from heliograph.flow.engine.exceptions import FlowException
from heliograph.flow.engine.node_statistics import Statistics
from heliograph.flow.engine.nodes.node_kinds import KINDS
from heliograph.flow.engine.outcome import Put
from heliograph.flow.engine.run import Resources
from heliograph.flow.formats.envelope import Envelope
from heliograph.flow.loading.flow_loading import load_flow
from heliograph.flow.testing.flow_under_test import NOON
from small_flows import write_flow

FLOW = """flow: all
parameters: {limit: 3}
nodes:
  in: {type: QueueInput, queue: Q, domain: XMLNSC}
  topic: {type: TopicInput, topic: t/#, domain: MRM, message_set: ORDERS}
  file: {type: FileInput, directory: in}
  http: {type: HttpInput, path: /x}
  order: {type: FlowOrder}
  guard: {type: TryCatch}
  filter: {type: Filter, esql: all.esql}
  compute: {type: Compute, esql: all.esql}
  database: {type: Database, esql: all.esql}
  map: {type: Mapping, map: all.map.yaml}
  python: {type: Python, file: all.py}
  trace: {type: Trace, pattern: "${Root.XMLNSC}"}
  out: {type: QueueOutput, queue: OUT}
  reset: {type: ResetContentDescriptor, domain: BLOB}
  control: {type: AggregateControl, aggregate: X}
  request: {type: AggregateRequest, folder: f}
  reply: {type: AggregateReply, aggregate: X}
  route: {type: RouteToLabel}
  label: {type: Label}
  throw: {type: Throw}
  publish: {type: Publication}
  answer: {type: HttpReply}
  back: {type: QueueReply}
  write: {type: FileOutput, directory: out, name: a}
connections:
  - in.out -> order
  - order.first -> guard
  - guard.try -> filter
  - filter.true -> compute
  - compute.out -> database
  - database.out -> map
  - map.out -> python
  - python.out -> trace
  - trace.out -> out
  - out.out -> reset
  - reset.out -> control
  - control.out -> request
  - topic.out -> reply
  - reply.unknown -> route
  - label.out -> throw
  - file.out -> publish
  - http.out -> answer
  - http.catch -> back
  - file.catch -> write
"""
FILES = {
    "all__esql": """
CREATE FILTER MODULE F CREATE FUNCTION Main() RETURNS BOOLEAN BEGIN RETURN Body.a.b < 5; END; END MODULE;
CREATE DATABASE MODULE D CREATE FUNCTION Main() RETURNS BOOLEAN BEGIN RETURN TRUE; END; END MODULE;
CREATE COMPUTE MODULE C
  DECLARE limit EXTERNAL INTEGER 0;
  CREATE FUNCTION Main() RETURNS BOOLEAN BEGIN
    SET OutputRoot = InputRoot; SET OutputRoot.XMLNSC.a.c = limit; RETURN TRUE;
  END;
END MODULE;
""",
    "all__map__yaml": "mapping: m\nsource: InputRoot.XMLNSC.a\ntarget: OutputRoot.XMLNSC.z\nmap: [{to: y, from: c}]\n",
    "all__py": "def process(message): return message\n",
    "models___ORDERS__cpy": "       01 ORDER-RECORD.\n          05 ID PIC X(3).\n",
}


def test_a_flow_of_all_nodes_can_be_pickled_and_does_the_same(tmp_path: Path) -> None:
    definition = load_flow(write_flow(tmp_path, FLOW, **FILES))
    assert {node.type for node in definition.nodes.values()} == set(KINDS)
    flow = compile_flow(definition)
    again = pickle.loads(pickle.dumps(flow))
    envelopes = [Envelope(b"<a><b>1</b></a>", message_id=b"1"), Envelope(b"<a><b>9</b></a>", message_id=b"2")]
    done, done_again = (compiled.process("in", envelopes, Resources(), NOON) for compiled in (flow, again))
    assert [outcome.effects for outcome in done] == [outcome.effects for outcome in done_again]
    (effect,) = done_again[0].effects
    assert isinstance(effect, Put)
    assert (effect.queue, effect.envelope.body) == ("OUT", b"<z><y>3</y></z>")
    assert done_again[1].effects == []
    assert again.has_timers
    assert list(again.inputs) == ["in", "topic", "file", "http"]


def test_outcomes_can_be_pickled(tmp_path: Path) -> None:
    flow = compile_flow(load_flow(write_flow(tmp_path, FLOW, **FILES)))
    outcomes = flow.process("http", [Envelope(b"m")], Resources(), NOON)
    assert pickle.loads(pickle.dumps(outcomes)) == outcomes


def test_a_measured_flow_counts_messages_and_time_by_node(tmp_path: Path) -> None:
    flow = compile_flow(load_flow(write_flow(tmp_path, FLOW, **FILES)), measured=True)
    statistics = Statistics()
    envelopes = [Envelope(b"<a><b>1</b></a>", message_id=b"1"), Envelope(b"<a><b>9</b></a>", message_id=b"2")]
    flow.process("in", envelopes, Resources(statistics=statistics), NOON)
    counts = {name: node.messages for name, node in statistics.nodes.items()}
    assert counts["filter"] == 2
    assert counts["compute"] == counts["out"] == counts["control"] == 1
    assert statistics.nodes["control"].failures == 1  # there is no store
    assert all(node.elapsed > 0 for node in statistics.nodes.values())
    total = Statistics()
    total.add(statistics)
    total.add(statistics)
    assert total.nodes["filter"].messages == 4
    assert total.nodes["filter"].elapsed == 2 * statistics.nodes["filter"].elapsed


def test_an_input_that_is_not_there(tmp_path: Path) -> None:
    flow = compile_flow(load_flow(write_flow(tmp_path, FLOW, **FILES)))
    with pytest.raises(Problem, match="has no input out"):
        flow.process("out", [], Resources(), NOON)


def test_the_tree_of_an_exception_list() -> None:
    from heliograph.flow.engine.exceptions import record_of
    from heliograph.flow.errors import UserError

    record = record_of(UserError(2951, "no good", ("no", 5)), "flow", "node", "Compute")
    outer = record.tree().children[0]
    assert [child.name for child in outer.children] == [
        *("File", "Line", "Function", "Type", "Name", "Label", "Text", "Catalog", "Severity", "Number"),
        "UserException",
    ]
    assert (outer.first("Number").value, outer.first("Label").value) == (2230, "flow.node")  # type: ignore[union-attr]
    inner = outer.children[-1]
    inserts = [[child.value for child in insert.children] for insert in inner.all("Insert")]
    assert inserts == [[5, "no"], [2, "5"]]
    assert str(FlowException(record)) == "no good"
