"""Messages that Spark has marked as dropped: they come to Python without their payload, and go no further.

They are not left out before, because the sink counts the messages of a task, and a streaming query has no other way to
number rows than to count them where they come in.
"""

import pyarrow as pa
import pyarrow.compute as pc

from heliograph.pipeline.flows.effect_rows import ROW

DROPPED = "__dropped"


def undropped(batch: pa.RecordBatch, first_row: int) -> pa.RecordBatch:
    """The messages that the flow has to see, with their number among all of the task as `ROW`."""
    if DROPPED not in batch.schema.names:
        return batch
    at = pc.indices_nonzero(pc.invert(batch.column(DROPPED)))
    kept = batch.drop_columns([DROPPED]).take(at)
    return kept.append_column(ROW, pc.add(at.cast(pa.int64()), first_row))
