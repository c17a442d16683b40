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
connections:
  - In.out -> Out
"""
FLOW_WITH_FILES = f"""
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
    def rows(self) -> list[Row] | None:
        """What its files have, as their readers see them; None if it writes none."""

    @abstractmethod
    def queue(self, server: str) -> list[bytes] | None:
        """What it has put into a queue, which is empty then; None if it uses none. `server` is the URL for AMQP."""


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
    """Stream to a flow to a queue: one process of each task reads, runs the flow and publishes."""

    flow = FLOW
    sinks: tuple[str, ...] = ()

    def __init__(self, folder: Path) -> None:
        self.checkpoint = folder / "checkpoint"
        self._flow = folder / "flow"
        self._flow.mkdir()
        write_flow(self._flow, self.flow)

    def command(self, server: str) -> list[str]:
        words = ["--server", server, "--source", f"stream:{STREAM}", "--from", "earliest", *self.sinks]
        words += ["--checkpoint", str(self.checkpoint), "--most-messages", MOST]
        words += ["--conf", "spark.driver.memory=1g", "--conf", f"spark.driver.extraJavaOptions={QUICK}"]
        return helio("pipeline", "run", str(self._flow), *words)

    def rows(self) -> list[Row] | None:
        return None

    def queue(self, server: str) -> list[bytes] | None:
        found: list[bytes] = []
        with connect(server) as connection, connection.session() as session, session.consumer(OUTPUT) as consumer:
            while (message := consumer.receive_nowait()) is not None:
                found.append(message.body)
        return found


class AFlowWithFiles(AFlow):
    """The same, and the flow makes Parquet files too, so that Spark's driver takes part in what is committed."""

    flow = FLOW_WITH_FILES

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._files = folder / "files"
        self.sinks = ("--sink", f"Kept=parquet:{self._files}")

    def rows(self) -> list[Row] | None:
        return rows(files_that_show(self._files))


PIPELINES: dict[str, Callable[[Path], Subject]] = {"files": ToFiles, "flow": AFlow, "flow-files": AFlowWithFiles}
"""All of them, by the name of the load."""
