"""Loading a flow: its folder is read, its subflows and parameters are put in, and all of it is checked.

`load_flow` gives a `FlowDefinition`, or raises a `DefinitionProblem` with every mistake that was found. The steps, in
this order: `flow_document` reads a file, `subflows` puts subflows and parameters in, `node_checking` checks nodes and
connections, and `file_checking` the ESQL, mappings, models and Python that nodes name.
"""

from heliograph.flow.loading.flow_loading import flow_file, load_flow

__all__ = ["flow_file", "load_flow"]
