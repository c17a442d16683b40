"""EVAL: what the generator leaves behind for texts that come when the program runs."""

from heliograph.flow.language.esql import syntax
from heliograph.flow.language.esql.compiling.code import Code
from heliograph.flow.language.esql.compiling.context import Context, Standing
from heliograph.flow.language.esql.compiling.names import Binding, Kind
from heliograph.flow.language.esql.compiling.prefixes import ANY_TREE

MOST_NAMES = 100_000
"""Names that all EVALs of a file can use, together: the code that is made for an EVAL has each of them."""


def expression(context: Context, node: syntax.Call) -> Code:
    """EVAL(text) as an expression."""
    text = context.value(node.arguments[0])
    name, bindings = _surroundings(context, node, statement=False)
    context.prefixes.clear()
    context.reads.add(ANY_TREE)
    return Code(f"{context.use('evaluate')}({name}, {text.text}, ev, own, {_tuple(bindings)})")


def statement(context: Context, node: syntax.Eval) -> None:
    """EVAL(text) as a statement: it may change local variables."""
    text = context.value(node.text)
    name, bindings = _surroundings(context, node, statement=True)
    call = f"{context.use('run_text')}({name}, {text.text}, ev, own, {_tuple(bindings)})"
    context.emit(f"{_tuple(bindings)} = {call}" if bindings else call)
    for binding in bindings:
        context.assign(binding)
    context.prefixes.clear()


def _surroundings(context: Context, node: syntax.Node, *, statement: bool) -> tuple[str, list[Binding]]:
    visible = context.scope.visible()
    context.unit.names_for_evals += len(visible)
    if context.unit.names_for_evals > MOST_NAMES:
        raise context.problem(
            node, f"there are too many EVALs among too many variables: expected at most {MOST_NAMES} pairs of both"
        )
    bindings = [binding for binding in visible if binding.local_to is not None]
    if statement:
        bindings = [binding for binding in bindings if binding.kind is not Kind.CORRELATION]
    name = context.unit.names.new("SURROUNDINGS")
    context.unit.standings[name] = Standing(context.environment, visible, tuple(bindings), statement)
    return name, bindings


def _tuple(bindings: list[Binding]) -> str:
    return f"({', '.join(binding.python for binding in bindings)}{',' if len(bindings) == 1 else ''})"
