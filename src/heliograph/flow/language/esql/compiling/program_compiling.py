"""Compiling whole programs, texts of EVAL, and single expressions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from heliograph.flow.errors import CompilationError, FlowError
from heliograph.flow.language.esql import syntax
from heliograph.flow.language.esql.compiling import (
    assignments,
    expression_compiling,
    function_compiling,
    handlers,
    path_compiling,
    routines,
    selects,
    sql,
    statement_compiling,
    trees,
)
from heliograph.flow.language.esql.compiling.context import Context, Environment, Frame, Standing, Unit
from heliograph.flow.language.esql.compiling.modules import ProgramWriter
from heliograph.flow.language.esql.compiling.python_names import Scope, import_lines
from heliograph.flow.language.esql.parsing.program_parsing import parse_expression, parse_program
from heliograph.flow.language.esql.runtime.compiled_program import Compiled, CompiledModule, Place, Places
from heliograph.flow.language.esql.runtime.evaluating import Surroundings
from heliograph.flow.language.esql.runtime.evaluation import Evaluation

GENERATORS: Mapping[type, Any] = {
    syntax.Literal: expression_compiling.literal,
    syntax.Unary: expression_compiling.unary,
    syntax.Binary: expression_compiling.binary,
    syntax.Difference: expression_compiling.difference,
    syntax.Is: expression_compiling.is_test,
    syntax.Between: expression_compiling.between,
    syntax.In: expression_compiling.in_list,
    syntax.Like: expression_compiling.like,
    syntax.Quantified: selects.quantified,
    syntax.Case: expression_compiling.case,
    syntax.Cast: expression_compiling.cast,
    syntax.Call: function_compiling.call,
    syntax.Passthru: sql.passthru,
    syntax.Select: selects.select,
    syntax.Row: selects.row,
    syntax.ListOf: expression_compiling.list_of,
    syntax.FieldReference: path_compiling.field_value,
    syntax.Declaration: statement_compiling.declaration,
    syntax.Block: statement_compiling.block,
    syntax.Set: assignments.set_statement,
    syntax.CallStatement: routines.call_statement,
    syntax.If: statement_compiling.if_statement,
    syntax.CaseStatement: statement_compiling.case_statement,
    syntax.While: statement_compiling.while_statement,
    syntax.Repeat: statement_compiling.repeat_statement,
    syntax.Loop: statement_compiling.loop_statement,
    syntax.For: statement_compiling.for_statement,
    syntax.Iterate: statement_compiling.iterate,
    syntax.Leave: statement_compiling.leave,
    syntax.Return: statement_compiling.return_statement,
    syntax.Throw: handlers.throw,
    syntax.Log: handlers.log,
    syntax.Resignal: handlers.resignal,
    syntax.Eval: function_compiling.statement,
    syntax.Create: trees.create,
    syntax.Delete: trees.delete,
    syntax.Attach: trees.attach,
    syntax.Detach: trees.detach,
    syntax.Move: trees.move,
    syntax.Propagate: trees.propagate,
    syntax.Insert: sql.insert,
    syntax.Update: sql.update,
    syntax.DeleteRows: sql.delete_rows,
    syntax.PassthruStatement: sql.passthru_statement,
    syntax.Commit: sql.commit,
    syntax.Rollback: sql.rollback,
}
"""What writes each kind of syntax."""


def compile_program(program: syntax.Program, others: Sequence[syntax.Program] = ()) -> Compiled:
    """Compile a program, which may use routines and constants of others by their schemas.

    Raises `CompilationError`.
    """
    programs = (program, *others)
    unit = Unit(program.file)
    writer = ProgramWriter(unit, programs, GENERATORS)
    writer.write()
    source, places, namespace = _load(unit)
    compiled = Compiled(tuple((each.text, each.file, _kind(each)) for each in programs), source, compile_sources)
    for module, run in writer.runs:
        compiled.modules[module.name] = CompiledModule(compiled, module.kind, module.name, namespace[run], places)
    return compiled


def compile_sources(sources: Sequence[tuple[str, str, str]]) -> Compiled:
    """Compile ESQL texts (each with its file's name, and the kind of module that bare statements are)."""
    first, *others = (parse_program(text, file, kind) for text, file, kind in sources)
    return compile_program(first, others)


def _kind(program: syntax.Program) -> str:
    return next((module.kind for module in program.modules if not module.name), "COMPUTE")


def _load(unit: Unit, around: Mapping[str, Any] | None = None) -> tuple[str, Places, dict[str, Any]]:
    """Compile the Python of a unit: its text, where its lines come from, and what it defines.

    It can use what is defined `around` it.
    """
    head = import_lines(unit.imports)
    head += ["", *(f"{name} = {text}" for text, name in unit.constants.items()), "", ""]
    source = "\n".join([*head, *unit.body])
    name = f"<esql {unit.file}>"
    places = [
        Place(place.python_line + len(head), place.file, place.line, place.routine, place.statement)
        for place in unit.places
    ]
    namespace: dict[str, Any] = dict(around or {})
    for python, standing in unit.standings.items():
        namespace[python] = Surroundings(partial(_compile_text, standing, namespace))
    try:
        code = compile(source, name, "exec")
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise _too_deep(unit, places, getattr(error, "lineno", None)) from error
    exec(code, namespace)  # noqa: S102 - it is what this module made
    return source, Places(name, places), namespace


def _too_deep(unit: Unit, places: Sequence[Place], line: int | None) -> CompilationError:
    """What Python cannot take of what this module makes: the depth of things inside each other."""
    before = [place for place in places if line is not None and place.python_line <= line]
    where = f"{before[-1].file}:{before[-1].line}" if before else unit.file
    return CompilationError(
        f"{where}: statements or expressions are nested too deep here: move the inner part to a routine"
    )


# EVAL


def _compile_text(standing: Standing, around: Mapping[str, Any], text: str) -> Callable[..., Any]:
    """The function for a text of EVAL: of the evaluation, the module's variables, and the local ones."""
    unit = Unit("EVAL", around)
    environment = standing.environment
    own = replace(environment, label="EVAL", file="EVAL", lines=text.split("\n"))
    frame = Frame(path_compiling.local_names())
    scope = Scope()
    for binding in standing.visible:
        scope.declare(binding)
    parameters = []
    for binding in standing.given:
        python = frame.names.new(binding.name)
        parameters.append(python)
        scope.declare(replace(binding, python=python, local_to=frame))
    context = Context(unit, own, frame, scope, GENERATORS)
    if standing.statement:
        for module in parse_program(text if text.rstrip().endswith(";") else f"{text};", "EVAL", "FILTER").modules:
            for routine in module.routines:
                if isinstance(routine.body, syntax.Block):
                    statement_compiling.body(context, routine.body.body)
        context.emit(f"return ({''.join(f'{python}, ' for python in parameters)})")
    else:
        context.emit(f"return {context.value(parse_expression(text, 'EVAL')).text}")
    unit.insert(0, ["def evaluated(ev, own, " + ", ".join(parameters) + "):", *_roots(frame)])
    namespace = _load(unit, around)[2]
    function: Callable[..., Any] = namespace["evaluated"]
    return function


def _roots(frame: Frame) -> list[str]:
    return [f"    {name} = ev.{tree}" for name, tree in frame.roots.items()]


# Filters


class FilterExpression:
    """An expression over a message, for content-based subscriptions and the inserts of traces. Pickled as its text."""

    def __init__(self, text: str, file: str = "") -> None:
        self.text = text
        self.file = file
        unit = Unit(file or "expression")
        frame = Frame(path_compiling.local_names())
        environment = Environment("FILTER", "expression", file or "expression", {}, text.split("\n"))
        context = Context(unit, environment, frame, Scope(), GENERATORS)
        node = parse_expression(text, file)
        if (
            isinstance(node, syntax.FieldReference)
            and path_compiling.is_path(context, node)
            and not path_compiling.is_list(node)
        ):
            code = path_compiling.element(context, node)
        else:
            code = context.any(node)
        context.emit(f"return {code.text}")
        unit.insert(0, ["def expression(ev, own=None):", *_roots(frame)])
        self.source, self._places, namespace = _load(unit)
        self._function: Callable[[Evaluation], Any] = namespace["expression"]

    def evaluate(self, evaluation: Evaluation) -> Any:
        """Whatever the expression gives: a value, an element, or a list."""
        return self._function(evaluation)

    def __call__(self, evaluation: Evaluation) -> bool | None:
        """TRUE, FALSE or UNKNOWN; a `FlowError` if it is anything else."""
        result = self._function(evaluation)
        if result is None or result is True or result is False:
            return result
        raise FlowError(f"the filter {self.text!r} gives no truth value")

    def __reduce__(self) -> tuple[Any, ...]:
        return FilterExpression, (self.text, self.file)


def compile_filter_expression(text: str, file: str = "") -> FilterExpression:
    """An expression with the correlation names of a Filter node: Root, Body, Properties, ..."""
    return FilterExpression(text, file)
