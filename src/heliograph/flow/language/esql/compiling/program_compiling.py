"""Compiles whole programs, texts of EVAL, and filter expressions: the entry points of the compiler.

`ProgramWriter` writes the functions of a program. `_load` adds imports and constants, compiles and executes the text,
and keeps the map from Python lines to ESQL statements. The layout of the text is:

    from heliograph.flow...runtime.field_paths import ABSENT, find      # only what the program uses
    _DECIMAL = Type.DECIMAL                                             # constants
    def _Invoice_Main(ev, own): ...                                     # a function for each routine
    def _run_Invoice(ev): ...                                           # sets up variables, calls Main
"""

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
    path_compiling,
    routines,
    selects,
    sql,
    statement_compiling,
)
from heliograph.flow.language.esql.compiling.assignments import (
    check_declared,
    converted,
    gives_back,
    kind_of,
    scalar_type,
)
from heliograph.flow.language.esql.compiling.context import Context, Environment, EvalSite, Frame, KnownRoutine, Unit
from heliograph.flow.language.esql.compiling.path_compiling import local_names
from heliograph.flow.language.esql.compiling.python_names import (
    Binding,
    BindingKind,
    Names,
    Prefixes,
    Scope,
    import_lines,
)
from heliograph.flow.language.esql.compiling.statement_compiling import (
    first_reference,
    first_row,
    initial_value,
    note_constant,
    one,
)
from heliograph.flow.language.esql.parsing.program_parsing import parse_expression, parse_program
from heliograph.flow.language.esql.runtime.compiled_program import CompiledModule, CompiledProgram, Place, Places
from heliograph.flow.language.esql.runtime.eval_propagate import EvalCompiler
from heliograph.flow.language.esql.runtime.evaluation import Evaluation

# Programs: their routines as Python functions, their modules as functions that can be run.


class ProgramWriter:
    """Writes the functions of a program and of the other programs whose schemas it uses."""

    def __init__(self, unit: Unit, programs: Sequence[syntax.Program], generators: Mapping[type, Any]) -> None:
        self._unit = unit
        self._generators = generators
        self._programs = programs
        self._variables = Names()
        """Attribute names for the variables of modules and schemas (`runtime.assigning.Variables`)."""
        self._scopes: dict[str, Scope] = {}
        """The variables of each schema."""
        self._known: dict[str, dict[str, KnownRoutine]] = {}
        """The routines of each schema."""
        self.runs: list[tuple[syntax.Module, str]] = []
        """Modules of the first program, and the functions that run them."""

    def write(self) -> None:
        """Write everything."""
        for program in self._programs:
            schema = ".".join(program.schema)
            self._known.setdefault(schema.upper(), {}).update(self._named(program.routines, schema))
            self._scopes.setdefault(schema.upper(), Scope())
        environments = [self._environment(program) for program in self._programs]
        own = list(zip(self._programs, environments, strict=True))
        starts = [self._declare_schema(program, environment) for program, environment in own]
        for program, environment in own:
            scope = self._scopes[".".join(program.schema).upper()]
            self._routines(environment, scope, program.routines)
        for module in self._programs[0].modules:
            self._module(self._programs[0], environments[0], module, [start for start in starts if start])

    def _named(self, routines: Sequence[syntax.Routine], prefix: str) -> dict[str, KnownRoutine]:
        return {
            routine.name.upper(): KnownRoutine(
                routine,
                self._unit.names.new(f"{prefix.replace('.', '_')}_{routine.name}" if prefix else routine.name),
                f"{prefix}.{routine.name}" if prefix else routine.name,
            )
            for routine in routines
        }

    def _environment(self, program: syntax.Program) -> Environment:
        """Return what routines outside of modules can refer to."""
        schema = ".".join(program.schema)
        routines: dict[str, KnownRoutine] = {}
        for name in [*(".".join(path) for path in reversed(program.path)), schema]:
            routines.update(self._known.get(name.upper(), {}))
        for name, known in self._known.items():
            routines.update({f"{name}.{key}": value for key, value in known.items() if name})
        return Environment("", schema, program.file, routines, program.text.split("\n"), schema)

    def _declare_schema(self, program: syntax.Program, environment: Environment) -> str:
        schema = ".".join(program.schema)
        scope = self._scopes[schema.upper()]
        return self._declarations(environment, scope, program.declarations, schema)

    def _module(self, program: syntax.Program, around: Environment, module: syntax.Module, starts: list[str]) -> None:
        label = ".".join([*program.schema, module.name]) if module.name else ".".join(program.schema)
        known = self._named(module.routines, module.name)
        environment = replace(around, kind=module.kind, routines={**around.routines, **known})
        scope = Scope(self._path_scope(program))
        start = self._declarations(environment, scope, module.declarations, label)
        self._routines(environment, scope, module.routines)
        main = known.get("MAIN")
        if main is None:
            return
        run = self._unit.names.new(f"run_{module.name or 'statements'}")
        lines = self._unit.body
        begun = [name for name in [*starts, start] if name]
        lines += [f"def {run}(ev):", f"    own = {self._unit.use('Variables')}()" if begun else "    own = None"]
        lines += [f"    {name}(ev, own)" for name in begun]
        lines += [f"    return {main.python}(ev, own)", "", ""]
        self.runs.append((module, run))

    def _path_scope(self, program: syntax.Program) -> Scope:
        scope: Scope | None = None
        for name in [*(".".join(path) for path in reversed(program.path)), ".".join(program.schema)]:
            known = self._scopes.get(name.upper())
            if known is not None:
                scope = Scope(scope, known.bindings)
        return scope or Scope()

    def _declarations(
        self, environment: Environment, scope: Scope, declarations: Sequence[syntax.Declaration], label: str
    ) -> str:
        """Write the function that initialises the variables of a module or a schema; return its name."""
        if not declarations:
            return ""
        name = self._unit.names.new(f"start_{label.replace('.', '_') or 'variables'}")
        context = self._context(environment, scope)
        at = len(self._unit.body)
        for node in declarations:
            context.place(node)
            for variable in node.names:
                self._declare(context, scope, node, variable, f"{label}.{variable}".upper())
        self._finish(context, at, f"def {name}(ev, own):")
        return name

    def _declare(self, context: Context, scope: Scope, node: syntax.Declaration, name: str, key: str) -> None:
        check_declared(context, node.type)
        binding = Binding(name, "", kind_of(node.type), scalar_type(node.type), fields=node.type.qualifier)
        if node.shared:
            binding.python = f"ev.shared.values[{key!r}]"
            known, context.prefixes = context.prefixes, Prefixes()
            context.emit(f"if {key!r} not in ev.shared.values:")
            with context.indented():
                first = context.temporary(name)
                context.emit(f"{first} = {self._first(context, node, binding)}")
                context.emit(f"ev.shared.initialise({key!r}, lambda: {first})")
            context.prefixes = known
        else:
            first = self._first(context, node, binding)
            binding.python = f"own.{self._variables.new(name)}"
            if node.external:
                target = f"{context.use('Type')}.{binding.type.name}" if binding.type is not None else "None"
                first = f"{context.use('external')}(ev, {name!r}, {target}, {first})"
            context.emit(f"{binding.python} = {first}")
        note_constant(binding, node)
        scope.declare(binding)

    def _first(self, context: Context, node: syntax.Declaration, binding: Binding) -> str:
        """Return Python of the initial value of a variable."""
        if binding.kind is BindingKind.ROW:
            return first_row(context, node, binding.name)
        if binding.kind is BindingKind.REFERENCE:
            return first_reference(context, node, binding.name)
        return converted(context, initial_value(context, node), binding.type, binding.fields)

    def _routines(self, environment: Environment, scope: Scope, routines: Sequence[syntax.Routine]) -> None:
        for routine in routines:
            if routine.body is not None:
                self._routine(environment, scope, routine)

    def _routine(self, environment: Environment, scope: Scope, routine: syntax.Routine) -> None:
        known = environment.routines[routine.name.upper()]
        context = self._context(replace(environment, label=known.label), Scope(scope))
        context.frame.returns = routine.returns
        parameters = []
        outputs = []
        for parameter in routine.parameters:
            python = context.temporary(parameter.name)
            parameters.append(python)
            binding = Binding(
                parameter.name, python, kind_of(parameter.type), scalar_type(parameter.type), context.frame
            )
            binding.constant = parameter.constant
            binding.fields = parameter.type.qualifier
            context.scope.declare(binding)
            if gives_back(parameter):
                outputs.append(python)
        if outputs:
            context.frame.result = lambda value: f"({', '.join([value, *outputs])})"
        at = len(self._unit.body)
        if routine.body is not None:
            one(context, routine.body)
        if outputs:
            context.emit(f"return {context.frame.result('None')}")
        self._finish(context, at, f"def {known.python}({', '.join(['ev', 'own', *parameters])}):")

    def _context(self, environment: Environment, scope: Scope) -> Context:
        return Context(self._unit, environment, Frame(local_names()), scope, self._generators)

    def _finish(self, context: Context, at: int, head: str) -> None:
        """Insert the `def` line, and the assignments of the trees it uses, before the body of the function."""
        lines = [head, *(f"    {name} = ev.{tree}" for name, tree in context.frame.roots.items())]
        if len(self._unit.body) == at or all(line.lstrip().startswith("#") for line in self._unit.body[at:]):
            self._unit.body.append("    pass")
        self._unit.insert(at, lines)
        self._unit.body += ["", ""]


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
    syntax.Throw: routines.throw,
    syntax.Log: routines.log,
    syntax.Resignal: routines.resignal,
    syntax.Eval: function_compiling.statement,
    syntax.Create: function_compiling.create,
    syntax.Delete: function_compiling.delete,
    syntax.Attach: function_compiling.attach,
    syntax.Detach: function_compiling.detach,
    syntax.Move: function_compiling.move,
    syntax.Propagate: function_compiling.propagate,
    syntax.Insert: sql.insert,
    syntax.Update: sql.update,
    syntax.DeleteRows: sql.delete_rows,
    syntax.PassthruStatement: sql.passthru_statement,
    syntax.Commit: sql.commit,
    syntax.Rollback: sql.rollback,
}
"""What writes each kind of syntax."""


def compile_program(program: syntax.Program, others: Sequence[syntax.Program] = ()) -> CompiledProgram:
    """Compile a program, which may use routines and constants of others by their schemas.

    Raises `CompilationError`.
    """
    programs = (program, *others)
    unit = Unit(program.file)
    writer = ProgramWriter(unit, programs, GENERATORS)
    writer.write()
    source, places, namespace = _load(unit)
    compiled = CompiledProgram(tuple((each.text, each.file, _kind(each)) for each in programs), source, compile_sources)
    for module, run in writer.runs:
        compiled.modules[module.name] = CompiledModule(compiled, module.kind, module.name, namespace[run], places)
    return compiled


def compile_sources(sources: Sequence[tuple[str, str, str]]) -> CompiledProgram:
    """Compile ESQL texts, each with its file name and the kind of module that statements without a module belong to."""
    first, *others = (parse_program(text, file, kind) for text, file, kind in sources)
    return compile_program(first, others)


def _kind(program: syntax.Program) -> str:
    return next((module.kind for module in program.modules if not module.name), "COMPUTE")


def _load(unit: Unit, around: Mapping[str, Any] | None = None) -> tuple[str, Places, dict[str, Any]]:
    """Compile and execute the Python of a unit; return its text, the places of its lines, and what it defines.

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
    for python, eval_site in unit.eval_sites.items():
        namespace[python] = EvalCompiler(partial(_compile_text, eval_site, namespace))
    try:
        code = compile(source, name, "exec")
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise _too_deep(unit, places, getattr(error, "lineno", None)) from error
    exec(code, namespace)  # noqa: S102 - it is what this module made
    return source, Places(name, places), namespace


def _too_deep(unit: Unit, places: Sequence[Place], line: int | None) -> CompilationError:
    """Return the error for code that is nested too deeply for Python's compiler."""
    before = [place for place in places if line is not None and place.python_line <= line]
    where = f"{before[-1].file}:{before[-1].line}" if before else unit.file
    return CompilationError(
        f"{where}: statements or expressions are nested too deep here: move the inner part to a routine"
    )


# EVAL


def _compile_text(eval_site: EvalSite, around: Mapping[str, Any], text: str) -> Callable[..., Any]:
    """Compile a text of EVAL to a function of the evaluation, the module's variables, and the local variables."""
    unit = Unit("EVAL", around)
    environment = eval_site.environment
    own = replace(environment, label="EVAL", file="EVAL", lines=text.split("\n"))
    frame = Frame(path_compiling.local_names())
    scope = Scope()
    for binding in eval_site.visible:
        scope.declare(binding)
    parameters = []
    for binding in eval_site.given:
        python = frame.names.new(binding.name)
        parameters.append(python)
        scope.declare(replace(binding, python=python, local_to=frame))
    context = Context(unit, own, frame, scope, GENERATORS)
    if eval_site.statement:
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
        code = assignments.source(context, node)
        context.emit(f"return {code.text}")
        unit.insert(0, ["def expression(ev, own=None):", *_roots(frame)])
        self.source, self._places, namespace = _load(unit)
        self._function: Callable[[Evaluation], Any] = namespace["expression"]

    def evaluate(self, evaluation: Evaluation) -> Any:
        """Return the result of the expression: a value, an element, or a list."""
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
