"""What the bench worker measures: copies of rows, a flow as a query, and a Filter that one message in twenty passes."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery

from heliograph.pipeline.flows.effect_rows import DDL
from heliograph.pipeline.flows.outputs import definition_of, flow_outputs, state_folder
from heliograph.pipeline.flows.processing import FlowJob
from heliograph.pipeline.flows.routes import Routes
from heliograph.pipeline.flows.starting import start_flow

_FIELDS = {
    "device": "concat('device-', id % 1000)",
    "kind": "'measured'",
    "temperature": "CAST(id % 100 + 0.5 AS DECIMAL(4,1))",
    "time": "'2026-01-01T12:00:00Z'",
    "humidity": "id % 90",
}
_MORE = 40
"""Bytes of another field, about."""
_XPATH = "xpath_double(CAST(payload AS STRING), '/M/temperature') > 95"
RowFormat = Mapping[str, Any]
"""`format`, `options`, and for reading perhaps `schema`."""


def make_messages(spark: SparkSession, order: Mapping[str, Any]) -> dict[str, Any]:
    """`rows` messages of about `size` bytes of `domain` JSON or XMLNSC, as Parquet in `path`."""
    fields = dict(_FIELDS)
    for number in range((order["size"] - 120) // _MORE):
        fields[f"field{number}"] = "'twenty-four characters..'" if number % 2 else "id % 97 / 8"
    if order["domain"] == "JSON":
        members = ", ".join(f"'{name}', {value}" for name, value in fields.items())
        payload = f"to_json(named_struct({members}))"
    else:
        elements = ", ".join(f"'<{name}>', {value}, '</{name}>'" for name, value in fields.items())
        payload = f"concat('<M>', {elements}, '</M>')"
    rows = spark.range(0, order["rows"], 1, 2).selectExpr(
        "'made' AS stream",
        "0 AS partition",
        "id AS offset",
        "'made/up' AS topic",
        f"CAST({payload} AS BINARY) AS payload",
    )
    rows.write.mode("overwrite").parquet(order["path"])
    return {}


def run_filter(spark: SparkSession, order: Mapping[str, Any]) -> dict[str, Any]:
    """The flow of `folder` on the messages of `path`: `way` is python, native, or xpath (of the same condition)."""
    messages = spark.read.parquet(order["path"])
    outputs = _WAYS[order["way"]](messages, order["folder"])
    started = time.perf_counter()
    outputs.write.format("noop").mode("overwrite").save()
    return {"seconds": time.perf_counter() - started}


def _all_in_python(messages: DataFrame, folder: str) -> DataFrame:
    definition = definition_of(folder)
    return messages.mapInArrow(FlowJob.of(definition, "in", state_folder(None, definition)).__call__, DDL)


_WAYS: Mapping[str, Callable[[DataFrame, str], DataFrame]] = {
    "python": _all_in_python,
    "native": flow_outputs,
    "xpath": lambda messages, _folder: messages.where(_XPATH),
}


def copy_rows(spark: SparkSession, source: RowFormat, target: RowFormat) -> dict[str, Any]:
    """Read all rows and write them; seconds of the write, which does both."""
    writer = _frame(spark, source).write.format(target["format"]).options(**target.get("options", {}))
    started = time.perf_counter()
    writer.mode("overwrite" if target["format"] in {"noop", "parquet"} else "append").save()
    return {"seconds": time.perf_counter() - started}


def count_rows(spark: SparkSession, source: RowFormat) -> dict[str, Any]:
    """How many messages there are, and how many bytes they have."""
    frame = _frame(spark, source)
    rows, different, size = frame.agg(
        f.count("*"), f.count_distinct("partition", "offset"), f.coalesce(f.sum(f.length("payload")), f.lit(0))
    ).collect()[0]
    return {"rows": rows, "different": different, "bytes": size}


def _frame(spark: SparkSession, source: RowFormat) -> DataFrame:
    reader = spark.read.format(source["format"]).options(**source.get("options", {}))
    if "schema" in source:
        reader = reader.schema(source["schema"])
    return reader.load()


def start_flow_query(spark: SparkSession, order: Mapping[str, Any], *, available_now: bool) -> StreamingQuery:
    """Start the flow of an order: `folder`, `source` (options), `routes`, `checkpoint`."""
    return start_flow(
        spark,
        order["folder"],
        source_options=order["source"],
        routes=Routes.parse(order["routes"]),
        checkpoint=order["checkpoint"],
        available_now=available_now,
    )


def run_flow(spark: SparkSession, order: Mapping[str, Any]) -> dict[str, Any]:
    """Run the flow over what there is; the batches that had rows."""
    query = start_flow_query(spark, order, available_now=True)
    query.awaitTermination()
    return {"batches": batches(query)}


def stop_query(query: StreamingQuery) -> dict[str, Any]:
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
