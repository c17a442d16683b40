"""Starts a flow as a streaming query: one query that reads, processes, and writes all outputs."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from heliograph.common.ports import PAGES_URL
from heliograph.flow.definition import FlowDefinition, single_partition
from heliograph.pipeline.errors import InvalidOption
from heliograph.pipeline.flows.aggregation.fan_in import fan_ins
from heliograph.pipeline.flows.aggregation.starting import Aggregation
from heliograph.pipeline.flows.deploying import check_deployable, check_folder_suffices, sends_messages_only
from heliograph.pipeline.flows.effect_rows import SCHEMA, SINK_DDL
from heliograph.pipeline.flows.flow_reading import NAME as READING
from heliograph.pipeline.flows.flow_reading import FlowReading, reading_option
from heliograph.pipeline.flows.outlets.data_source import NAME, FlowOutputs
from heliograph.pipeline.flows.outlets.parquet import DAY
from heliograph.pipeline.flows.outlets.plan import OutputsPlan
from heliograph.pipeline.flows.outputs import SOURCE_DDL, Flow, definition_of, messages_of
from heliograph.pipeline.flows.processing import FlowJob
from heliograph.pipeline.flows.reachable import reachable
from heliograph.pipeline.flows.routes import DEAD_LETTERS, Route, Routes
from heliograph.pipeline.flows.sending import MessagesOnly, Sending
from heliograph.pipeline.sink.options import SinkOptions, sink_options
from heliograph.pipeline.source.options import source_options as checked_source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_OF_THE_SINK = ("user", "password", "ca", "cert", "key")
"""Options that only the sink knows: the pages, from which streams are read, need no user."""
_OF_THE_SERVER = ("server", *_OF_THE_SINK)
STATE, SHARED = "state", "shared"
_NEEDS = {
    STATE: "because databases of the flow are in it unless state says where",
    SHARED: "because the flow's SHARED variables are kept in it",
}


def start_flow(
    spark: "SparkSession",
    definition: Flow,
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
    to, and `user` and `password` may be among them for that. If they name the folder of a log instead, all outputs have
    to go to files or tables. `trigger` is the time between micro-batches (`1 second`);
    without it they follow each other. `input_node` is needed if the flow has several inputs. `state` is the folder of
    SQLite files that data sources name; all executors have to reach it (default: `flow` in the checkpoint).
    `lookup_cache` is how many answers of databases each process keeps. A flow that cannot run on Spark is a `Problem`
    that says why.
    """
    flow = definition_of(definition)
    entry = check_deployable(flow, input_node, routes)
    routes = _absolute(routes)
    schemas = _json_schemas(routes)
    _check_partitions(routes, schemas)
    messages_only = sends_messages_only(flow, entry, routes) and not fan_ins(flow, reachable(flow, entry).values())
    sending = MessagesOnly if messages_only else Sending
    job = FlowJob.of(
        flow,
        entry,
        str(Path(state).absolute()) if state else str(checkpoint_folder(checkpoint, STATE) / "flow"),
        lookup_cache=lookup_cache,
        sending=sending(routes, _origins(flow), schemas),
        shared=str(checkpoint_folder(checkpoint, SHARED) / "shared") if single_partition(flow.settings) else "",
    )
    for_source = {name: value for name, value in source_options.items() if name.lower() not in _OF_THE_SINK}
    server = _server(source_options)
    if server is None:
        check_folder_suffices(flow, entry, routes, _address(source_options))
    aggregation = None
    if messages_only:
        assert server is not None, "a folder takes no messages"
        writer = _published(spark, flow, job, for_source, server)
    else:
        spark.dataSource.register(FlowOutputs)
        rows = spark.readStream.format("heliograph").schema(SOURCE_DDL).options(**for_source).load()
        plan = OutputsPlan(routes, schemas, server)
        outputs = messages_of(rows, flow, entry).mapInArrow(job.__call__, SINK_DDL)
        aggregation = Aggregation.of(flow, job, source_options, plan)
        if aggregation is None:
            writer = outputs.writeStream.format(NAME).option("plan", plan.text())
        else:
            writer = aggregation.write(outputs)
    writer = writer.option("checkpointLocation", checkpoint)
    if name:
        writer = writer.queryName(name)
    if available_now:
        writer = writer.trigger(availableNow=True)
    elif trigger:
        writer = writer.trigger(processingTime=trigger)
    return writer.start() if aggregation is None else aggregation.start(writer)


def checkpoint_folder(checkpoint: str, need: str) -> Path:
    """The folder that a checkpoint is, as a path or as a URL; a Problem says what `need` is if it is elsewhere."""
    scheme, colon, path = checkpoint.partition(":")
    if not colon or "/" in scheme:
        return Path(checkpoint).absolute()
    if scheme.lower() != "file" or not path.startswith("/"):
        raise InvalidOption(f"checkpoint: expected a folder, or file:///FOLDER, {_NEEDS[need]}, found {checkpoint}")
    return Path("/" + path.lstrip("/"))


def _published(
    spark: "SparkSession", flow: FlowDefinition, job: FlowJob, source: Mapping[str, str], server: SinkOptions
) -> "DataStreamWriter":
    """A flow all of whose outputs are messages: tasks publish them while they read, and nothing is left to write."""
    from pyspark.sql.types import StructType  # noqa: PLC0415 - as above

    columns = StructType.fromDDL(SOURCE_DDL)
    assert isinstance(columns, StructType)
    spark.dataSource.register(FlowReading)
    option = reading_option(
        checked_source(source, streaming=True), columns, job, server, one_task=single_partition(flow.settings)
    )
    return spark.readStream.format(READING).option("reading", option).load().writeStream.format("noop")


def _origins(flow: FlowDefinition) -> dict[str, str]:
    return {name: str(node.properties.get("queue", "")) for name, node in flow.nodes.items() if "Input" in node.type}


def _address(source_options: Mapping[str, str]) -> str:
    return next((value for name, value in source_options.items() if name.lower() == "server"), PAGES_URL)


def _server(source_options: Mapping[str, str]) -> SinkOptions | None:
    """Where messages go; None if the folder of a log is read without its server."""
    if "://" not in _address(source_options):
        return None
    given = {name.lower(): value for name, value in source_options.items()}
    return sink_options({name: given[name] for name in _OF_THE_SERVER if name in given}, streaming=True)


def _absolute(routes: Routes) -> Routes:
    """Folders as all processes know them."""

    def absolute(name: str, route: Route) -> Route:
        if route.kind != "parquet":
            return route
        path = route.target.removeprefix("file://")
        if "://" in path:
            raise InvalidOption(
                f"route of {name}: expected a folder that the driver and all executors reach, found {route.target}"
            )
        return replace(route, target=str(Path(path).absolute()))

    by_node = {node: absolute(node, route) for node, route in routes.by_node.items()}
    return Routes(by_node, absolute(DEAD_LETTERS, routes.dead_letters))


def _json_schemas(routes: Routes) -> dict[str, pa.Schema]:
    """The columns of routes with JSON, by node."""
    from pyspark.errors import PySparkException  # noqa: PLC0415 - only some routes need Spark's types
    from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415
    from pyspark.sql.types import StructType  # noqa: PLC0415

    if routes.dead_letters.json_schema:
        raise InvalidOption(f"route of {DEAD_LETTERS}: what failed is kept as it came; leave out format=json")
    schemas = {}
    for node, route in routes.by_node.items():
        if route.json_schema:
            try:
                columns = StructType.fromDDL(route.json_schema)
                assert isinstance(columns, StructType)
                schemas[node] = to_arrow_schema(columns, timezone="UTC")
            except PySparkException as error:
                message = str(error).strip().splitlines()[0]
                raise InvalidOption(f"route of {node}: {route.json_schema!r} is no schema: {message}") from error
    return schemas


def _check_partitions(routes: Routes, schemas: Mapping[str, pa.Schema]) -> None:
    for node, route in (*routes.by_node.items(), (DEAD_LETTERS, routes.dead_letters)):
        columns = [*schemas.get(node, SCHEMA).names, DAY]
        for column in route.partition:
            if column not in columns:
                raise InvalidOption(
                    f"route of {node}: there is no column {column} to partition by; there are: {columns}"
                )
