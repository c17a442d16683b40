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

from heliograph.pipeline.bench_worker import copying, filters, flows
from heliograph.pipeline.bench_worker.made_up import MadeUp
from heliograph.pipeline.running.errors import sentence
from heliograph.pipeline.session import build_session

_CONF = {"spark.sql.streaming.numRecentProgressUpdates": "5000"}

Order = Mapping[str, Any]


class Jobs:
    """What can be ordered."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._query: StreamingQuery | None = None
        self._known: dict[str, Callable[[Order], dict[str, Any]]] = {
            "describe": self._describe,
            "copy": lambda order: copying.copy(spark, order["from"], order["to"]),
            "count": lambda order: copying.count(spark, order["from"]),
            "flow": lambda order: flows.run(spark, order),
            "messages": lambda order: filters.make_messages(spark, order),
            "filter": lambda order: filters.run_filter(spark, order),
            "start": self._start,
            "stop": self._stop,
        }

    def do(self, order: Order) -> dict[str, Any]:
        """Do it; what goes wrong is the answer."""
        try:
            return self._known[order["do"]](order)
        except Exception as error:  # whatever Spark raises: the next job may do better
            return {"error": sentence(error)}

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
        self._query = flows.start(self._spark, order, available_now=False)
        return {}

    def _stop(self, _order: Order) -> dict[str, Any]:
        query, self._query = self._query, None
        return {"batches": []} if query is None else flows.stop(query)


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
