"""DECLARE HANDLER, RESIGNAL, THROW and LOG."""

from collections.abc import Iterator
from contextlib import contextmanager

from heliograph.flow.language.esql import syntax
from heliograph.flow.language.esql.compiling.context import Context


@contextmanager
def guarded(context: Context, handlers: list[syntax.HandlerDeclaration]) -> Iterator[None]:
    """Statements under the handlers of their block.

    An EXIT handler is what stands behind `except` of the whole block. A CONTINUE handler is a function that every
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
        state = context.temporary("state")
        context.emit(f"{state} = {context.use('caught')}(ev, {error})")
        for at, handler in enumerate(handlers):
            context.emit(f"{'if' if at == 0 else 'elif'} {_test(context, handler, state)}:")
            with context.indented():
                if handler.exits:
                    _body(context, handler)
                else:
                    context.emit("raise")
        context.emit("else:")
        with context.indented():
            context.emit("raise")
    context.error = outer


def _resume_function(context: Context, handlers: list[syntax.HandlerDeclaration]) -> str:
    name, error, outer = context.temporary("resume"), context.temporary("error"), context.error
    context.error = error
    with context.function(name, error) as frame:
        result = frame.result
        frame.result = lambda value: f"({result(value)},)"
        state = context.temporary("state")
        context.emit(f"{state} = {context.use('caught')}(ev, {error})")
        for at, handler in enumerate(handlers):
            context.emit(f"{'if' if at == 0 else 'elif'} {_test(context, handler, state)}:")
            with context.indented():
                if handler.exits:
                    context.emit(f"raise {error}")
                else:
                    _body(context, handler)
        context.emit("else:")
        with context.indented():
            context.emit(f"raise {error}")
        context.emit("return None")
    context.error = outer
    return name


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
    """A statement behind which the program goes on, if a CONTINUE handler wants its exception."""
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
