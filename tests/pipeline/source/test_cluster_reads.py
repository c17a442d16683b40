"""A stream is read by all workers of a cluster, each its own pieces."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from heliograph.mqtt import Publish
from pipeline.cluster import Cluster
from pipeline.source.plants import CONFIG, Plant
from running import Serve

WHO_READS = """
import json, sys

def count(batches):
    import os
    import pyarrow as pa

    numbers = [int(payload) for batch in batches for payload in batch["payload"].to_pylist()]
    told = {"directory": os.getcwd(), "rows": len(numbers), "sum": sum(numbers)}
    yield pa.RecordBatch.from_pylist([told])

reading = spark.read.format("heliograph").options(server=sys.argv[1], stream="plant", minPartitions="4")
told = reading.load().mapInArrow(count, "directory string, rows long, sum long").collect()
print(json.dumps([row.asDict() for row in told]))
spark.stop()
"""

FOLLOW = """
import sys

reading = spark.readStream.format("heliograph").options(
    server=sys.argv[1], stream="plant", startingOffsets="earliest", maxMessagesPerTrigger="1000", minPartitions="4"
)
writer = reading.load().writeStream.format("parquet").option("path", sys.argv[2])
query = writer.option("checkpointLocation", sys.argv[3]).trigger(availableNow=True).start()
query.awaitTermination()
print(len([one for one in query.recentProgress if one["numInputRows"]]))
spark.stop()
"""


@pytest.mark.timeout(300)
def test_both_workers_read_the_server(cluster: Cluster, serve: Serve, tmp_path: Path) -> None:
    plant = Plant(serve(CONFIG), tmp_path / "data")
    plant.publish(Publish(f"plant/{number % 16}", b"%05d" % number) for number in range(40_000))
    told = json.loads(cluster.run(WHO_READS, plant.url))
    assert sum(part["rows"] for part in told) == 40_000
    assert sum(part["sum"] for part in told) == sum(range(40_000))
    assert len({part["directory"] for part in told if part["rows"]}) == 2


@pytest.mark.timeout(600)
def test_a_query_on_a_cluster_takes_each_message_once_and_goes_on_where_it_was(
    cluster: Cluster, serve: Serve, tmp_path: Path
) -> None:
    plant = Plant(serve(CONFIG), tmp_path / "data")
    places = (str(tmp_path / "out"), str(tmp_path / "checkpoint"))
    for first, end in ((0, 2_500), (2_500, 3_500)):
        plant.publish_numbers(first, end, topics=16)
        batches = int(cluster.run(FOLLOW, plant.url, *places))
        assert batches >= (end - first) // 1000
        found = pq.read_table(tmp_path / "out", columns=["payload"])["payload"].to_pylist()
        assert sorted(map(int, found)) == list(range(end))
