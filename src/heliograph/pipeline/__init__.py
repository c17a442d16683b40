"""Data pipelines on Apache Spark: the only room that imports Spark.

`session` builds a SparkSession, `data_source` is what `format("heliograph")` means, with its two sides in `source` and
`sink`. Modules that Spark's workers import stay small: a worker pays for each import with every new process.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register"]


def register(spark: "SparkSession") -> None:
    """Make `format("heliograph")` and `format("mqtt")` known in a session that somebody else built, a notebook say."""
    from heliograph.pipeline.data_source import SOURCES  # noqa: PLC0415 - Spark is not needed to import this room

    for source in SOURCES:
        spark.dataSource.register(source)
