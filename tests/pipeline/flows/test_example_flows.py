"""Every example flow gives the same from the inline runner and from Spark."""

import sqlite3
from collections import Counter

import pyarrow as pa
import pytest

from heliograph.flow.definition.loading import load_flow
from heliograph.flow.engine.outcome import Result
from heliograph.flow.runner.conversion import carried_properties, is_text
from heliograph.flow.testing.flow_under_test import NOON, FlowUnderTest
from heliograph.flow.testing.tables import statements
from heliograph.pipeline.flows import flow_outputs
from heliograph.pipeline.flows.envelopes import envelopes_of
from pipeline.flows.example_messages import EXAMPLES, FLOWS, ON_SPARK, messages_for
from pipeline.flows.stream_rows import as_rows, stream_rows

COUNT = 400
"""Messages for each flow: thousands in all."""
SHOP = (EXAMPLES / "enrichment" / "shop.sql").read_text()


def inline_outputs(definition, rows):
    """What the flow does with the messages, one after the other; and its table afterwards."""
    seen = Counter()
    with FlowUnderTest(definition) as flow:
        if definition.name == "enrichment":
            for statement in statements(SHOP):
                flow.database("SHOP").execute(statement)
        for envelope in envelopes_of(rows):
            if flow.send(envelope) is Result.DISCARDED:  # on Spark it is a dead letter: nothing is thrown away there
                seen[output("dead-letter", "SYSTEM.DEAD.LETTER.QUEUE", envelope)] += 1
        for kind, places in (("queue", flow.queues), ("topic", flow.topics)):
            for place, envelopes in places.items():
                seen.update(output(kind, place, envelope) for envelope in envelopes)
        seen.update(output("dead-letter", letter.queue, letter.envelope) for letter in flow.dead_letters)
        customers = flow.database("SHOP").rows("CUSTOMER") if definition.name == "enrichment" else []
    return seen, [(row["ID"], row["ORDERS"]) for row in customers]


def output(kind, destination, envelope):
    properties = carried_properties(envelope, text=is_text(envelope))
    return kind, destination, envelope.body, tuple(sorted(properties.items()))


def spark_outputs(rows):
    return Counter(
        (row["kind"], row["destination"], row["payload"], tuple(sorted(row["properties"].items()))) for row in rows
    )


@pytest.mark.parametrize("name", ON_SPARK)
def test_outputs_are_the_same(spark, name, tmp_path):
    definition = load_flow(EXAMPLES / name)
    bodies = messages_for(name, COUNT)
    rows = stream_rows([{"payload": body, "properties": {"n": str(n)}} for n, body in enumerate(bodies)])
    with sqlite3.connect(tmp_path / "SHOP.db") as shop:
        shop.executescript(SHOP)
    frame = spark.createDataFrame(pa.Table.from_batches([rows])).repartition(2)
    found = flow_outputs(frame, definition, state=str(tmp_path), now=NOON).toArrow()
    seen, customers = inline_outputs(definition, rows)
    assert spark_outputs(as_rows(found.to_batches())) == seen
    assert len({output[:2] for output in seen}) > 1, "messages that all go one way prove little"
    if customers:
        assert shop.execute("SELECT ID, ORDERS FROM CUSTOMER ORDER BY ID").fetchall() == customers
    shop.close()


def test_only_aggregations_are_left_out():
    assert sorted({*FLOWS} - {*ON_SPARK}) == ["aggregation"]
