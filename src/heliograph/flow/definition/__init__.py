"""Flow files: what a flow consists of, read from its folder and checked before anything runs.

`load_flow` is the way in. This is what other rooms use of it; modules of flows import from the modules themselves.
"""

from typing import TYPE_CHECKING

from heliograph.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from heliograph.flow.definition.flow import Connection, FlowDefinition, NodeDefinition, single_partition
    from heliograph.flow.definition.flow_loading import flow_file, load_flow
    from heliograph.flow.definition.mistakes import DefinitionProblem, Findings, Mistake, known, suggestion

__getattr__ = lazy_names(
    __name__,
    {
        "flow": "Connection FlowDefinition NodeDefinition single_partition",
        "flow_loading": "flow_file load_flow",
        "mistakes": "DefinitionProblem Findings Mistake known suggestion",
    },
)


__all__ = [
    "Connection",
    "DefinitionProblem",
    "Findings",
    "FlowDefinition",
    "Mistake",
    "NodeDefinition",
    "flow_file",
    "known",
    "load_flow",
    "single_partition",
    "suggestion",
]
