"""Filter nodes as verdicts."""

from heliograph.flow.definition import FlowDefinition, NodeDefinition
from heliograph.flow.engine import select_module
from heliograph.flow.language import parse_program
from heliograph.pipeline.flows.native.conditions import Conditions
from heliograph.pipeline.flows.native.constants import constants
from heliograph.pipeline.flows.native.documents import Document
from heliograph.pipeline.flows.native.verdicts import NotNative, Verdict

_MAIN = "MAIN"


def filter_verdict(definition: FlowDefinition, node: NodeDefinition, document: Document) -> Verdict:
    """What a Filter decides; `NotNative` if that is for Python."""
    file = node.properties["esql"]
    program = parse_program(definition.sources[file], file, "FILTER")
    module = select_module(program, node.properties["module"], "FILTER")
    if program.declarations or program.schema or program.path:
        raise NotNative("declarations outside of the module")
    names = constants(module.declarations, definition.parameters)
    for routine in module.routines:
        if routine.name.upper() == _MAIN and routine.body is not None:
            return Conditions(document, names).returned((routine.body,))
    raise NotNative("a module without Main")
