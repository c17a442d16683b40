"""`python -m heliograph.pipeline.bench_worker`: takes an order on each line of its input, and answers with a line.

    {"do": "copy", "from": {"format": "parquet", "options": {"path": "/in"}}, "to": {"format": "noop"}}
    {"seconds": 1.5}

A job that fails is an answer with `error`. Whatever Spark and Java print goes to the standard error.
"""

import json
import os
import platform
import sys
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from heliograph.pipeline.bench_worker import cases
from heliograph.pipeline.bench_worker.made_up import MadeUp
from heliograph.pipeline.session import build_session
from heliograph.pipeline.spark_errors import spark_error_text

_CONF = {"spark.sql.streaming.numRecentProgressUpdates": "5000"}

Order = Mapping[str, Any]


class Jobs:
    """The jobs, by name."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._query: StreamingQuery | None = None
        self._known: dict[str, Callable[[Order], dict[str, Any]]] = {
            "describe": self._describe,
            "copy": lambda order: cases.copy_rows(spark, order["from"], order["to"]),
            "count": lambda order: cases.count_rows(spark, order["from"]),
            "flow": lambda order: cases.run_flow(spark, order),
            "messages": lambda order: cases.make_messages(spark, order),
            "filter": lambda order: cases.run_filter(spark, order),
            "start": self._start,
            "stop": self._stop,
        }

    def do(self, order: Order) -> dict[str, Any]:
        """Run the job of an order; an error becomes the answer."""
        try:
            return self._known[order["do"]](order)
        except Exception as error:  # whatever Spark raises: the next job may do better
            return {"error": spark_error_text(error)}

    def _describe(self, _order: Order) -> dict[str, Any]:
        java = self._spark._jvm.java.lang.System.getProperty("java.runtime.version")  # type: ignore[union-attr]
        return {
            "spark": self._spark.version,
            "java": str(java),
            "pyarrow": version("pyarrow"),
            "python": platform.python_version(),
            "master": self._spark.sparkContext.master,
            "heap": self._spark.conf.get("spark.driver.memory"),
        }

    def _start(self, order: Order) -> dict[str, Any]:
        self._query = cases.start_flow_query(self._spark, order, available_now=False)
        return {}

    def _stop(self, _order: Order) -> dict[str, Any]:
        query, self._query = self._query, None
        return {"batches": []} if query is None else cases.stop_query(query)


def main() -> None:
    """Until the standard input ends."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    spark = build_session("measuring", master=sys.argv[1], conf=_CONF, quick="--quick" in sys.argv[2:])
    spark.dataSource.register(MadeUp)
    jobs = Jobs(spark)
    for line in sys.stdin:
        print(json.dumps(jobs.do(json.loads(line))), file=answers, flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
