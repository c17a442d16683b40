"""Data pipelines on Apache Spark: the only room that imports Spark.

`session` builds a SparkSession, `data_source` is what `format("heliograph")` means, with its two sides in `source` and
`sink`. Modules that Spark's workers import stay small: a worker pays for each import with every new process.
"""

from typing import TYPE_CHECKING

from heliograph.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from heliograph.pipeline.spark_errors import is_spark_error, spark_error_text

__getattr__ = lazy_names(__name__, {"spark_errors": "is_spark_error spark_error_text"})

__all__ = ["is_spark_error", "register", "spark_error_text"]


def register(spark: "SparkSession") -> None:
    """Register `format("heliograph")` and `format("mqtt")` in an existing session, such as that of a notebook.

    Executors of a cluster get our code. On one machine, state is kept in as many partitions as there are cores, unless
    configured otherwise.
    """
    from heliograph.pipeline.data_source import SOURCES
    from heliograph.pipeline.session.settings import SHUFFLE_PARTITIONS, is_local
    from heliograph.pipeline.session.shipping import ship_packages

    context = spark.sparkContext
    if not is_local(str(context.master)):
        ship_packages(spark)
    elif not context.getConf().contains(SHUFFLE_PARTITIONS) and spark.conf.get(SHUFFLE_PARTITIONS) == "200":
        spark.conf.set(SHUFFLE_PARTITIONS, str(context.defaultParallelism))
    for source in SOURCES:
        spark.dataSource.register(source)
    # Spark refuses to read from a source that takes filters, unless it is told so.
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
