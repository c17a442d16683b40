"""All types of nodes that a flow file can have."""

from collections.abc import Mapping

from heliograph.flow.engine.nodes import (
    aggregation,
    content,
    esql,
    inputs,
    mapping,
    outputs,
    paths,
    publication,
    python,
    tracing,
)
from heliograph.flow.engine.nodes.properties import NodeKind

_ALL = (
    inputs.QUEUE_INPUT,
    inputs.TOPIC_INPUT,
    inputs.FILE_INPUT,
    inputs.HTTP_INPUT,
    outputs.QUEUE_OUTPUT,
    outputs.QUEUE_REPLY,
    outputs.FILE_OUTPUT,
    outputs.HTTP_REPLY,
    esql.COMPUTE,
    esql.FILTER,
    esql.DATABASE,
    mapping.KIND,
    paths.KIND,
    paths.TRY_CATCH,
    paths.THROW,
    paths.ROUTE_TO_LABEL,
    paths.LABEL,
    aggregation.AGGREGATE_CONTROL,
    aggregation.AGGREGATE_REQUEST,
    aggregation.AGGREGATE_REPLY,
    publication.KIND,
    content.KIND,
    tracing.KIND,
    python.KIND,
)

KINDS: Mapping[str, NodeKind] = {kind.name: kind for kind in _ALL}
"""By name. (Subflow, and Input and Output inside of one, are resolved when a flow is loaded.)"""
