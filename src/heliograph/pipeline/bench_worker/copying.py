"""Rows from one place to another: what `stream -> Parquet` and its like are."""

import time
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

Place = Mapping[str, Any]
"""`format`, `options`, and for reading perhaps `schema`."""


def copy(spark: SparkSession, source: Place, target: Place) -> dict[str, Any]:
    """Read all rows and write them; seconds of the write, which does both."""
    writer = _frame(spark, source).write.format(target["format"]).options(**target.get("options", {}))
    started = time.perf_counter()
    writer.mode("overwrite" if target["format"] in {"noop", "parquet"} else "append").save()
    return {"seconds": time.perf_counter() - started}


def count(spark: SparkSession, source: Place) -> dict[str, Any]:
    """How many messages there are, and how many bytes they have."""
    frame = _frame(spark, source)
    rows, different, size = frame.agg(
        f.count("*"), f.count_distinct("partition", "offset"), f.coalesce(f.sum(f.length("payload")), f.lit(0))
    ).collect()[0]
    return {"rows": rows, "different": different, "bytes": size}


def _frame(spark: SparkSession, source: Place) -> DataFrame:
    reader = spark.read.format(source["format"]).options(**source.get("options", {}))
    if "schema" in source:
        reader = reader.schema(source["schema"])
    return reader.load()
