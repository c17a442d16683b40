"""Checking programs and their statements: what may be changed, labels, handlers, and where each statement may stand.

`check_program` gives mistakes and warnings together; the former mean that the program must not be compiled. At most
`MOST_MISTAKES` are collected: the rest would be consequences.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from heliograph.flow.errors import EsqlMistake
from heliograph.flow.language.esql import syntax
from heliograph.flow.language.esql.builtin_functions import FUNCTIONS, OVERRIDABLE, WITHOUT_PARENTHESES
from heliograph.flow.language.esql.checking.expression_checking import (
    OTHER_LANGUAGES,
    ExpressionChecker,
    TooManyMistakes,
    correlation_name,
)
from heliograph.flow.language.esql.checking.scopes import Library, Scope, Variable, variables_of
from heliograph.flow.language.esql.names import TERMINALS
from heliograph.flow.language.esql.source_text import MOST_MISTAKES, Source, suggestion

_COMPLEX = ("ROW", "REFERENCE", "CORRELATION")
_NOT_EXTERNAL = ("INTERVAL", "ROW", "REFERENCE")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a statement stands."""

    scope: Scope
    routine: syntax.Routine
    labels: tuple[tuple[str, bool], ...] = ()
    """From outside to inside; True for loops."""
    in_handler: bool = False

    def inside(self, label: str | None = None, *, loop: bool = False) -> "Place":
        """The place of statements in one that stands here."""
        labels = (*self.labels, (label, loop)) if label is not None else self.labels
        return replace(self, scope=self.scope.inside(), labels=labels)


class StatementChecker(ExpressionChecker):
    """Checks the statements of routines."""

    def __init__(self, source: Source, kind: str, library: Library) -> None:
        super().__init__(source, kind, library)
        self._checks: dict[type[syntax.Statement], Callable[[Any, Place], None]] = {
            syntax.Declaration: self._declaration,
            syntax.HandlerDeclaration: self._handler,
            syntax.Block: lambda node, place: self.body(node.body, place.inside(node.label)),
            syntax.Set: self._set,
            syntax.CallStatement: self._call_statement,
            syntax.If: self._if,
            syntax.CaseStatement: self._case_statement,
            syntax.While: self._while,
            syntax.Repeat: self._repeat,
            syntax.Loop: lambda node, place: self.body(node.body, place.inside(node.label, loop=True)),
            syntax.For: self._for,
            syntax.Iterate: self._iterate,
            syntax.Leave: self._leave,
            syntax.Return: self._return,
            syntax.Throw: self._inserts,
            syntax.Log: self._inserts,
            syntax.Resignal: self._resignal,
            syntax.Eval: lambda node, place: self.expression(node.text, place.scope),
            syntax.Create: self._create,
            syntax.Delete: self._delete,
            syntax.Attach: self._attach,
            syntax.Detach: lambda node, place: self.reference_variable(node.reference, node.at, place.scope),
            syntax.Move: self._move,
            syntax.Propagate: self._propagate,
            syntax.Insert: self._insert,
            syntax.Update: self._update,
            syntax.DeleteRows: self._delete_rows,
            syntax.PassthruStatement: lambda node, place: self.passthru(node.passthru, place.scope),
            syntax.Commit: self._transaction,
            syntax.Rollback: self._transaction,
        }

    def body(self, statements: syntax.Body, place: Place) -> None:
        """Check statements, which declare names in the scope of the place."""
        for statement in statements:
            self.statement(statement, place)

    def statement(self, statement: syntax.Statement, place: Place) -> None:
        """Check one statement."""
        self._checks[type(statement)](statement, place)

    # Variables

    def _declaration(self, node: syntax.Declaration, place: Place) -> None:
        for word, used in (("SHARED", node.shared), ("EXTERNAL", node.external)):
            if used:
                self.report(node.at, f"{word} variables are declared in modules and schemas, not in routines")
        self.declaration(node, place.scope)

    def declaration(self, node: syntax.Declaration, scope: Scope) -> None:
        """Check a DECLARE, and make its names known."""
        kind = node.type.name
        if node.shared and kind == "REFERENCE":
            self.report(node.at, "a SHARED variable cannot be a REFERENCE; use ROW")
        if node.external and kind in _NOT_EXTERNAL:
            self.report(node.at, f"an EXTERNAL variable cannot be of type {kind}")
        if node.shared and node.external:
            self.report(node.at, "a SHARED variable is there to be changed: it cannot be EXTERNAL")
        if node.initial is None and (node.constant or kind in ("NAME", "NAMESPACE")) and not node.external:
            self.report(node.at, f"{', '.join(node.names)} is constant, so it needs a value")
        if node.type.precision is not None:
            self.report(node.type.at, "DECIMAL has a precision in CAST only, not in declarations")
        if kind == "REFERENCE" and isinstance(node.initial, syntax.FieldReference):
            self.reading(node.initial, scope)
        else:
            self.expression(node.initial, scope)
        for variable in variables_of(node):
            self._declare(variable, scope)

    def _declare(self, variable: Variable, scope: Scope) -> None:
        if variable.name.upper() in WITHOUT_PARENTHESES:
            self.report(variable.at, f"{variable.name} is a function, so a variable of this name cannot be read")
        before = scope.declare(variable)
        if before is not None:
            self.warn(variable.at, f"{variable.name} is declared again; the first time was in line {before.at.line}")

    def _set(self, node: syntax.Set, place: Place) -> None:
        variable = self._change(node.target, place)
        self.expression(node.value, place.scope)
        scalar = variable is not None and variable.kind not in _COMPLEX
        if node.aspect is not None and scalar:
            self.report(
                node.at, f"{node.target.correlation} is a variable, not a field: it has no {node.aspect} to set"
            )
        if node.aspect is None:
            self._check_list(node.target, node.value)

    def _check_list(self, target: syntax.FieldReference, value: syntax.Expression) -> None:
        """A list goes to `target[]`, and nothing else does."""
        last = target.steps[-1].index if target.steps else target.index
        if last is not syntax.Every.ONE and isinstance(value, syntax.ListOf):
            self.report(value.at, "LIST gives a list: set target[], or take one item by THE(...)")
        elif last is not syntax.Every.ONE and _is_list(value):
            self.warn(value.at, "this list goes to one field, which gets its first item: write [] or THE(...)")
        elif last is syntax.Every.ONE and isinstance(value, syntax.Literal) and value.type != "NULL":
            self.report(value.at, "target[] takes a list, not a single value")

    def _change(self, target: syntax.FieldReference, place: Place) -> Variable | None:
        return self.writing(target, place.scope)

    # Routines

    def _call_statement(self, node: syntax.CallStatement, place: Place) -> None:
        routine = self.call(node.call, place.scope)
        if node.field is not None:
            self.table(node.field, place.scope)
        self.expression(node.external_schema, place.scope)
        if node.into is not None:
            self._change(node.into, place)
            if routine is not None and routine.returns is None and routine.language == "ESQL":
                self.report(node.into.at, f"{routine.name} has no value to go INTO anything: it has no RETURNS")

    def _return(self, node: syntax.Return, place: Place) -> None:
        self.expression(node.value, place.scope)
        routine = place.routine
        if node.value is None and routine.returns is not None:
            self.warn(node.at, f"RETURN without a value gives NULL, but {routine.name} returns {routine.returns.name}")
        elif node.value is not None and routine.returns is None:
            self.report(node.at, f"{routine.name} cannot return a value: it has no RETURNS")

    # Statements in others

    def _if(self, node: syntax.If, place: Place) -> None:
        for branch in node.branches:
            self.expression(branch.condition, place.scope)
            self.body(branch.body, place.inside())
        self.body(node.otherwise, place.inside())

    def _case_statement(self, node: syntax.CaseStatement, place: Place) -> None:
        self.expression(node.operand, place.scope)
        for branch in node.branches:
            self.expression(branch.condition, place.scope)
            self.body(branch.body, place.inside())
        self.body(node.otherwise or (), place.inside())

    def _while(self, node: syntax.While, place: Place) -> None:
        self.expression(node.condition, place.scope)
        self.body(node.body, place.inside(node.label, loop=True))

    def _repeat(self, node: syntax.Repeat, place: Place) -> None:
        inner = place.inside(node.label, loop=True)
        self.body(node.body, inner)
        self.expression(node.until, inner.scope)

    def _for(self, node: syntax.For, place: Place) -> None:
        self.reading(node.source, place.scope)
        inner = place.inside(node.label, loop=True)
        inner.scope.declare(Variable(node.name, "CORRELATION", node.at))
        self.body(node.body, inner)

    def _iterate(self, node: syntax.Iterate, place: Place) -> None:
        self._label(node, place, [label for label, loop in place.labels if loop], "loop")

    def _leave(self, node: syntax.Leave, place: Place) -> None:
        self._label(node, place, [label for label, _ in place.labels], "loop or block")

    def _label(self, node: syntax.Iterate | syntax.Leave, place: Place, known: list[str], what: str) -> None:
        if node.label not in known:
            # Suggestions come without regard to case, which counts in labels.
            self.report(node.at, f"no {what} around this has the label {node.label}{suggestion(node.label, known)}")

    # Exceptions

    def _handler(self, node: syntax.HandlerDeclaration, place: Place) -> None:
        self.statement(node.body, replace(place.inside(), labels=(), in_handler=True))

    def _resignal(self, node: syntax.Resignal, place: Place) -> None:
        if not place.in_handler:
            self.report(node.at, "RESIGNAL stands in a handler only: elsewhere there is nothing to throw again")

    def _inserts(self, node: syntax.Throw | syntax.Log, place: Place) -> None:
        self.expressions((node.severity, node.catalog, node.message, *node.values), place.scope)

    # The tree, and other nodes

    def _create(self, node: syntax.Create, place: Place) -> None:
        scope = place.scope
        self._change(node.target, place)
        if node.reference is not None:
            self.reference_variable(node.reference, node.at, scope)
        if node.identity is not None:
            self.steps((node.identity,), scope)
        self.field_type(node.type, scope)
        self.expressions((node.domain, node.namespace, node.name, node.value, node.source), scope)
        if node.parse is not None:
            self.expression(node.parse.source, scope)
            self.expressions(tuple(value for _, value in node.parse.clauses), scope)

    def _delete(self, node: syntax.Delete, place: Place) -> None:
        self._change(node.target, place)

    def _attach(self, node: syntax.Attach, place: Place) -> None:
        self.reference_variable(node.reference, node.at, place.scope)
        self._change(node.target, place)

    def _move(self, node: syntax.Move, place: Place) -> None:
        scope = place.scope
        self.reference_variable(node.reference, node.at, scope)
        self.expressions((node.target, node.name), scope)
        if node.identity is not None:
            self.steps((node.identity,), scope)
        self.field_type(node.type, scope)
        if isinstance(node.namespace, syntax.Expression):
            self.expression(node.namespace, scope)

    def _propagate(self, node: syntax.Propagate, place: Place) -> None:
        if self._kind == "FILTER":
            self.report(node.at, "PROPAGATE is not there in a FILTER module: it returns TRUE, FALSE or UNKNOWN")
        terminal = node.terminal
        if isinstance(terminal, syntax.Literal) and terminal.value not in (*TERMINALS, *TERMINALS.values()):
            known = ", ".join([*TERMINALS.values(), *map(str, TERMINALS)])
            self.report(terminal.at, f"there is no terminal {terminal.value!r}; there are: {known}")
        self.expressions((node.terminal, node.label, node.environment, node.message, node.exception), place.scope)

    # Databases

    def _insert(self, node: syntax.Insert, place: Place) -> None:
        self.table(node.table, place.scope)
        self.expressions(node.values, place.scope)

    def _update(self, node: syntax.Update, place: Place) -> None:
        scope = self._rows(node, place)
        for assignment in node.assignments:
            self.expression(assignment.value, scope)
        self.expression(node.where, scope)

    def _delete_rows(self, node: syntax.DeleteRows, place: Place) -> None:
        self.expression(node.where, self._rows(node, place))

    def _rows(self, node: syntax.Update | syntax.DeleteRows, place: Place) -> Scope:
        """The scope in which the rows of the table have a name."""
        self.table(node.table, place.scope)
        scope = place.scope.inside()
        scope.declare(Variable(node.name or correlation_name(node.table), "CORRELATION", node.at))
        return scope

    def _transaction(self, node: syntax.Commit | syntax.Rollback, place: Place) -> None:
        if node.database is not None:
            self.table(node.database, place.scope)


def _is_list(value: syntax.Expression) -> bool:
    """Whether this gives a list, whatever it finds."""
    match value:
        case syntax.Select():
            return value.kind in ("ROWS", "ITEM")
        case syntax.FieldReference():
            return (value.steps[-1].index if value.steps else value.index) is syntax.Every.ONE
    return isinstance(value, syntax.Passthru)


# Checking routines, modules and whole programs.


def check_program(program: syntax.Program, others: Sequence[syntax.Program] = ()) -> list[EsqlMistake]:
    """What is wrong with a program that the parser has accepted, and warnings, in the order of the text.

    The others are the programs that are deployed with it: their routines and variables are known to it if they are of
    the same schema or on its PATH.
    """
    source = Source(program.text, program.file)
    library = Library(program, others)
    found = [*program.warnings, *_check_level(program, "", Scope(), source, library)]
    outer = Scope()
    _fill(outer, program)
    names: set[str] = set()
    mistakes = 0
    for module in program.modules:
        if module.name.upper() in names:
            found.append(source.mistake(*module.at, f"there is a module {module.name} already"))
        names.add(module.name.upper())
        new = [*_check_level(module, module.kind, outer.inside(), source, library), *_check_main(module, source)]
        found += new
        mistakes += sum(not mistake.warning for mistake in new)
        if mistakes >= MOST_MISTAKES:
            break
    return sorted(found, key=lambda mistake: (mistake.line, mistake.column))


def check_expression(
    expression: syntax.Expression, text: str, file: str = "", kind: str = "FILTER"
) -> list[EsqlMistake]:
    """What is wrong with an expression that stands alone and may use the names of a module of this kind."""
    checker = ExpressionChecker(Source(text, file), kind, Library(syntax.Program(), ()))
    with suppress(TooManyMistakes):
        checker.expression(expression, Scope())
    return checker.found


def _fill(scope: Scope, holder: syntax.Program | syntax.Module) -> None:
    """Make known what is declared in a program or module, wherever it stands there."""
    for declaration in holder.declarations:
        for variable in variables_of(declaration):
            scope.declare(variable)
    scope.routines |= {routine.name.upper(): routine for routine in holder.routines}


def _check_level(
    holder: syntax.Program | syntax.Module, kind: str, scope: Scope, source: Source, library: Library
) -> list[EsqlMistake]:
    """Check the declarations and routines of a program or a module."""
    checker = StatementChecker(source, kind, library)
    with suppress(TooManyMistakes):
        _check_holder(holder, scope, checker)
    return checker.found


def _check_holder(holder: syntax.Program | syntax.Module, scope: Scope, checker: StatementChecker) -> None:
    for declaration in holder.declarations:
        checker.declaration(declaration, scope)
    scope.routines |= {routine.name.upper(): routine for routine in holder.routines}
    seen: dict[str, syntax.Routine] = {}
    for routine in holder.routines:
        before = seen.setdefault(routine.name.upper(), routine)
        if before is not routine:
            checker.report(routine.at, f"there is a routine {routine.name} already, in line {before.at.line}")
        _check_routine(routine, scope, checker)


def _check_routine(routine: syntax.Routine, scope: Scope, checker: StatementChecker) -> None:
    if routine.name.upper() in FUNCTIONS and routine.name.upper() not in OVERRIDABLE:
        checker.report(routine.at, f"{routine.name} is a function of the language: a routine needs another name")
    if routine.language in OTHER_LANGUAGES:
        checker.warn(routine.at, f"routines in {routine.language} cannot run here; a Python node can do their work")
    elif routine.body is None and routine.language == "ESQL":
        checker.report(routine.at, f"{routine.name} is external: say where by LANGUAGE DATABASE")
    elif routine.body is not None and routine.language == "DATABASE":
        checker.report(routine.at, f"{routine.name} is in the database: it has an EXTERNAL NAME, not a body")
    if routine.kind == "FUNCTION" and routine.returns is None and routine.language == "ESQL":
        checker.warn(routine.at, f"the function {routine.name} has no RETURNS: it gives nothing, as a PROCEDURE")
    inner = scope.inside()
    for parameter in routine.parameters:
        constant = parameter.constant or parameter.type.name in ("NAME", "NAMESPACE")
        variable = Variable(parameter.name, parameter.type.name, parameter.at, constant, parameter=True)
        if inner.declare(variable) is not None:
            checker.report(parameter.at, f"{routine.name} has two parameters {parameter.name}")
    if routine.body is None:
        return
    checker.statement(routine.body, Place(inner, routine))
    if routine.returns is not None and not any(
        isinstance(item, syntax.Return | syntax.Throw) for item in _all(routine.body)
    ):
        checker.warn(routine.at, f"{routine.name} has no RETURN, so it gives NULL")


def _check_main(module: syntax.Module, source: Source) -> list[EsqlMistake]:
    """A node starts its module at Main."""
    mains = [routine for routine in module.routines if routine.name.upper() == "MAIN"]
    if not mains:
        text = f"the module {module.name} has no Main: CREATE FUNCTION Main() RETURNS BOOLEAN"
        return [source.mistake(*module.at, text)]
    if mains[0].parameters or (mains[0].returns is not None and mains[0].returns.name != "BOOLEAN"):
        return [source.mistake(*mains[0].at, "Main takes nothing and returns BOOLEAN: Main() RETURNS BOOLEAN")]
    return []


def _all(statement: syntax.Statement) -> Iterator[syntax.Statement]:
    """A statement and all that it holds."""
    yield statement
    for body in _bodies(statement):
        for inner in body:
            yield from _all(inner)


def _bodies(statement: syntax.Statement) -> Iterator[syntax.Body]:
    match statement:
        case syntax.Block() | syntax.While() | syntax.Repeat() | syntax.Loop() | syntax.For():
            yield statement.body
        case syntax.If() | syntax.CaseStatement():
            yield from (branch.body for branch in statement.branches)
            yield statement.otherwise or ()
        case syntax.HandlerDeclaration():
            yield (statement.body,)
