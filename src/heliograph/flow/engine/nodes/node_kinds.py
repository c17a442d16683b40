"""All types of nodes that a flow file can have."""

from collections.abc import Mapping

from heliograph.flow.engine.node import NodeKind
from heliograph.flow.engine.nodes import (
    aggregate_nodes,
    esql_nodes,
    input_nodes,
    output_nodes,
    path_nodes,
    publication_node,
    python_nodes,
    trace_node,
)

_ALL = (
    input_nodes.QUEUE_INPUT,
    input_nodes.TOPIC_INPUT,
    input_nodes.FILE_INPUT,
    input_nodes.HTTP_INPUT,
    output_nodes.QUEUE_OUTPUT,
    output_nodes.QUEUE_REPLY,
    output_nodes.FILE_OUTPUT,
    output_nodes.HTTP_REPLY,
    esql_nodes.COMPUTE,
    esql_nodes.FILTER,
    esql_nodes.DATABASE,
    esql_nodes.MAPPING,
    path_nodes.FLOW_ORDER,
    path_nodes.TRY_CATCH,
    path_nodes.THROW,
    path_nodes.ROUTE_TO_LABEL,
    path_nodes.LABEL,
    aggregate_nodes.AGGREGATE_CONTROL,
    aggregate_nodes.AGGREGATE_REQUEST,
    aggregate_nodes.AGGREGATE_REPLY,
    publication_node.KIND,
    path_nodes.RESET_CONTENT_DESCRIPTOR,
    trace_node.KIND,
    python_nodes.KIND,
)

KINDS: Mapping[str, NodeKind] = {kind.name: kind for kind in _ALL}
"""By name. (Subflow, and Input and Output inside of one, are resolved when a flow is loaded.)"""
