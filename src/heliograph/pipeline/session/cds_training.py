"""A session that does a little of everything that pipelines do, so that its class archive has what they need.

Run as a program, with the file of the archive as its argument.
"""

import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import StructType

from heliograph.pipeline.session.archive import options_to_make
from heliograph.pipeline.session.session import build_session

_ROWS = 100


class Numbers(DataSource):
    """A stream of numbers, made up in the workers: what matters are Spark's classes around a source in Python."""

    @classmethod
    def name(cls) -> str:
        return "numbers"

    def schema(self) -> str:
        return "id long, time timestamp"

    def streamReader(self, schema: StructType) -> "NumbersReader":  # noqa: N802 - Spark's name
        return NumbersReader()


class NumbersReader(DataSourceStreamReader):
    """One batch of numbers, in two partitions."""

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
        return {"end": 0}

    def latestOffset(self) -> dict[str, int]:  # type: ignore[override]  # noqa: N802 - Spark's name
        return {"end": _ROWS}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return [InputPartition(0), InputPartition(1)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        ids = pa.array(range(_ROWS), pa.int64())
        yield pa.record_batch([ids, ids.cast(pa.timestamp("us", "UTC"))], names=["id", "time"])


def practise(spark: SparkSession, directory: Path) -> None:
    """A stream into Parquet, a stream with state, and queries over what came out."""
    spark.dataSource.register(Numbers)
    numbers = spark.readStream.format("numbers").load()
    mapped = numbers.mapInArrow(lambda batches: batches, "id long, time timestamp")
    files = mapped.withColumn("day", F.to_date("time")).writeStream.partitionBy("day").format("parquet")
    _run(files, directory / "files")
    counts = numbers.withWatermark("time", "1 minute").groupBy(F.window("time", "1 minute"), F.col("id") % 3).count()
    _run(counts.writeStream.format("noop").outputMode("update"), directory / "counts")
    stored = spark.read.parquet(str(directory / "files" / "out"))
    stored.withColumn("json", F.to_json(F.struct("id"))).groupBy("json").agg(F.max("id")).orderBy("json").collect()


def _run(writer: DataStreamWriter, directory: Path) -> None:
    writer = writer.option("checkpointLocation", str(directory / "checkpoint")).option("path", str(directory / "out"))
    writer.trigger(availableNow=True).start().awaitTermination()


def main() -> None:
    """Practise, and wait until Java has written the archive."""
    archive = Path(sys.argv[1])
    options = {"spark.driver.extraJavaOptions": " ".join(options_to_make(archive))}
    # An AOT cache also keeps what the better compiler learned; for the others that would be time lost.
    spark = build_session("class archive", conf=options, quick=archive.suffix != ".aot")
    with tempfile.TemporaryDirectory() as directory:
        practise(spark, Path(directory))
    gateway = spark.sparkContext._gateway
    spark.stop()
    if gateway is not None:
        gateway.proc.stdin.close()
        gateway.proc.wait()


if __name__ == "__main__":
    main()
