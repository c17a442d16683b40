"""Leaves out of a DataFrame the messages that a flow certainly drops."""

import logging
from typing import TYPE_CHECKING

from heliograph.flow.definition.flow import FlowDefinition
from heliograph.pipeline.flows.effect_rows import ROW
from heliograph.pipeline.flows.native.documents import Document
from heliograph.pipeline.flows.native.dropping import dropped
from heliograph.pipeline.flows.native.verdicts import FALSE, TRUE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LOG = logging.getLogger(__name__)
_ROW_BITS = 33
"""Of what Spark calls a monotonically increasing identifier: the number of the row in its task."""


def undecided(messages: "DataFrame", definition: FlowDefinition, entry: str) -> "DataFrame":
    """The messages that the flow has to see, in their order, with their number among all of the task as `ROW`.

    If Spark cannot decide anything in this flow, the DataFrame as it is.
    """
    document = Document()
    found = dropped(definition, entry, document)
    if found.when in (FALSE, TRUE):
        return messages
    names = ", ".join(f"'{name}'" for name in found.filters)
    LOG.info("flow %s: filter %s runs natively in Spark for what it drops", definition.name, names)
    parsed = messages.selectExpr("*", document.parsed(messages.columns, found.signs))
    # The number comes with the last columns before the condition: Spark does not move a condition to before it, so
    # that fields are looked up once, and not once for each time that the condition names them.
    number = f"monotonically_increasing_id() & {(1 << _ROW_BITS) - 1}L AS `{ROW}`"
    looked_up = parsed.selectExpr("*", *document.looked_up(), number)
    kept = looked_up.where(f"NOT coalesce({found.when} AND {document.agreed()}, FALSE)")
    return kept.select(*messages.columns, ROW)
