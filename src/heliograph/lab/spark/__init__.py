"""Benchmarks of pipelines on Spark: `helio bench spark` (`make bench-spark`)."""

from typing import TYPE_CHECKING

from heliograph.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from heliograph.lab.spark.spark_bench import CASES, measure_pipelines

__getattr__ = lazy_names(
    __name__,
    {
        "spark_bench": "CASES measure_pipelines",
    },
)

__all__ = ["CASES", "measure_pipelines"]
