"""Measures pipelines on Spark: `helio bench spark` (`make bench-spark`)."""

from typing import TYPE_CHECKING

from heliograph.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from heliograph.lab.spark.measuring import CASES
    from heliograph.lab.spark.running import measure_pipelines

__getattr__ = lazy_names(
    __name__,
    {
        "measuring": "CASES",
        "running": "measure_pipelines",
    },
)

__all__ = ["CASES", "measure_pipelines"]
