"""A flow on any DataFrame of messages: its outputs as rows."""

from datetime import datetime
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING

from heliograph.flow.definition import FlowDefinition, single_partition
from heliograph.flow.engine import CompiledFlow
from heliograph.flow.inline import read_flow_settings
from heliograph.flow.loading import load_flow
from heliograph.pipeline.errors import NotDeployable
from heliograph.pipeline.flows.deploying import check_deployable
from heliograph.pipeline.flows.effect_rows import DDL
from heliograph.pipeline.flows.native.marking import decided
from heliograph.pipeline.flows.processing import FlowJob
from heliograph.pipeline.flows.routes import Routes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Flow = FlowDefinition | CompiledFlow | str | Path
"""A flow: its folder, its definition, or compiled."""

_NEEDED = {
    "stream": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "topic": "string",
    "payload": "binary",
    "text": "boolean",
    "qos": "int",
    "expiry": "bigint",
    "content_type": "string",
    "correlation": "binary",
    "reply_to": "string",
    "properties": "map<string,string>",
    "message_id": "string",
}
"""Columns that a flow looks at; all but the payload may be missing."""
SOURCE_DDL = ", ".join(f"`{name}` {kind}" for name, kind in _NEEDED.items())
"""The same as the schema of `format("heliograph")`."""


def flow_outputs(
    df: "DataFrame",
    flow: Flow,
    input_node: str | None = None,
    *,
    state: str | None = None,
    lookup_cache: int = 0,
    now: datetime | None = None,
) -> "DataFrame":
    """What the flow makes of the messages of a DataFrame: one row for each output, `effect_rows.DDL`.

    The DataFrame has the columns of `format("heliograph")`, or at least `payload`. `input_node` is needed if the flow
    has several inputs. `state` is the folder of SQLite files that data sources name. `now` is the time that the flow
    sees, if that is not to be when it runs. Nothing is sent; Database nodes do what they do.
    """
    definition = definition_of(flow)
    entry = check_deployable(definition, input_node, Routes())
    job = FlowJob.of(definition, entry, state_folder(state, definition), lookup_cache=lookup_cache, now=now)
    return messages_of(df, definition, entry).mapInArrow(job.__call__, DDL)


def messages_of(df: "DataFrame", definition: FlowDefinition, entry: str) -> "DataFrame":
    """The columns that a flow looks at, and what Spark has decided; in one partition if the flow wants that."""
    if "payload" not in df.columns:
        raise NotDeployable(f"a flow needs a column payload; there are: {', '.join(df.columns)}")
    chosen = df.select(*(df[name].cast(kind).alias(name) for name, kind in _NEEDED.items() if name in df.columns))
    # Without a shuffle: the parts of a stream come one after the other, each in its order.
    return decided(chosen.coalesce(1) if single_partition(definition.settings) else chosen, definition, entry)


def definition_of(flow: Flow) -> FlowDefinition:
    """The definition of a flow."""
    if isinstance(flow, CompiledFlow):
        return flow.definition
    return flow if isinstance(flow, FlowDefinition) else load_flow(flow)


def state_folder(state: str | None, definition: FlowDefinition) -> str:
    """Where SQLite files of data sources are, if the flow does not say it with an absolute path."""
    if state is None:
        for name, url in read_flow_settings(definition).data_sources.items():
            if not url or (url.startswith("sqlite") and not url.startswith("sqlite:////")):
                raise NotDeployable(
                    f"flow {definition.name}: data source {name} is a file of SQLite; say with `state` in which "
                    "folder, which all executors have to reach"
                )
    return str(Path(state or Path(gettempdir()) / f"heliograph-{definition.name}").absolute())
