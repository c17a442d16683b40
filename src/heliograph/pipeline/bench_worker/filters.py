"""A Filter that one message in twenty passes: as the flow has it in Python, and as Spark has it by itself."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from heliograph.pipeline.flows.effect_rows import DDL
from heliograph.pipeline.flows.outputs import definition_of, flow_outputs, state_folder
from heliograph.pipeline.flows.processing import FlowJob

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
