"""Every example flow is right: no finding, all its cases pass, it can be pickled, and batches make no difference."""

import pickle
from datetime import datetime
from itertools import cycle
from pathlib import Path

import pytest

from example_flows import FLOWS, NAMES, cases, make_databases
from heliograph.flow.engine.aggregation_store import SqliteAggregationStore
from heliograph.flow.engine.compiled_flow import CompiledFlow, compile_flow
from heliograph.flow.engine.database import Databases, DataSources
from heliograph.flow.engine.run import Resources
from heliograph.flow.formats.envelope import Envelope
from heliograph.flow.loading.flow_loading import load_flow
from heliograph.flow.testing.case_running import run_case

NOON = datetime(2026, 1, 1, 12, 0, 0)
CASES = [(name, case) for name in NAMES for case in cases(name)]
ENVIRONMENTS = [(name, None) for name in NAMES] + [
    (name, file.stem) for name in NAMES for file in sorted((FLOWS / name / "parameters").glob("*.yaml"))
]
USES = {"routing", "enrichment", "update", "from-cobol", "from-csv", "statements", "aggregation"}


def test_there_is_an_example_of_every_use():
    assert set(NAMES) >= USES


def test_every_example_is_in_the_list_of_examples():
    listed = (FLOWS / "README.md").read_text()
    assert [name for name in NAMES if f"[{name}]({name})" not in listed] == []


@pytest.mark.parametrize(("name", "environment"), ENVIRONMENTS)
def test_an_example_has_no_findings(name, environment):
    assert load_flow(FLOWS / name, environment).warnings == ()


@pytest.mark.parametrize(("name", "case"), CASES, ids=[f"{name}: {case.name}" for name, case in CASES])
def test_a_case_of_an_example_passes(name, case):
    result = run_case(FLOWS / name, case)
    assert result.passed, result.text()


@pytest.mark.parametrize("name", NAMES)
def test_an_example_has_cases_for_messages_that_fail(name):
    """That is: for every output that is on the way of a failure, a case that gets there."""
    flow = load_flow(FLOWS / name)
    starts = [link.target for link in flow.connections if link.terminal in {"failure", "catch"}]
    failing = {node for start in starts for node in _behind(start, flow.connections)}
    queues = {flow.nodes[node].properties["queue"] for node in failing if flow.nodes[node].type == "QueueOutput"}
    assert queues
    assert queues <= {queue for case in cases(name) for queue in case.expected.queues}


def _behind(start, connections):
    """A node and all that are behind it."""
    found, ahead = set(), [start]
    while ahead:
        node = ahead.pop()
        if node not in found:
            found.add(node)
            ahead += [link.target for link in connections if link.source == node]
    return found


# One compiled flow, many messages


def messages(name: str, count: int = 120) -> list[tuple[str, Envelope]]:
    """What the cases of a flow send, again and again: the input, and the message."""
    (usual, *_) = compile_flow(load_flow(FLOWS / name)).inputs
    steps = [step for case in cases(name) for step in case.steps if step.wait is None]
    return [
        (step.node or usual, Envelope(step.body, **{"message_id": b"m%d" % number, **step.envelope}))
        for number, step in zip(range(count), cycle(steps), strict=False)
    ]


def outcomes(flow: CompiledFlow, name: str, batch: int, folder: Path) -> list[str]:
    """What comes of all messages, in batches of this size; those for one input after the other."""
    make_databases(name, folder)
    databases = Databases(DataSources(flow.definition.settings.get("data_sources") or {}, folder))
    store = SqliteAggregationStore(":memory:")
    resources = Resources(database=databases, aggregation=store)
    found = []
    sent = messages(name)
    for node in flow.inputs:
        envelopes = [envelope for to, envelope in sent if to == node]
        for begin in range(0, len(envelopes), batch):
            batched = flow.process(node, envelopes[begin : begin + batch], resources, NOON)
            found += [f"{outcome.result} {outcome.effects}" for outcome in batched]
    databases.rollback_all()
    databases.close()
    store.close()
    return found


@pytest.mark.parametrize("name", NAMES)
def test_batches_of_one_and_of_a_hundred_give_the_same(name, tmp_path):
    flow = compile_flow(load_flow(FLOWS / name))
    single = outcomes(flow, name, 1, tmp_path / "1")
    assert single
    assert outcomes(flow, name, 100, tmp_path / "100") == single


@pytest.mark.parametrize("name", NAMES)
def test_a_flow_that_was_pickled_gives_the_same(name, tmp_path):
    flow = compile_flow(load_flow(FLOWS / name))
    again = pickle.loads(pickle.dumps(flow))
    assert outcomes(again, name, 100, tmp_path / "again") == outcomes(flow, name, 100, tmp_path / "first")
