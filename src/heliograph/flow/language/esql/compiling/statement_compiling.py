"""Generators for control flow (blocks, branches, loops, RETURN) and for DECLARE."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields

from heliograph.flow.language.esql import syntax
from heliograph.flow.language.esql.compiling import path_compiling, routines
from heliograph.flow.language.esql.compiling.assignments import (
    batch,
    check_declared,
    converted,
    kind_of,
    scalar_type,
    single_value,
    source,
)
from heliograph.flow.language.esql.compiling.context import NULL, Code, Context, Shape
from heliograph.flow.language.esql.compiling.expression_compiling import condition
from heliograph.flow.language.esql.compiling.python_names import Binding, BindingKind, Known, Prefixes, Route

_LOOPS = (syntax.While, syntax.Repeat, syntax.Loop, syntax.For)
_DEEPEST_REWRITTEN = 4
"""The depth of nested loops that are generated in several passes: each level multiplies the passes. Loops further
inside keep no paths."""


def body(context: Context, statements: syntax.Body) -> None:
    """Generate a list of statements; a handler declared among them applies to those that follow."""
    guards = [statement for statement in statements if isinstance(statement, syntax.HandlerDeclaration)]
    if not guards:
        _run(context, statements)
        return
    first = statements.index(guards[0])
    _run(context, statements[:first])
    with routines.guarded(context, guards):
        rest = [node for node in statements[first:] if not isinstance(node, syntax.HandlerDeclaration)]
        _run(context, rest)


def _run(context: Context, statements: Sequence[syntax.Statement]) -> None:
    at = 0
    while at < len(statements):
        done = 0 if context.resumes else batch(context, statements, at)
        if not done:
            one(context, statements[at])
        at += done or 1


def one(context: Context, node: syntax.Statement) -> None:
    """Generate one statement: its source line as a comment, its code, and the `except` of CONTINUE handlers."""
    if not isinstance(node, syntax.Block):
        context.place(node)
    if not context.resumes or isinstance(node, syntax.Block):
        context.statement(node)
    elif isinstance(node, syntax.Declaration):
        _resumed_declaration(context, node)
    else:
        with routines.resumed(context):
            context.statement(node)


def _resumed_declaration(context: Context, node: syntax.Declaration) -> None:
    """DECLARE under a CONTINUE handler: if the initial value fails, the variable is NULL."""
    at, indent = len(context.unit.body), context.margin()
    names = [name.upper() for name in node.names if name.upper() not in context.scope.bindings]
    with routines.resumed(context):
        context.statement(node)
    new = [context.scope.bindings[name] for name in dict.fromkeys(names)]
    context.unit.insert(at, [f"{indent}{binding.python} = {_nothing(context, binding)}" for binding in new])


def _nothing(context: Context, binding: Binding) -> str:
    if binding.kind is BindingKind.ROW:
        return f"{context.use('Element')}({binding.name!r})"
    if binding.kind is BindingKind.REFERENCE:
        return f"{context.use('Reference')}({context.use('ABSENT')}, False)"
    return "None"


def block(context: Context, node: syntax.Block) -> None:
    """BEGIN ... END."""
    with _leavable(context, node), context.block():
        if not node.atomic:
            body(context, node.body)
            return
        label = f"{context.environment.schema}:{node.label or ''}"
        context.emit(f"with ev.shared.lock({label!r}):")
        with context.indented():
            body(context, node.body)


def declaration(context: Context, node: syntax.Declaration) -> None:
    """DECLARE inside a routine."""
    check_declared(context, node.type)
    kind = kind_of(node.type)
    for name in node.names:
        if kind is not BindingKind.SCALAR:
            _declare_tree(context, node, name, kind)
            continue
        code = initial_value(context, node)
        binding = _declare(context, name, Binding(name, "", kind, scalar_type(node.type), fields=node.type.qualifier))
        context.emit(f"{binding.python} = {converted(context, code, binding.type, binding.fields)}")
        context.assign(binding)
        note_constant(binding, node)


def initial_value(context: Context, node: syntax.Declaration) -> Code:
    """Return Python of the initial value of a scalar variable."""
    return NULL if node.initial is None else single_value(context, node.initial)


def note_constant(binding: Binding, node: syntax.Declaration) -> None:
    """Record the literal value of a constant, so that paths that use it are constant, too."""
    binding.constant = node.constant or node.external or node.type.name in ("NAME", "NAMESPACE")
    binding.is_name = node.type.name == "NAME"
    if binding.constant and not node.external:
        value = node.initial.value if isinstance(node.initial, syntax.Literal) else None
        binding.literal = value if isinstance(value, str) else None


def _declare(context: Context, name: str, binding: Binding) -> Binding:
    """Declare a variable; a second declaration of its name in the same block reuses the Python name."""
    before = context.scope.bindings.get(name.upper())
    binding.python = before.python if before is not None else context.temporary(name)
    binding.local_to = context.frame
    context.scope.declare(binding)
    return binding


def _declare_tree(context: Context, node: syntax.Declaration, name: str, kind: BindingKind) -> None:
    first = first_reference(context, node, name) if kind is BindingKind.REFERENCE else first_row(context, node, name)
    binding = _declare(context, name, Binding(name, "", kind))
    context.emit(f"{binding.python} = {first}")
    context.assign(binding)


def first_reference(context: Context, node: syntax.Declaration, name: str) -> str:
    """Return Python of the initial value of a reference variable."""
    if not isinstance(node.initial, syntax.FieldReference):
        raise context.problem(node, f"{name} is a reference, which has to point to something: REFERENCE TO field")
    found = path_compiling.element(context, node.initial)
    root = path_compiling.base(context, node.initial).text
    return f"{context.use('reference')}({found.text}, {root})"


def first_row(context: Context, node: syntax.Declaration, name: str) -> str:
    """Return Python of the initial value of a row variable."""
    empty = f"{context.use('Element')}({name!r})"
    if node.initial is None:
        return empty
    code = source(context, node.initial)
    if code.shape is Shape.ROW:
        return f"{code.text} or {empty}"
    if code.shape is Shape.FIELD:
        return f"{context.use('copy_of')}({code.text} or {context.use('ABSENT')})"
    raise context.problem(node, f"{name} is a row: a row or a field is needed")


# Branches


def if_statement(context: Context, node: syntax.If) -> None:
    """Generate IF. All conditions are generated before the branches, and nothing is hoisted from any but the first,
    because the others become `elif`."""
    tests = [condition(context, node.branches[0].condition)]
    with context.conditionally():
        tests += [condition(context, branch.condition) for branch in node.branches[1:]]
    _branches(context, list(zip(tests, node.branches, strict=True)), node.otherwise)


def case_statement(context: Context, node: syntax.CaseStatement) -> None:
    """CASE; if nothing matches and there is no ELSE, nothing is done."""
    if node.operand is None:
        with context.conditionally():
            tests = [condition(context, branch.condition) for branch in node.branches]
    else:
        subject = context.temporary("subject")
        # The operand is evaluated once, before the first comparison.
        context.emit(f"{subject} = {context.value(node.operand).text}")
        with context.conditionally():
            tests = [
                f"{context.use('equal')}({subject}, {context.value(branch.condition).text})" for branch in node.branches
            ]
    _branches(context, list(zip(tests, node.branches, strict=True)), node.otherwise or ())


def _branches(context: Context, branches: list[tuple[str, syntax.Branch]], otherwise: syntax.Body) -> None:
    before = context.prefixes
    ends: list[Prefixes] = []
    for at, (test, branch) in enumerate(branches):
        if at:
            # Otherwise an error in its condition would be reported at the last statement of the branch before.
            context.place(branch)
        context.emit(f"{'if' if at == 0 else 'elif'} {test}:")
        ends.append(_branch(context, before, branch.body))
    if otherwise:
        context.emit("else:")
        ends.append(_branch(context, before, otherwise))
    before.keep_common(ends)
    context.prefixes = before


def _branch(context: Context, before: Prefixes, statements: syntax.Body) -> Prefixes:
    context.prefixes = before.copy()
    with context.indented(), context.block():
        body(context, statements)
    return context.prefixes


# Loops


def while_statement(context: Context, node: syntax.While) -> None:
    """WHILE."""
    with _leavable(context, node):
        _loop(context, node, lambda: f"while {_asked_again(context, node.condition)}:")


def _asked_again(context: Context, node: syntax.Expression) -> str:
    with context.conditionally():
        return condition(context, node)


def loop_statement(context: Context, node: syntax.Loop) -> None:
    """LOOP."""
    with _leavable(context, node):
        _loop(context, node, lambda: "while True:")


def repeat_statement(context: Context, node: syntax.Repeat) -> None:
    """REPEAT ... UNTIL; ITERATE starts again without asking."""
    with _leavable(context, node):
        _loop(context, node, lambda: "while True:", node.until)


def for_statement(context: Context, node: syntax.For) -> None:
    """FOR: over the fields as they are when it starts."""
    found = path_compiling.elements(context, node.source)
    with _leavable(context, node), context.block():
        binding = _declare(context, node.name, Binding(node.name, "", BindingKind.REFERENCE))
        context.emit(f"{binding.python} = {context.use('Reference')}({context.use('ABSENT')})")
        _loop(context, node, lambda: f"for {binding.python}.element in {found.text}:")


def _loop(
    context: Context,
    node: syntax.While | syntax.Repeat | syntax.Loop | syntax.For,
    head: Callable[[], str],
    until: syntax.Expression | None = None,
) -> None:
    """Generate a loop. A path may be known at its start only if it is also valid at the end of each round. Whether
    that is so shows when the body is written, so the body is written again with fewer known paths until the set
    does not change any more (a fixed point). Nested loops multiply the passes: beyond a depth none is assumed."""
    # Each level of nesting multiplies the passes over the innermost body, so deep loops start and end with nothing
    # known.
    if context.loop_depth == _DEEPEST_REWRITTEN:
        context.prefixes = Prefixes()
        _write_loop(context, node, head, until)
        context.prefixes = Prefixes()
        return
    context.loop_depth += 1
    outside = context.prefixes
    expected: dict[Route, bool] | None = None
    while True:
        written = context.checkpoint()
        before = outside.copy()
        for route, ensured in (expected or {}).items():
            python = context.temporary(route.steps[-1].name or "found")
            context.emit(f"{python} = None")
            before.known[route] = Known(python, ensured, later=True)
        context.prefixes = before.copy()
        _write_loop(context, node, head, until)
        kept = before.copy()
        kept.keep_common([context.prefixes])
        lasting = context.prefixes.lasting(before) if expected is None else {}
        if kept == before and not lasting:
            break
        context.go_back(written)
        outside = Prefixes({route: known for route, known in outside.known.items() if route in kept.known})
        expected = lasting or {route: ensured for route, ensured in (expected or {}).items() if route in kept.known}
    context.prefixes = before
    context.loop_depth -= 1


def _write_loop(
    context: Context,
    node: syntax.While | syntax.Repeat | syntax.Loop | syntax.For,
    head: Callable[[], str],
    until: syntax.Expression | None,
) -> None:
    context.emit(head())
    context.loops.append(node.label)
    with context.indented(), context.block():
        with _iterable(context, node):
            body(context, node.body)
        if until is not None:
            context.place(node)
            context.emit(f"if {condition(context, until)}:")
            with context.indented():
                context.emit("break")
    context.loops.pop()


def leave(context: Context, node: syntax.Leave) -> None:
    """LEAVE."""
    if context.loops and context.loops[-1] == node.label and ("LEAVE", node.label) not in context.jumps:
        context.emit("break")
    else:
        _jump(context, node, "LEAVE", node.label)


def iterate(context: Context, node: syntax.Iterate) -> None:
    """ITERATE."""
    if context.loops and context.loops[-1] == node.label and ("ITERATE", node.label) not in context.jumps:
        context.emit("continue")
    else:
        _jump(context, node, "ITERATE", node.label)


def _jump(context: Context, node: syntax.Node, word: str, label: str) -> None:
    name = context.jumps.get((word, label))
    if name is None:
        raise context.problem(node, f"{word} {label}: there is no such label around it")
    context.emit(f"raise {name}")


@contextmanager
def _leavable(context: Context, node: syntax.Statement) -> Iterator[None]:
    """Catch a LEAVE from inside a nested loop or handler, which a Python `break` cannot reach."""
    label: str | None = getattr(node, "label", None)
    if label is None or not _jumps_far(node, syntax.Leave, label):
        yield
        return
    with _catching(context, "LEAVE", label):
        yield


@contextmanager
def _iterable(context: Context, node: syntax.Statement) -> Iterator[None]:
    """Catch an ITERATE from inside a nested loop or handler, which a Python `continue` cannot reach."""
    label: str | None = getattr(node, "label", None)
    if label is None or not _jumps_far(node, syntax.Iterate, label):
        yield
        return
    with _catching(context, "ITERATE", label):
        yield


@contextmanager
def _catching(context: Context, word: str, label: str) -> Iterator[None]:
    name = context.unit.constant(f"{context.use('jump')}({label!r})  # {word}", f"{word}_{label}")
    outer = context.jumps.get((word, label))
    context.jumps[word, label] = name
    context.emit("try:")
    with context.indented():
        yield
    context.emit(f"except {name}:")
    with context.indented():
        context.emit("pass")
    context.prefixes.clear()
    del context.jumps[word, label]
    if outer is not None:
        context.jumps[word, label] = outer


def _jumps_far(node: syntax.Statement, kind: type, label: str) -> bool:
    """Whether a LEAVE of this statement cannot be a `break`: it is inside a nested loop or handler, or this is no
    loop."""
    return any(far or not isinstance(node, _LOOPS) for found, far in _inside(node, kind, False) if found.label == label)


def _inside(node: object, kind: type, far: bool) -> "Iterator[tuple[syntax.Leave | syntax.Iterate, bool]]":
    if isinstance(node, tuple):
        for item in node:
            yield from _inside(item, kind, far)
    elif isinstance(node, kind) and isinstance(node, syntax.Leave | syntax.Iterate):
        yield node, far
    elif isinstance(node, syntax.Node) and not isinstance(node, syntax.Expression):
        for field in fields(node):
            value = getattr(node, field.name)
            inner = isinstance(value, tuple | syntax.Statement | syntax.Branch)
            if inner:
                nested = isinstance(value, syntax.Statement)
                for item in value if isinstance(value, tuple) else (value,):
                    yield from _inside(
                        item, kind, far or nested or isinstance(item, (*_LOOPS, syntax.HandlerDeclaration))
                    )


def return_statement(context: Context, node: syntax.Return) -> None:
    """RETURN."""
    if node.value is None:
        context.emit(f"return {context.frame.result('None')}")
        return
    returns = context.frame.top().returns
    if returns is not None and kind_of(returns) is not BindingKind.SCALAR:
        code = source(context, node.value)
        if code.shape is Shape.FIELD and returns.name == "ROW":
            text = f"{context.use('copy_of')}({code.text} or {context.use('ABSENT')})"
        else:
            text = code.text
    else:
        code = context.value(node.value)
        text = converted(context, code, scalar_type(returns), returns.qualifier) if returns is not None else code.text
    context.emit(f"return {context.frame.result(text)}")
