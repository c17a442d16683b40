"""Finds out, at compile time, where a node may change its input tree in place instead of copying it.

The rule of the engine is: a node never changes a tree that it received, because branches of the flow share it. A copy
for each Compute node costs much for large messages. It can be left out if the tree came from a Compute node over the
only connection of its terminal, to a node without any other input: then nobody else refers to the tree. Two more cases
keep the copy: a PROPAGATE in the maker, which may go on with its output trees afterwards, and a connected `failure`
terminal, which must get the message as it was."""

from collections.abc import Sequence

from heliograph.flow.definition import NodeDefinition
from heliograph.flow.engine.compilation import Compilation
from heliograph.flow.engine.esql_programs import MESSAGE, parse_others, select_module, syntax_nodes
from heliograph.flow.language.esql import syntax
from heliograph.flow.language.esql.parsing.program_parsing import parse_program

COMPUTE = "COMPUTE"


def maker_of_trees(definition: NodeDefinition, compilation: Compilation) -> NodeDefinition | None:
    """Return the Compute node whose output trees reach this node only, if this node has no other input."""
    if compilation.observed:
        return None
    connections = compilation.definition.connections
    into = [connection for connection in connections if connection.target == definition.name]
    if len(into) != 1:
        return None
    source = compilation.definition.nodes[into[0].source]
    beside = [each for each in connections if (each.source, each.terminal) == (source.name, into[0].terminal)]
    return source if source.type == "Compute" and len(beside) == 1 else None


def propagates(definition: NodeDefinition, compilation: Compilation) -> Sequence[syntax.Propagate]:
    """Return the PROPAGATE statements of a Compute node: its program may go on with its output trees behind one."""
    file, text = compilation.source(definition, "esql")
    program = parse_program(text, file, COMPUTE)
    programs = [program, *parse_others(compilation.definition.sources, file)]
    return [each for each in syntax_nodes(programs) if isinstance(each, syntax.Propagate)]


def is_message_moved(definition: NodeDefinition, compilation: Compilation) -> bool:
    """Whether a Compute node may use the tree of its input message as its output message, without a copy.

    That is so if its program begins with SET OutputRoot = InputRoot and never reads its input again, and no other node
    reads it, even if this node fails.
    """
    maker = maker_of_trees(definition, compilation)
    if maker is None or not _has_message(maker) or not _has_message(definition) or propagates(maker, compilation):
        return False
    if any((each.source, each.terminal) == (definition.name, "failure") for each in compilation.definition.connections):
        return False
    file, text = compilation.source(definition, "esql")
    program = parse_program(text, file, COMPUTE)
    module = select_module(program, definition.properties["module"], COMPUTE)
    shared = [(each.declarations, each.routines) for each in parse_others(compilation.definition.sources, file)]
    return _begins_with_copy(module) and _copies_once((module, program.declarations, program.routines, shared))


def _has_message(definition: NodeDefinition) -> bool:
    return "message" in definition.properties["mode"] or definition.properties["mode"] == "all"


def _begins_with_copy(module: syntax.Module) -> bool:
    for routine in module.routines:
        body = routine.body
        if routine.name.upper() == "MAIN" and isinstance(body, syntax.Block) and body.label is None:
            for statement in body.body:
                if isinstance(statement, syntax.Declaration) and statement.initial is None:
                    continue
                return _is_copy(statement)
    return False


def _is_copy(statement: syntax.Node) -> bool:
    if not isinstance(statement, syntax.Set) or not isinstance(statement.value, syntax.FieldReference):
        return False
    target, value = statement.target, statement.value
    named = (target.correlation.upper(), value.correlation.upper())
    return named == ("OUTPUTROOT", "INPUTROOT") and not (
        target.steps or target.index or value.steps or value.index or statement.aspect
    )


def _copies_once(code: object) -> bool:
    """Whether this code refers to the input message exactly once, and runs exactly once."""
    named = 0
    for node in syntax_nodes(code):
        if isinstance(node, syntax.FieldReference):
            named += node.correlation.lower() in MESSAGE
        # The text of an EVAL is not known here, and a call of Main would run the copy twice.
        elif isinstance(node, syntax.Eval) or (
            isinstance(node, syntax.Call) and node.name.upper().endswith(("EVAL", "MAIN"))
        ):
            return False
    return named == 1
