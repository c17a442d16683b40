"""Starts a flow as a streaming query: one query that reads, processes, and writes all outputs."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from heliograph.flow.definition.flow import FlowDefinition
from heliograph.flow.definition.loading import load_flow
from heliograph.pipeline.flows.routes import Routes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery


def start_flow(
    spark: "SparkSession",
    definition: FlowDefinition | str | Path,
    *,
    source_options: Mapping[str, str],
    routes: Routes,
    checkpoint: str,
    trigger: str | None = None,
    available_now: bool = False,
    input_node: str | None = None,
    state: str | None = None,
    lookup_cache: int = 0,
    name: str | None = None,
) -> "StreamingQuery":
    """Run a flow on a stream until the query is stopped, or (`available_now`) until it has done what is there.

    `source_options` are those of `format("heliograph")`; the server they name is also the one that messages are sent
    to. `trigger` is the time between micro-batches (`1 second`); without it they follow each other. `input_node` is
    needed if the flow has several inputs. `state` is the folder of SQLite files that data sources name; all executors
    have to reach it (default: `flow` in the checkpoint). `lookup_cache` is how many answers of databases each process
    keeps. A flow that cannot run on Spark is a `Problem` that says why.
    """
    flow = definition if isinstance(definition, FlowDefinition) else load_flow(definition)
    raise AssertionError(f"flow {flow.name}: the runner follows")
