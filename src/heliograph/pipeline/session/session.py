"""Build the SparkSession that pipelines run in."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from heliograph.pipeline import register
from heliograph.pipeline.session.java import find_java

_LOG4J = Path(__file__).with_name("log4j2.properties")


def build_session(
    name: str = "heliograph",
    *,
    master: str | None = None,
    conf: Mapping[str, str] = {},
    quick: bool = False,
) -> SparkSession:
    """A SparkSession with our data sources, on this machine unless `master` names a cluster.

    `conf` has the last word on every setting. `quick` is for tests and jobs of seconds: it starts sooner, and never
    compiles the code that runs long as well as Java could.
    """
    os.environ["JAVA_HOME"] = str(find_java().home)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    java_options = [f"-Dlog4j2.configurationFile=file:{_LOG4J}"]
    if quick:
        java_options += ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    cores = len(os.sched_getaffinity(0))
    settings = {
        "spark.master": master or f"local[{cores}]",
        "spark.driver.extraJavaOptions": " ".join(java_options),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": str(cores),
        "spark.sql.python.filterPushdown.enabled": "true",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
        "spark.sql.streaming.checkpointFileManagerClass": (
            "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
        ),
        **conf,
    }
    builder = SparkSession.builder.appName(name)
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    register(spark)
    return spark
