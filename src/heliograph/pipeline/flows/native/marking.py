"""Marks messages that a flow certainly drops, in Spark, and leaves them out in Python.

Marked messages come to Python without their payload, and go no further. They are not filtered out before, because the
sink counts the messages of a task, and a streaming query can only number rows by counting them where they come in.
"""

import logging
from typing import TYPE_CHECKING

from heliograph.flow.definition import FlowDefinition
from heliograph.pipeline.flows.native.documents import Document
from heliograph.pipeline.flows.native.dropping import dropped
from heliograph.pipeline.flows.native.verdicts import FALSE, TRUE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
import pyarrow as pa
import pyarrow.compute as pc

from heliograph.pipeline.flows.effect_rows import ROW

LOG = logging.getLogger(__name__)
DROPPED = "__dropped"


def decided(messages: "DataFrame", definition: FlowDefinition, entry: str) -> "DataFrame":
    """The messages, with a mark (`DROPPED`) and without payload where the flow certainly has no outputs.

    Returns the DataFrame unchanged if Spark cannot decide anything in this flow, or would seldom do so: planning a
    condition takes some milliseconds for each micro-batch.
    """
    document = Document()
    found = dropped(definition, entry, document)
    if found.when in (FALSE, TRUE) or found.seldom:
        return messages
    names = ", ".join(f"'{name}'" for name in found.filters)
    LOG.info("flow %s: Spark drops messages for filter %s without calling the flow", definition.name, names)
    parsed = messages.selectExpr("*", document.parsed(messages.columns))
    looked_up = parsed.selectExpr("*", *document.looked_up())
    marked = looked_up.selectExpr("*", f"coalesce({found.when} AND {document.agreed()}, FALSE) AS `{DROPPED}`")
    columns = [
        f"CASE WHEN NOT `{DROPPED}` THEN payload END AS payload" if name == "payload" else f"`{name}`"
        for name in messages.columns
    ]
    return marked.selectExpr(*columns, f"`{DROPPED}`")


def undropped(batch: pa.RecordBatch, first_row: int) -> pa.RecordBatch:
    """The messages that the flow has to see, with their number among all of the task as `ROW`."""
    if DROPPED not in batch.schema.names:
        return batch
    at = pc.indices_nonzero(pc.invert(batch.column(DROPPED)))
    kept = batch.drop_columns([DROPPED]).take(at)
    return kept.append_column(ROW, pc.add(at.cast(pa.int64()), first_row))
