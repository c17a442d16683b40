"""Every example flow gives the same from the inline runner and from Spark."""

import sqlite3

import pyarrow as pa
import pytest

from heliograph.flow.engine.outcome import DeadLetter, Publish, Put, Result
from heliograph.flow.inline.conversion import carried_properties, is_text
from heliograph.flow.loading.flow_loading import load_flow
from heliograph.flow.testing.flow_under_test import NOON, FlowUnderTest, statements
from heliograph.mapping.identifiers import identifier_from_envelope, identifier_to_text
from heliograph.pipeline.flows import flow_outputs
from heliograph.pipeline.flows.effect_rows import SCHEMA
from heliograph.pipeline.flows.envelopes import envelopes_of
from pipeline.flows.example_messages import FLOWS, FOLDERS, ON_SPARK, messages_for
from pipeline.flows.stream_rows import as_rows, stream_rows

COUNT = 1000
"""Messages for each flow: thousands in all."""
DATABASES = {
    "enrichment": ("SHOP", "shop.sql", "CUSTOMER", ("ID", "ORDERS")),
    "telemetry": ("PLANT", "plant.sql", "DEVICE", ("NAME", "SITE")),
}
"""The embedded database of a flow, what makes it, a table, and columns that show whether it was changed."""


class Recorded(FlowUnderTest):
    """An inline flow that remembers what it did with each message."""

    def __init__(self, definition):
        super().__init__(definition)
        self.effects = []

    def _carry_out(self, effect):
        self.effects.append(effect)
        super()._carry_out(effect)


def messages(name):
    """Rows of a stream that are as different as its columns allow."""
    return stream_rows(
        [
            {
                "payload": body,
                "text": n % 2 == 0,
                "qos": n % 3,
                "expiry": 60_000 + n if n % 5 == 0 else None,
                "content_type": "application/json" if n % 7 == 0 else None,
                "correlation": b"question %d" % n if n % 4 == 0 else None,
                "reply_to": f"answers/{n}" if n % 6 == 0 else None,
                "message_id": f"message {n}",
                "properties": {"n": str(n)},
            }
            for n, body in enumerate(messages_for(name, COUNT))
        ]
    )


def inline_outputs(definition, rows, database):
    """What the flow does with the messages, one after the other, by message and number; and its table afterwards."""
    seen = {}
    with Recorded(definition) as flow:
        if database:
            source, file, table, columns = database
            for statement in statements((FOLDERS[definition.name] / file).read_text()):
                flow.database(source).execute(statement)
        for offset, envelope in enumerate(envelopes_of(rows)):
            flow.effects.clear()
            if flow.send(envelope) is Result.DISCARDED:  # on Spark it is a dead letter: nothing is thrown away there
                failure = flow.failures[-1]
                (entry,) = [node.name for node in definition.nodes.values() if node.type.endswith("Input")]
                queue = "SYSTEM.DEAD.LETTER.QUEUE"
                flow.effects.append(DeadLetter(queue, envelope, failure.text, failure.exceptions, entry))
            seen |= {(offset, index): output(effect) for index, effect in enumerate(flow.effects)}
        kept = flow.database(source).rows(table) if database else []
    return seen, [tuple(row[column] for column in columns) for row in kept]


def output(effect):
    """An effect as the columns of a row."""
    envelope = effect.envelope
    letter = effect if isinstance(effect, DeadLetter) else None
    kind = "queue" if isinstance(effect, Put) else "topic" if isinstance(effect, Publish) else "dead-letter"
    return {
        "kind": kind,
        "destination": effect.topic if kind == "topic" else effect.queue,
        "node": effect.node,
        "payload": envelope.body,
        "text": is_text(envelope),
        "content_type": envelope.content_type or None,
        "correlation": envelope.correlation_id or None,
        "reply_to": envelope.reply_to or None,
        "properties": dict(carried_properties(envelope, text=is_text(envelope))),
        "message_id": identifier_to_text(identifier_from_envelope(envelope.message_id))
        if envelope.message_id
        else None,
        "persistent": envelope.persistent,
        "priority": envelope.priority,
        "expiry": None if envelope.expiry < 0 else envelope.expiry * 100,
        "retain": kind == "topic" and effect.retain,
        "reason": letter and letter.reason,
        "exceptions": letter and letter.exceptions,
    }


PLACE = ("stream", "partition", "offset", "timestamp", "index")
"""Columns that say which message an output came of; an inline flow has no stream."""


def spark_outputs(rows):
    return {
        (row["offset"], row["index"]): {name: value for name, value in row.items() if name not in PLACE} for row in rows
    }


@pytest.mark.parametrize("name", ON_SPARK)
def test_outputs_are_the_same(spark, name, tmp_path):
    definition = load_flow(FOLDERS[name])
    rows = messages(name)
    database = DATABASES.get(name)
    if database:
        source, file, table, columns = database
        with sqlite3.connect(tmp_path / f"{source}.db") as there:
            there.executescript((FOLDERS[name] / file).read_text())
    frame = spark.createDataFrame(pa.Table.from_batches([rows])).repartition(2)
    found = flow_outputs(frame, definition, state=str(tmp_path), now=NOON).toArrow()
    seen, kept = inline_outputs(definition, rows, database)
    assert spark_outputs(as_rows(found.to_batches())) == seen
    assert len({(one["kind"], one["destination"]) for one in seen.values()}) > 1, "one way for all proves little"
    if database:
        assert sorted(there.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchall()) == sorted(kept)
        there.close()


def test_all_columns_are_compared():
    effect = Put("Q", next(iter(envelopes_of(stream_rows([b""])))), True, "out")
    assert {*output(effect), *PLACE} == {*SCHEMA.names}


def test_only_aggregations_are_left_out():
    assert sorted({*FLOWS} - {*ON_SPARK}) == ["aggregation"]
