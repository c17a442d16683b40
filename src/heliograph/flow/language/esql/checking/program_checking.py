"""Checking routines, modules and whole programs."""

from collections.abc import Iterator, Sequence
from contextlib import suppress

from heliograph.flow.errors import EsqlMistake
from heliograph.flow.language.esql.builtin_functions import FUNCTIONS, YIELDING
from heliograph.flow.language.esql.checking.expression_checking import (
    OTHER_LANGUAGES,
    ExpressionChecker,
    TooManyMistakes,
)
from heliograph.flow.language.esql.checking.scopes import Library, Scope, Variable, variables_of
from heliograph.flow.language.esql.checking.statement_checking import Place, StatementChecker
from heliograph.flow.language.esql.source_text import MOST_MISTAKES, Source
from heliograph.flow.language.esql.syntax import (
    Block,
    Body,
    CaseStatement,
    Expression,
    For,
    HandlerDeclaration,
    If,
    Loop,
    Module,
    Program,
    Repeat,
    Return,
    Routine,
    Statement,
    Throw,
    While,
)


def check_program(program: Program, others: Sequence[Program] = ()) -> list[EsqlMistake]:
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


def check_expression(expression: Expression, text: str, file: str = "", kind: str = "FILTER") -> list[EsqlMistake]:
    """What is wrong with an expression that stands alone and may use the names of a module of this kind."""
    checker = ExpressionChecker(Source(text, file), kind, Library(Program(), ()))
    with suppress(TooManyMistakes):
        checker.expression(expression, Scope())
    return checker.found


def _fill(scope: Scope, holder: Program | Module) -> None:
    """Make known what is declared in a program or module, wherever it stands there."""
    for declaration in holder.declarations:
        for variable in variables_of(declaration):
            scope.declare(variable)
    scope.routines |= {routine.name.upper(): routine for routine in holder.routines}


def _check_level(
    holder: Program | Module, kind: str, scope: Scope, source: Source, library: Library
) -> list[EsqlMistake]:
    """Check the declarations and routines of a program or a module."""
    checker = StatementChecker(source, kind, library)
    with suppress(TooManyMistakes):
        _check_holder(holder, scope, checker)
    return checker.found


def _check_holder(holder: Program | Module, scope: Scope, checker: StatementChecker) -> None:
    for declaration in holder.declarations:
        checker.declaration(declaration, scope)
    scope.routines |= {routine.name.upper(): routine for routine in holder.routines}
    seen: dict[str, Routine] = {}
    for routine in holder.routines:
        before = seen.setdefault(routine.name.upper(), routine)
        if before is not routine:
            checker.report(routine.at, f"there is a routine {routine.name} already, in line {before.at.line}")
        _check_routine(routine, scope, checker)


def _check_routine(routine: Routine, scope: Scope, checker: StatementChecker) -> None:
    if routine.name.upper() in FUNCTIONS and routine.name.upper() not in YIELDING:
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
    if routine.returns is not None and not any(isinstance(item, Return | Throw) for item in _all(routine.body)):
        checker.warn(routine.at, f"{routine.name} has no RETURN, so it gives NULL")


def _check_main(module: Module, source: Source) -> list[EsqlMistake]:
    """A node starts its module at Main."""
    mains = [routine for routine in module.routines if routine.name.upper() == "MAIN"]
    if not mains:
        text = f"the module {module.name} has no Main: CREATE FUNCTION Main() RETURNS BOOLEAN"
        return [source.mistake(*module.at, text)]
    if mains[0].parameters or (mains[0].returns is not None and mains[0].returns.name != "BOOLEAN"):
        return [source.mistake(*mains[0].at, "Main takes nothing and returns BOOLEAN: Main() RETURNS BOOLEAN")]
    return []


def _all(statement: Statement) -> Iterator[Statement]:
    """A statement and all that it holds."""
    yield statement
    for body in _bodies(statement):
        for inner in body:
            yield from _all(inner)


def _bodies(statement: Statement) -> Iterator[Body]:
    match statement:
        case Block() | While() | Repeat() | Loop() | For():
            yield statement.body
        case If() | CaseStatement():
            yield from (branch.body for branch in statement.branches)
            yield statement.otherwise or ()
        case HandlerDeclaration():
            yield (statement.body,)
