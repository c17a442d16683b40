"""Programs: their routines as Python functions, their modules as functions that can be run."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from heliograph.flow.language.esql import syntax
from heliograph.flow.language.esql.compiling.assignments import (
    check_declared,
    converted,
    gives_back,
    kind_of,
    scalar_type,
)
from heliograph.flow.language.esql.compiling.context import Context, Environment, Frame, KnownRoutine, Unit
from heliograph.flow.language.esql.compiling.path_compiling import local_names
from heliograph.flow.language.esql.compiling.prefixes import Prefixes
from heliograph.flow.language.esql.compiling.python_names import Binding, BindingKind, Names, Scope
from heliograph.flow.language.esql.compiling.statement_compiling import (
    first_reference,
    first_row,
    initial_value,
    note_constant,
    one,
)


class ProgramWriter:
    """Writes all functions of a program, and of others whose schemas it uses."""

    def __init__(self, unit: Unit, programs: Sequence[syntax.Program], generators: Mapping[type, Any]) -> None:
        self._unit = unit
        self._generators = generators
        self._programs = programs
        self._variables = Names()
        """Attributes of what holds the variables of modules and schemas."""
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
        """What is known outside of modules."""
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
        """The function that gives variables of a module or a schema their first values."""
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
        """Python of the first value of a variable."""
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
        """Put the head of the function, and the trees it uses, before its lines."""
        lines = [head, *(f"    {name} = ev.{tree}" for name, tree in context.frame.roots.items())]
        if len(self._unit.body) == at or all(line.lstrip().startswith("#") for line in self._unit.body[at:]):
            self._unit.body.append("    pass")
        self._unit.insert(at, lines)
        self._unit.body += ["", ""]
