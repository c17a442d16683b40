"""What is killed in a run with a pipeline: a program that writes files, or a flow that `helio pipeline run` runs."""

import sys
from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from faults.pipelines.outputs import files_of_spark, files_that_show, rows
from faults.pipelines.rules import Row
from heliograph.client import connect
from running import helio
from small_flows import write_flow

STREAM = "load"
MOST = "100"
"""Messages in a micro-batch: few, so that there are many batches to be interrupted."""
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Java's options for jobs of a few seconds."""
OUTPUT = "OUT"
_TO_FILES = Path(__file__).with_name("to_files.py")
FLOW = f"""
nodes:
  In: {{type: TopicInput, topic: "{STREAM}/#", domain: BLOB}}
  Out: {{type: QueueOutput, queue: {OUTPUT}}}
  Kept: {{type: QueueOutput, queue: KEPT}}
connections:
  - In.out -> Out
  - In.out -> Kept
"""


class Subject(Protocol):
    """A pipeline."""

    checkpoint: Path

    @abstractmethod
    def command(self, server: str) -> list[str]:
        """What runs it; `server` is the URL of the server's pages."""

    @abstractmethod
    def rows(self) -> list[Row]:
        """What its files have, as their readers see them."""

    @abstractmethod
    def queue(self, server: str) -> list[bytes] | None:
        """What it has put into a queue, which is empty then; `server` is the URL of the server's AMQP listener."""


class ToFiles(Subject):
    """Stream to Parquet files by Spark's own sink, which has a log of the files that count."""

    def __init__(self, folder: Path) -> None:
        self.checkpoint = folder / "checkpoint"
        self._files = folder / "files"

    def command(self, server: str) -> list[str]:
        return [sys.executable, str(_TO_FILES), server, STREAM, MOST, str(self.checkpoint), str(self._files)]

    def rows(self) -> list[Row]:
        return rows(files_of_spark(self._files))

    def queue(self, server: str) -> list[bytes] | None:
        return None


class AFlow(Subject):
    """Stream to a flow; what it makes goes to a queue and to Parquet files."""

    def __init__(self, folder: Path) -> None:
        self.checkpoint = folder / "checkpoint"
        self._files = folder / "files"
        self._flow = folder / "flow"
        self._flow.mkdir()
        write_flow(self._flow, FLOW)

    def command(self, server: str) -> list[str]:
        words = ["--server", server, "--source", f"stream:{STREAM}", "--from", "earliest"]
        words += ["--sink", f"Kept=parquet:{self._files}", "--checkpoint", str(self.checkpoint)]
        words += ["--most-messages", MOST, "--conf", "spark.driver.memory=1g"]
        return helio("pipeline", "run", str(self._flow), *words, "--conf", f"spark.driver.extraJavaOptions={QUICK}")

    def rows(self) -> list[Row]:
        return rows(files_that_show(self._files))

    def queue(self, server: str) -> list[bytes] | None:
        found: list[bytes] = []
        with connect(server) as connection, connection.session() as session, session.consumer(OUTPUT) as consumer:
            while (message := consumer.receive_nowait()) is not None:
                found.append(message.body)
        return found


PIPELINES: dict[str, Callable[[Path], Subject]] = {"files": ToFiles, "flow": AFlow}
"""All of them, by the name of the load."""
