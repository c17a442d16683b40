"""What a pipeline is: a flow or a job, where its messages come from, and where its outputs go."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from heliograph.common.ports import PAGES_URL
from heliograph.common.suggestions import closest_name
from heliograph.pipeline.errors import InvalidOption

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
"""Its folder has this name, and a file name has 255 bytes at most."""
_SOURCES = {"stream": "stream", "topic": "topic"}
"""What stands before the colon of a source, and the option of `format("heliograph")` that it is."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A pipeline; a Problem says what is wrong with it."""

    name: str
    source: str
    """`stream:NAME` or `topic:FILTER`."""
    folder: Path
    """Where its status is, on this machine; and its checkpoint and the databases of its flow, unless said."""
    flow: str = ""
    """The folder of a flow; or else `job`."""
    job: str = ""
    """A Python file with `build(spark, settings)`, which starts queries and returns them."""
    sinks: Mapping[str, str] = field(default_factory=dict)
    """Where the outputs of a flow go, by node."""
    server: str = PAGES_URL
    """The URL of the server's pages, or the folder of its log."""
    user: str = ""
    password: str = ""
    env: str = ""
    """The environment of the flow's parameters."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of the flow, or of the job."""
    input_node: str = ""
    """The input of the flow that messages go into, if there are several."""
    starting: str = ""
    """Where to begin when there is no checkpoint: earliest, latest, offsets by partition, or a time."""
    ending: str = ""
    """Where to end, for a run over a range; the same forms."""
    fail_on_data_loss: bool = True
    """Whether it fails if messages are gone before it has read them."""
    most_messages: int = 0
    """Messages in a batch at most; 0 is no limit."""
    interval: float = 0.0
    """Least seconds between two batches."""
    lookup_cache: int = 0
    """Answers of databases that each process keeps."""
    state: str = ""
    """The folder of the flow's embedded databases, if not in `folder`: one that all of a cluster can reach."""
    master: str = ""
    conf: Mapping[str, str] = field(default_factory=dict)
    checkpoint: str = ""
    """Where Spark keeps its checkpoint, if not in the folder: a path or URL that all of a cluster can reach."""

    def __post_init__(self) -> None:
        """Check for settings that cannot work."""
        if not _NAME.fullmatch(self.name):
            raise InvalidOption(
                f'expected letters, digits, "-", "_" and "." as the name of a pipeline, a letter or digit first, '
                f"at most 200, found {self.name[:210]!r}"
            )
        for mistake in self._mistakes():
            raise InvalidOption(f"pipeline {self.name}: {mistake}")

    def _mistakes(self) -> list[str]:
        found = []
        if bool(self.flow) == bool(self.job):
            found.append(f"expected a flow or a job, found {'both' if self.flow else 'neither'}")
        kind, _, rest = self.source.partition(":")
        if kind not in _SOURCES or not rest:
            close = closest_name(kind, _SOURCES)
            hint = f" (did you mean {close}:{rest or 'NAME'}?)" if close and kind not in _SOURCES else ""
            found.append(f"expected stream:NAME or topic:FILTER as source, found {self.source!r}{hint}")
        if self.job:
            found += [
                f"{what} is for flows; a job does that itself"
                for what, given in (
                    ("a sink", self.sinks),
                    ("an environment", self.env),
                    ("an input node", self.input_node),
                    ("a look-up cache", self.lookup_cache),
                    ("a folder of databases", self.state),
                )
                if given
            ]
        if "://" in self.state:
            found.append(f"expected a folder as state, found {self.state!r}")
        return found

    @property
    def source_options(self) -> dict[str, str]:
        """The options of `format("heliograph")` for reading."""
        kind, _, rest = self.source.partition(":")
        options = {"server": self.server, _SOURCES[kind]: rest}
        if self.starting:
            options["startingOffsets"] = self.starting
        if self.ending:
            options["endingOffsets"] = self.ending
        if self.most_messages:
            options["maxMessagesPerTrigger"] = str(self.most_messages)
        if not self.fail_on_data_loss:
            options["failOnDataLoss"] = "false"
        return options

    @property
    def sink_options(self) -> dict[str, str]:
        """The options of `format("heliograph")` for writing."""
        given = {"server": self.server, "user": self.user, "password": self.password}
        return {key: value for key, value in given.items() if value}

    @property
    def spark_checkpoint(self) -> str:
        """Where Spark keeps its checkpoint."""
        return self.checkpoint or str(self.folder / "checkpoint")

    @property
    def state_folder(self) -> str:
        """Where the embedded databases of the flow are."""
        return self.state or str(self.folder / "state")

    @property
    def trigger(self) -> str | None:
        """The time between batches as Spark says it; None if they follow each other."""
        return f"{round(self.interval * 1000)} milliseconds" if self.interval else None


@dataclass(frozen=True, slots=True)
class JobSettings:
    """The settings that `build(spark, settings)` of a job gets.

    def build(spark, settings):
        messages = spark.readStream.format("heliograph").options(**settings.source_options).load()
        query = messages.writeStream.format("parquet").option("path", settings.parameters["path"])
        return [query.trigger(**settings.trigger).option("checkpointLocation", settings.checkpoint("raw")).start()]
    """

    pipeline: Pipeline
    once: bool
    """Whether queries are to end when they have done what is there (`availableNow`)."""

    @property
    def name(self) -> str:
        return self.pipeline.name

    @property
    def source_options(self) -> dict[str, str]:
        """The options of `format("heliograph")` for reading."""
        return self.pipeline.source_options

    @property
    def sink_options(self) -> dict[str, str]:
        """The options of `format("heliograph")` for writing."""
        return self.pipeline.sink_options

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What `set` says."""
        return self.pipeline.parameters

    @property
    def trigger(self) -> dict[str, Any]:
        """The arguments of `writeStream.trigger`."""
        if self.once:
            return {"availableNow": True}
        return {"processingTime": self.pipeline.trigger or "0 seconds"}

    def checkpoint(self, query: str) -> str:
        """The checkpoint of one of the queries, each of which needs a name of its own."""
        return f"{self.pipeline.spark_checkpoint}/{query}"
