"""What Spark drops by itself is what the flow would drop, of whatever payloads there are."""

from functools import reduce

import pyarrow as pa
import pytest
from pyspark.sql.functions import lit

from heliograph.flow.engine.compiled_flow import compile_flow
from heliograph.flow.engine.outcome import Result
from heliograph.flow.engine.run import Resources
from heliograph.flow.testing.flow_under_test import NOON, FlowUnderTest
from heliograph.pipeline.flows import flow_outputs
from heliograph.pipeline.flows.effect_rows import ROW
from heliograph.pipeline.flows.envelopes import envelopes_of
from heliograph.pipeline.flows.native.marking import DROPPED, decided, undropped
from pipeline.flows.native.filter_flows import flow_of
from pipeline.flows.native.json_messages import json_messages
from pipeline.flows.stream_rows import stream_rows

COUNT = 1000
CONDITIONS = (
    "Root.JSON.Data.kind = 'alarm'",
    "COALESCE(Body.Data.mode, 'run') = 'test'",
    "Body.Data.temperature > 95",
    "Body.Data.temperature <= 95.5 AND Body.Data.kind <> 'test'",
    "CAST(Body.Data.temperature AS FLOAT) >= 95.0 OR Body.Data.a = TRUE",
    "Body.Data.a IS NOT NULL AND NOT (Body.Data.b = Body.Data.a)",
    "Body.Data.site.a < Body.Data.site.b",
    "Body.Data.kind IN ('alarm', 'test', '') OR Body.Data.temperature NOT IN (95, 96)",
    "Body.Data.temperature BETWEEN -1 AND limit",
    "Body.Data.mode LIKE '%a_m%' OR Body.Data.kind NOT LIKE 'te%'",
    "Body.Data.a",
    "(Body.Data.a = 'test') IS UNKNOWN OR (Body.Data.b > 1) IS TRUE",
    "COALESCE(Body.Data.a, Body.Data.b, 95) = 95",
    "CAST(Body.Data.kind AS CHARACTER) >= 'alarm'",
    """IF Body.Data.a = 95 THEN RETURN FALSE;
       ELSEIF Body.Data.b = 'test' THEN RETURN Body.Data.kind = 'run';
       END IF;
       RETURN Body.Data.temperature <> 95;""",
)
LIMIT = "DECLARE limit EXTERNAL INTEGER 3;"


@pytest.fixture(scope="module")
def rows():
    return stream_rows(json_messages(COUNT, seed=6))


@pytest.fixture(scope="module")
def frame(spark, rows):
    return spark.createDataFrame(pa.Table.from_batches([rows])).repartition(2).sortWithinPartitions("offset").cache()


@pytest.fixture(scope="module")
def flows(tmp_path_factory):
    return [flow_of(tmp_path_factory.mktemp("flow"), condition, LIMIT) for condition in CONDITIONS]


def without_effect(definition, envelopes):
    """The messages that the flow has no effects for."""
    outcomes = compile_flow(definition).process("in", envelopes, Resources(), NOON)
    return {n for n, outcome in enumerate(outcomes) if outcome.result is Result.DONE and not outcome.effects}


def test_only_messages_without_effect_are_left_out(frame, rows, flows):
    kept = [
        decided(frame, flow, "in").where(f"NOT {DROPPED}").select("offset", lit(n).alias("flow"))
        for n, flow in enumerate(flows)
    ]
    table = reduce(lambda one, other: one.union(other), kept).toArrow()
    found = [set() for _ in flows]
    for offset, flow in zip(table["offset"].to_pylist(), table["flow"].to_pylist(), strict=True):
        found[flow].add(offset)
    envelopes = envelopes_of(rows)
    for flow, condition, seen in zip(flows, CONDITIONS, found, strict=True):
        dropped, left_out = without_effect(flow, envelopes), set(range(len(envelopes))) - seen
        wrong = [rows.column("payload")[n].as_py() for n in sorted(left_out - dropped)]
        assert not wrong, f"{condition} is not dropped by the flow for {wrong[:5]}"
        assert len(left_out) > len(dropped) / 3, f"{condition}: most messages that are dropped go to Python"


@pytest.mark.parametrize("number", [1, 2])
def test_all_effects_are_those_of_the_flow_row_for_row(frame, rows, flows, number):
    found = (
        flow_outputs(frame, flows[number], now=NOON).select("offset", "node", "payload", "kind").toArrow().to_pylist()
    )
    seen = sorted((row["offset"], row["node"], row["kind"], row["payload"]) for row in found)
    wanted = []
    with FlowUnderTest(flows[number]) as flow:
        for offset, envelope in enumerate(envelopes_of(rows)):
            puts, letters = len(flow.queues.get("OUT", ())), len(flow.dead_letters)
            flow.send(envelope)
            wanted += [(offset, "out", "queue", put.body) for put in flow.queues.get("OUT", ())[puts:]]
            wanted += [(offset, "in", "dead-letter", letter.envelope.body) for letter in flow.dead_letters[letters:]]
    assert seen == wanted
    assert {kind for _, _, kind, _ in seen} == {"queue", "dead-letter"}


def test_messages_keep_their_number_among_all_of_the_task():
    batch = pa.RecordBatch.from_pydict({"payload": [b"a", None, b"c", None], DROPPED: [False, True, False, True]})
    assert undropped(batch, 10).to_pydict() == {"payload": [b"a", b"c"], ROW: [10, 12]}


def test_a_batch_without_marks_is_seen_as_it_is():
    batch = pa.RecordBatch.from_pydict({"payload": [b"a"]})
    assert undropped(batch, 10) is batch
