"""A flow as a query, run over what there is, or left running while somebody else publishes."""

from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from heliograph.pipeline.flows.routes import Routes
from heliograph.pipeline.flows.starting import start_flow


def start(spark: SparkSession, order: Mapping[str, Any], *, available_now: bool) -> StreamingQuery:
    """Start the flow of an order: `folder`, `source` (options), `routes`, `checkpoint`."""
    return start_flow(
        spark,
        order["folder"],
        source_options=order["source"],
        routes=Routes.parse(order["routes"]),
        checkpoint=order["checkpoint"],
        available_now=available_now,
    )


def run(spark: SparkSession, order: Mapping[str, Any]) -> dict[str, Any]:
    """Run the flow over what there is; the batches that had rows."""
    query = start(spark, order, available_now=True)
    query.awaitTermination()
    return {"batches": batches(query)}


def stop(query: StreamingQuery) -> dict[str, Any]:
    """End a query when it has done what there is; all of its batches."""
    query.processAllAvailable()
    done = batches(query)
    query.stop()
    return {"batches": done}


def batches(query: StreamingQuery) -> list[dict[str, Any]]:
    """Rows and milliseconds by step of each batch that had rows."""
    progress = (each if isinstance(each, dict) else each._jdict for each in query.recentProgress)
    return [
        {"rows": each["numInputRows"], "steps": dict(each["durationMs"])} for each in progress if each["numInputRows"]
    ]
