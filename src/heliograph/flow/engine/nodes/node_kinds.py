"""All types of nodes that a flow file can have."""

from collections.abc import Mapping

from heliograph.flow.engine.nodes import (
    aggregate_nodes,
    descriptor_nodes,
    esql_nodes,
    inputs,
    mapping,
    outputs,
    path_nodes,
    publication,
    python_nodes,
    tracing,
)
from heliograph.flow.engine.nodes.node_properties import NodeKind

_ALL = (
    inputs.QUEUE_INPUT,
    inputs.TOPIC_INPUT,
    inputs.FILE_INPUT,
    inputs.HTTP_INPUT,
    outputs.QUEUE_OUTPUT,
    outputs.QUEUE_REPLY,
    outputs.FILE_OUTPUT,
    outputs.HTTP_REPLY,
    esql_nodes.COMPUTE,
    esql_nodes.FILTER,
    esql_nodes.DATABASE,
    mapping.KIND,
    path_nodes.KIND,
    path_nodes.TRY_CATCH,
    path_nodes.THROW,
    path_nodes.ROUTE_TO_LABEL,
    path_nodes.LABEL,
    aggregate_nodes.AGGREGATE_CONTROL,
    aggregate_nodes.AGGREGATE_REQUEST,
    aggregate_nodes.AGGREGATE_REPLY,
    publication.KIND,
    descriptor_nodes.KIND,
    tracing.KIND,
    python_nodes.KIND,
)

KINDS: Mapping[str, NodeKind] = {kind.name: kind for kind in _ALL}
"""By name. (Subflow, and Input and Output inside of one, are resolved when a flow is loaded.)"""
