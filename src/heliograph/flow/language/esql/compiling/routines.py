"""Generators for calls of routines, and for error handling: DECLARE HANDLER, RESIGNAL, THROW and LOG.

A routine becomes a Python function. Python has no output parameters, so a routine that has some returns a tuple: its
result, then the values of its OUT and INOUT parameters. `SET y = P(x, x)` with an INOUT second parameter becomes

    P = _Invoice_P(ev, own, x, x)
    x = P[1]
    y = P[0]

An EXIT handler becomes an `except` around the rest of its block. With a CONTINUE handler the block goes on behind the
statement that failed, so each following statement has an `except` of its own, which calls a nested function:

    def resume(error):
        nonlocal n
        state = caught(ev, error)
        if state_like(state, '22%'):
            n = 0
        else:
            raise error
        return None
    try:
        n = convert(Body.value_of('A'), _INTEGER)
    except FAILURES as error_2:
        outcome = resume(error_2)
        if outcome is not None:     # the handler executed RETURN: the routine returns its value
            return outcome[0]
"""

from collections.abc import Iterator
from contextlib import contextmanager

from heliograph.flow.language.esql import syntax
from heliograph.flow.language.esql.compiling import assignments, path_compiling, sql
from heliograph.flow.language.esql.compiling.assignments import gives_back, kind_of, put, scalar_type, variable_of
from heliograph.flow.language.esql.compiling.context import Code, Context, KnownRoutine, Shape
from heliograph.flow.language.esql.compiling.path_compiling import steps_of
from heliograph.flow.language.esql.compiling.python_names import ANY_TREE, BindingKind
from heliograph.flow.language.values.types import Type


@contextmanager
def guarded(context: Context, handlers: list[syntax.HandlerDeclaration]) -> Iterator[None]:
    """Generate statements under the handlers of their block.

    An EXIT handler is the `except` part of the whole block. A CONTINUE handler is a nested function that every
    statement in the block calls when it fails.
    """
    if not handlers:
        yield
        return
    continuing = any(not handler.exits for handler in handlers)
    if continuing:
        resume = _resume_function(context, handlers)
        context.resumes = [*context.resumes, resume]
    if any(handler.exits for handler in handlers):
        context.emit("try:")
        with context.indented():
            yield
        if continuing:
            context.resumes = context.resumes[:-1]
        _exits(context, handlers)
    else:
        yield
        context.resumes = context.resumes[:-1]
    context.prefixes.clear()


def _exits(context: Context, handlers: list[syntax.HandlerDeclaration]) -> None:
    error, outer = context.temporary("error"), context.error
    context.error = error
    context.prefixes.clear()
    context.emit(f"except {context.use('FAILURES')} as {error}:")
    with context.indented():
        _choose(context, handlers, error, exits=True, otherwise="raise")
    context.error = outer


def _resume_function(context: Context, handlers: list[syntax.HandlerDeclaration]) -> str:
    name, error, outer = context.temporary("resume"), context.temporary("error"), context.error
    context.error = error
    with context.function(name, error) as frame:
        result = frame.result
        frame.result = lambda value: f"({result(value)},)"
        _choose(context, handlers, error, exits=False, otherwise=f"raise {error}")
        context.emit("return None")
    context.error = outer
    return name


def _choose(
    context: Context, handlers: list[syntax.HandlerDeclaration], error: str, *, exits: bool, otherwise: str
) -> None:
    """Generate the choice of a handler: the first whose states match runs if it is of this kind (EXIT or CONTINUE);
    in all other cases the statement `otherwise` runs."""
    state = context.temporary("state")
    context.emit(f"{state} = {context.use('caught')}(ev, {error})")
    for at, handler in enumerate(handlers):
        context.emit(f"{'if' if at == 0 else 'elif'} {_test(context, handler, state)}:")
        with context.indented():
            if handler.exits is exits:
                _body(context, handler)
            else:
                context.emit(otherwise)
    context.emit("else:")
    with context.indented():
        context.emit(otherwise)


def _body(context: Context, handler: syntax.HandlerDeclaration) -> None:
    context.prefixes.clear()
    context.place(handler)
    context.statement(handler.body)
    context.prefixes.clear()


def _test(context: Context, handler: syntax.HandlerDeclaration, state: str) -> str:
    tests = []
    for wanted in handler.states:
        if not wanted.like:
            tests.append(f"{state} == {wanted.text!r}")
        else:
            escape = "" if wanted.escape is None else f", {wanted.escape!r}"
            tests.append(f"{context.use('state_like')}({state}, {wanted.text!r}{escape})")
    return " or ".join(tests)


@contextmanager
def resumed(context: Context) -> Iterator[None]:
    """Generate a statement after which the program goes on if a CONTINUE handler handles its exception."""
    for _ in context.resumes:
        context.emit("try:")
        context.indent()
    before = len(context.unit.body)
    yield
    if len(context.unit.body) == before:
        context.emit("pass")
    for resume in reversed(context.resumes):
        context.dedent()
        error, outcome = context.temporary("error"), context.temporary("outcome")
        context.emit(f"except {context.use('FAILURES')} as {error}:")
        with context.indented():
            context.emit(f"{outcome} = {resume}({error})")
            context.emit(f"if {outcome} is not None:")
            with context.indented():
                context.emit(f"return {outcome}[0]")
    context.prefixes.clear()


def resignal(context: Context, node: syntax.Resignal) -> None:
    """RESIGNAL."""
    if context.error is None:
        raise context.problem(node, "RESIGNAL stands in handlers only")
    context.emit(f"raise {context.error}")


def throw(context: Context, node: syntax.Throw) -> None:
    """THROW."""
    context.emit(f"raise {context.use('thrown')}({', '.join(_clauses(context, node))})")


def log(context: Context, node: syntax.Log) -> None:
    """LOG."""
    texts = ["ev", f"trace={node.trace}"]
    if node.exception:
        texts.append(f"exception={context.error}")
    if node.full:
        texts.append("full=True")
    context.emit(f"{context.use('log')}({', '.join([*texts, *_clauses(context, node)])})")


def _clauses(context: Context, node: syntax.Throw | syntax.Log) -> list[str]:
    clauses = (("severity", node.severity), ("catalog", node.catalog), ("number", node.message))
    texts = [f"{name}={context.value(clause).text}" for name, clause in clauses if clause is not None]
    if node.values:
        texts.append(f"values=({''.join(f'{context.value(value).text}, ' for value in node.values)})")
    return texts


# Calls of routines. The parameters of a generated function are the evaluation, the variables of its module, and the
# parameters of the routine.


def call(context: Context, node: syntax.Call) -> Code:
    """A call of a routine, in an expression or by CALL."""
    known = find(context, node)
    if known.routine.language == "DATABASE":
        return sql.call_routine(context, node, known.routine)
    if known.routine.body is None:
        raise context.problem(node, f"{node.name} is written in {known.routine.language}, which is not run here")
    if len(node.arguments) != len(known.routine.parameters):
        raise context.problem(
            node, f"{node.name} takes {len(known.routine.parameters)} arguments, not {len(node.arguments)}"
        )
    outputs = [at for at, parameter in enumerate(known.routine.parameters) if gives_back(parameter)]
    if outputs and not context.hoisting:
        name = context.temporary(f"call_{node.name}")
        with context.function(name):
            context.emit(f"return {call(context, node).text}")
        return _result(f"{name}()", known.routine)
    arguments = [
        _argument(context, argument, parameter)
        for argument, parameter in zip(node.arguments, known.routine.parameters, strict=True)
    ]
    text = f"{known.python}({', '.join(['ev', 'own', *arguments])})"
    context.prefixes.clear()
    context.reads.add(ANY_TREE)
    if not outputs:
        return _result(text, known.routine)
    python = context.temporary(node.name)
    context.emit(f"{python} = {text}")
    for position, at in enumerate(outputs, 1):
        code = Code(f"{python}[{position}]", scalar_type(known.routine.parameters[at].type))
        put(context, node.arguments[at], code)
    return _result(f"{python}[0]", known.routine)


def find(context: Context, node: syntax.Call) -> KnownRoutine:
    """Find the routine that a call refers to."""
    name = ".".join([*node.schema, node.name]).upper()
    known = context.environment.routines.get(name)
    if known is None:
        raise context.problem(node, f"there is no routine {'.'.join([*node.schema, node.name])}")
    return known


def _result(text: str, routine: syntax.Routine) -> Code:
    if routine.returns is None:
        return Code(text, Type.NULL)
    kind = kind_of(routine.returns)
    if kind is BindingKind.SCALAR:
        return Code(text, scalar_type(routine.returns))
    return Code(text, None, True, Shape.ROW if kind is BindingKind.ROW else Shape.FIELD)


def _argument(context: Context, node: syntax.Expression, parameter: syntax.Parameter) -> str:
    kind = kind_of(parameter.type)
    if kind is BindingKind.SCALAR:
        if parameter.mode == "OUT":
            return "None"
        return assignments.converted(
            context, context.value(node), scalar_type(parameter.type), parameter.type.qualifier
        )
    if kind is BindingKind.REFERENCE:
        return _reference(context, node, parameter)
    return _row(context, node, parameter)


def _reference(context: Context, node: syntax.Expression, parameter: syntax.Parameter) -> str:
    binding = variable_of(context, node)
    if binding is not None and binding.kind is BindingKind.REFERENCE:
        return binding.python if parameter.mode != "IN" else f"{binding.python}.copy()"
    code = assignments.source(context, node)
    if code.shape is not Shape.FIELD or not isinstance(node, syntax.FieldReference):
        raise context.problem(node, f"{parameter.name} is a reference: a field is needed")
    root = path_compiling.base(context, node).text
    return f"{context.use('reference')}({code.text}, {root})"


def _row(context: Context, node: syntax.Expression, parameter: syntax.Parameter) -> str:
    if parameter.mode != "IN" and isinstance(node, syntax.FieldReference):
        return path_compiling.ensured(context, path_compiling.base(context, node), steps_of(context, node.steps))
    code = assignments.source(context, node)
    if code.shape is Shape.ROW:
        return f"({code.text} or {context.use('Element')}())"
    if code.shape is Shape.FIELD:
        return f"{context.use('copy_of')}({code.text} or {context.use('ABSENT')})"
    raise context.problem(node, f"{parameter.name} is a row: a row or a field is needed")


def call_statement(context: Context, node: syntax.CallStatement) -> None:
    """CALL."""
    if node.field is not None or node.external_schema is not None:
        code = sql.call_routine(context, node.call, find(context, node.call).routine, node.field, node.external_schema)
    else:
        with context.in_order(node.call):
            code = call(context, node.call)
    if node.into is not None:
        put(context, node.into, code)
    elif not code.is_name and not code.text.endswith("[0]"):
        context.emit(code.text)
