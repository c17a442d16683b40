"""Marks the messages of a DataFrame that a flow certainly drops."""

import logging
from typing import TYPE_CHECKING

from heliograph.flow.definition import FlowDefinition
from heliograph.pipeline.flows.native.documents import Document
from heliograph.pipeline.flows.native.dropping import dropped
from heliograph.pipeline.flows.native.marks import DROPPED
from heliograph.pipeline.flows.native.verdicts import FALSE, TRUE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LOG = logging.getLogger(__name__)


def decided(messages: "DataFrame", definition: FlowDefinition, entry: str) -> "DataFrame":
    """The messages, with a mark (`DROPPED`) on those of which nothing comes in the flow, which lose their payload.

    If Spark cannot decide anything in this flow, or little is to be expected of it, the DataFrame as it is: a condition
    takes Spark some milliseconds to plan, for each micro-batch.
    """
    document = Document()
    found = dropped(definition, entry, document)
    if found.when in (FALSE, TRUE) or found.seldom:
        return messages
    names = ", ".join(f"'{name}'" for name in found.filters)
    LOG.info("flow %s: filter %s runs natively in Spark for what it drops", definition.name, names)
    parsed = messages.selectExpr("*", document.parsed(messages.columns))
    looked_up = parsed.selectExpr("*", *document.looked_up())
    marked = looked_up.selectExpr("*", f"coalesce({found.when} AND {document.agreed()}, FALSE) AS `{DROPPED}`")
    columns = [
        f"CASE WHEN NOT `{DROPPED}` THEN payload END AS payload" if name == "payload" else f"`{name}`"
        for name in messages.columns
    ]
    return marked.selectExpr(*columns, f"`{DROPPED}`")
