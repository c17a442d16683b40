"""A server with a stream, for tests that read it with Spark."""

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from configurations import PLANT
from heliograph.log.streams.stream_reader import StreamReader
from heliograph.mqtt import Publish
from plain_client import PlainClient
from running import PATIENCE, RunningServer

CONFIG = f"""{PLANT}partitions = 2
"""


class Plant:
    """A server whose stream `plant` can be filled, and where it is."""

    def __init__(self, server: RunningServer, directory: Path) -> None:
        self.server = server
        self.directory = directory
        """That of the log."""
        self.url = server.url("http").rstrip("/")

    def publish(self, messages: Iterable[Publish]) -> None:
        """Publish messages, and wait until they can be read."""
        with StreamReader(self.directory, "plant") as reader, PlainClient(self.server.port).connected() as client:
            expected = sum(latest for _, latest in reader.extents())
            for message in messages:
                client.send(message)
                expected += 1
            wait_until(lambda: sum(latest for _, latest in reader.extents()) >= expected)

    def publish_numbers(self, first: int, end: int, topics: int = 5) -> None:
        """Publish numbers as payloads to topics plant/0, plant/1 ... in turn."""
        self.publish(Publish(f"plant/{number % topics}", str(number).encode()) for number in range(first, end))

    def ends(self) -> dict[int, tuple[int, int]]:
        """The earliest and latest offset by partition."""
        with StreamReader(self.directory, "plant") as reader:
            return dict(enumerate(reader.extents()))

    def read(self, spark: SparkSession, **options: Any) -> DataFrame:
        """A batch read of the stream, over HTTP unless said."""
        return spark.read.format("heliograph").options(**{"server": self.url, "stream": "plant", **options}).load()

    def read_stream(self, spark: SparkSession, **options: Any) -> DataFrame:
        """A streaming read of the stream from its beginning, unless said."""
        given = {"server": self.url, "stream": "plant", "startingOffsets": "earliest", **options}
        return spark.readStream.format("heliograph").options(**given).load()


def numbers(frame: DataFrame) -> list[int]:
    """The payloads of all rows as numbers, in order."""
    return sorted(int(row.payload) for row in frame.select("payload").collect())


def wait_until(condition: Callable[[], object]) -> None:
    """Wait for something that soon is true."""
    give_up = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(0.02)
