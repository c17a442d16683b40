"""Generators for SET and for everything else that assigns to a variable or a field.

Neighbouring SETs of fields below one parent become one call (`batch`), because one call that fills many fields is
faster than one call for each. For example

    SET OutputRoot.XMLNSC.Invoice.A = InputRoot.XMLNSC.Order.A;
    SET OutputRoot.XMLNSC.Invoice.B = InputRoot.XMLNSC.Order.B;

becomes, with `_FIELDS = Fields(((Step('A', "", None), ), (Step('B', "", None), ), ), ())`:

    _FIELDS.set_in(Invoice, Order.contents((
        'A',
        'B',
    )))

Each item stands in a line of its own, so that an error can still be traced to its SET statement."""

from collections.abc import Sequence
from dataclasses import fields

from heliograph.flow.language.esql import syntax
from heliograph.flow.language.esql.compiling import expression_compiling, path_compiling
from heliograph.flow.language.esql.compiling.context import LISTS, Code, Context, Shape
from heliograph.flow.language.esql.compiling.path_compiling import Base, StepCode, steps_of
from heliograph.flow.language.esql.compiling.python_names import ANY_TREE, Binding, BindingKind
from heliograph.flow.language.values.types import Type

_SETTERS = {Shape.ROWS: "set_rows", Shape.FIELDS: "set_copies", Shape.VALUES: "set_values"}


def set_statement(context: Context, node: syntax.Set) -> None:
    """Generate SET."""
    binding = context.scope.find(node.target.correlation)
    if binding is not None and binding.kind is BindingKind.SCALAR and not node.target.steps:
        if node.aspect is not None:
            raise context.problem(node, f"{node.aspect} can be set of fields only; {binding.name} is a variable")
        set_variable(context, node, binding, single_value(context, node.value))
        return
    if isinstance(node.value, syntax.ListOf) and not path_compiling.is_list(node.target):
        raise context.problem(node, "a list can be assigned to a target with [] only; THE(...) takes its first item")
    context.reads = set()
    if node.aspect is not None:
        code = context.value(node.value)
    else:
        # A target without a name (`OutputRoot.*[2]`) takes the name of the source field, so the source must be passed
        # as an element, not only as its content.
        code = (source if is_anonymous(node.target) else copied)(context, node.value)
    set_target(context, node.target, code, node.aspect)


def batch(context: Context, statements: Sequence[syntax.Statement], at: int) -> int:
    """Generate one call for the SETs from `at` on that have targets below the same field; return how many were taken.

    One call evaluates all values before it sets the first field. This is safe because `_neighbours` accepts only
    values that do not depend on the fields being set.
    """
    first = statements[at]
    run: list[syntax.Set] = []
    for index in range(at, len(statements)):
        node = statements[index]
        if (
            not isinstance(node, syntax.Set)
            or not isinstance(first, syntax.Set)
            or not _neighbours(context, first, node)
        ):
            break
        run.append(node)
    if not run or not isinstance(first, syntax.Set):
        return 0
    start = path_compiling.base(context, first.target)
    path = steps_of(context, first.target.steps)
    # `Line[i]` in a loop creates a new element in each round: it is created and filled by the same call.
    numbered = len(path) > 2 and path[-2].index is not None and not path_compiling.is_made(context, start, path[:-1])
    if len(run) == 1 and not numbered:
        return 0
    context.place(first)
    same = _same_source(context, run)
    if same:
        source = path_compiling.above(context, same[0])
        known = set_fields(context, [node.target.steps[-1:] for node in run])
        context.emit(f"{known}.set_in({path_compiling.ensured(context, start, path[:-1])}, {source}.contents((")
        _listed(context, run, [f"{value.steps[-1].name!r}," for value in same])
        context.emit(")))")
    else:
        _set_together(context, run, start, path, numbered)
    for node in run:
        context.prefixes.written(start.route(steps_of(context, node.target.steps)))
    return len(run)


def _set_together(
    context: Context, run: Sequence[syntax.Set], start: Base, path: tuple[StepCode, ...], numbered: bool
) -> None:
    codes = [copied(context, node.value) for node in run]
    known = set_fields(context, [node.target.steps[len(path) - 1 :] for node in run], codes)
    if numbered:
        above, last = path_compiling.ensured(context, start, path[:-2]), path[-2]
        made = path_compiling.made(context, start, path[:-1])
        context.emit(f"{made} = {known}.set_in_nth({above}, {last.name}, {last.index}, (")
    else:
        context.emit(f"{known}.set_in({path_compiling.ensured(context, start, path[:-1])}, (")
    _listed(context, run, [f"{code.text}," for code in codes])
    context.emit("))")


def _listed(context: Context, run: Sequence[syntax.Set], lines: Sequence[str]) -> None:
    with context.indented():
        for node, line in zip(run, lines, strict=True):
            if node is not run[0]:
                context.place(node)
            context.emit(line)


def set_fields(context: Context, targets: Sequence[tuple[syntax.PathStep, ...]], codes: Sequence[Code] = ()) -> str:
    """Return the Python of a `Fields` constant for these targets below one field; `codes` are the values to assign."""
    below = "".join(f"({''.join(f'{step.step}, ' for step in steps_of(context, target))}), " for target in targets)
    scalars = tuple(at for at, code in enumerate(codes) if code.shape is Shape.VALUE)
    return context.unit.constant(f"{context.use('Fields')}(({below}), {scalars})", "FIELDS")


def _same_source(context: Context, run: Sequence[syntax.Set]) -> list[syntax.FieldReference]:
    """Return the source fields if all are children of the same field and the targets differ in their last name only."""
    if len(run) == 1 or not all(_last_alone(context, run[0], node) for node in run):
        return []
    values = [node.value for node in run]
    first = values[0]
    fields_of_one = [
        value
        for value in values
        if isinstance(value, syntax.FieldReference)
        and isinstance(first, syntax.FieldReference)
        and value.steps
        and path_compiling.is_path(context, value)
        and value.correlation.upper() == first.correlation.upper()
        and value.index == first.index
        and value.steps[:-1] == first.steps[:-1]
        and _plain(context, value.steps[-1])
    ]
    return fields_of_one if len(fields_of_one) == len(values) else []


def _last_alone(context: Context, first: syntax.Set, node: syntax.Set) -> bool:
    """Whether the targets of two SETs differ in the last name only."""
    return len(node.target.steps) == len(first.target.steps) and _plain(context, node.target.steps[-1])


def _neighbours(context: Context, first: syntax.Set, node: syntax.Set) -> bool:
    """Whether a SET can join a batch: its target is below the parent of the first target, and its value does not depend
    on anything below that parent."""
    target = node.target
    above = first.target.steps[:-1]
    below = target.steps[len(above) :]
    return (
        node.aspect is None
        and target.correlation.upper() == first.target.correlation.upper()
        and target.correlation.upper() in path_compiling.ROOTS
        and context.scope.find(target.correlation) is None
        and bool(above and below)
        and target.steps[: len(above)] == above
        and all(_plain(context, step, index=True) for step in above)
        and all(_plain(context, step) for step in below[:-1])
        and _plain(context, below[-1], kind=True)
        and _independent(context, node.value, syntax.FieldReference(target.correlation, above, at=target.at))
    )


def _plain(context: Context, step: syntax.PathStep, *, index: bool = False, kind: bool = False) -> bool:
    """Whether a step is only a name; `index` also allows a constant or variable index, `kind` a constant type."""
    return (
        isinstance(step.name, str)
        and step.namespace is None
        and (step.type is None or (kind and isinstance(step.type, syntax.FieldConstant)))
        and (step.index is None or (index and _number(context, step.index)))
        and context.scope.find(step.name) is None
    )


def _number(context: Context, node: object) -> bool:
    if isinstance(node, syntax.FieldReference):
        return not path_compiling.is_path(context, node) and context.scope.find(node.correlation) is not None
    return isinstance(node, syntax.Literal)


def _independent(context: Context, node: object, target: syntax.FieldReference) -> bool:
    """Whether changes below the target cannot change this value."""
    if isinstance(node, tuple):
        return all(_independent(context, item, target) for item in node)
    if isinstance(node, syntax.FieldReference):
        binding = context.scope.find(node.correlation)
        if binding is not None and binding.kind is not BindingKind.SCALAR:
            return False
        if binding is None and not _apart(context, node, target):
            return False
        if path_compiling.is_list(node):
            return False
    if isinstance(node, syntax.Select | syntax.Quantified | syntax.Passthru | syntax.ListOf | syntax.Row):
        return False
    # A routine may change any tree, and the text of an EVAL is not known.
    if isinstance(node, syntax.Call) and (not node.built_in or node.name in ("EVAL", "THE")):
        return False
    return not isinstance(node, syntax.Node) or all(
        _independent(context, getattr(node, item.name), target) for item in fields(node)
    )


def _apart(context: Context, node: syntax.FieldReference, target: syntax.FieldReference) -> bool:
    """Whether a field reference cannot overlap the target: it is in another tree, or the two paths differ in a name."""
    key, other = node.correlation.upper(), target.correlation.upper()
    if path_compiling.ROOTS.get(key, ("", ""))[1] != path_compiling.ROOTS[other][1]:
        return True
    return key == other and any(
        _plain(context, ours, index=True) and _plain(context, theirs, index=True) and ours.name != theirs.name
        for ours, theirs in zip(node.steps, target.steps, strict=False)
    )


def source(context: Context, node: syntax.Expression) -> Code:
    """Generate the value to assign; a field reference means the whole element."""
    field = path_compiling.single_field(context, node)
    return path_compiling.element(context, field) if field is not None else context.any(node)


def copied(context: Context, node: syntax.Expression) -> Code:
    """Generate the value to assign to a named field: like `source`, but of a field only the content is needed."""
    field = path_compiling.single_field(context, node)
    return path_compiling.content(context, field) if field is not None else context.any(node)


def is_anonymous(target: syntax.FieldReference) -> bool:
    """Whether the target does not name the field: `OutputRoot.*[2]`, `OutputRoot.[]`."""
    name = target.steps[-1].name if target.steps else ""
    return name is None or isinstance(name, syntax.Wildcard)


def single_value(context: Context, node: syntax.Expression) -> Code:
    """Generate the value for a scalar variable; a SELECT gives its first row."""
    if isinstance(node, syntax.Select | syntax.Passthru):
        code = context.any(node)
        if code.shape in LISTS:
            return Code(f"{context.use('first_value')}({code.text})", code.type)
        return code
    return context.value(node)


def set_variable(context: Context, node: syntax.Node, binding: Binding, code: Code) -> None:
    """Assign a value to a scalar variable."""
    if binding.constant:
        raise context.problem(node, f"{binding.name} is a constant")
    context.emit(f"{binding.python} = {converted(context, code, binding.type, binding.fields)}")
    context.assign(binding)


def converted(context: Context, code: Code, target: Type | None, fields: syntax.Qualifier | None = None) -> str:
    """Return Python that converts a value to this type; `fields` is the qualifier of an INTERVAL."""
    if fields is not None and code.type is not Type.NULL:
        known = context.unit.constant(expression_compiling.qualifier(context, fields), "FIELDS")
        return (
            f"{context.use('cast')}(({code.text},), {context.type_name(Type.INTERVAL)}, qualifier={known}, now=ev.now)"
        )
    if target is None or code.type in (target, Type.NULL):
        return code.text
    now = "" if target in (Type.INTEGER, Type.FLOAT, Type.DECIMAL, Type.CHARACTER, Type.BOOLEAN) else ", ev.now"
    return f"{context.use('convert')}({code.text}, {context.type_name(target)}{now})"


def set_target(context: Context, target: syntax.FieldReference, code: Code, aspect: str | None = None) -> None:
    """Assign a value, a field, a row or a list to a field; `context.reads` has the trees that the value reads."""
    reads = context.reads
    context.reads = set()
    start = path_compiling.base(context, target)
    path = steps_of(context, target.steps)
    # Evaluate the value before missing fields on the target's path are created: it may read the same tree.
    if {start.tree, ANY_TREE} & reads or start.tree == ANY_TREE:
        code = kept(context, code)
    if aspect is not None:
        _set_aspect(context, start, path, code, aspect)
    elif path:
        set_path(context, target, start, path, code)
    else:
        _set_whole(context, start, code)
    context.reads = reads | context.reads


def kept(context: Context, code: Code) -> Code:
    """Put the value into a local variable, unless it is a variable or a constant already."""
    if code.is_name or (code.type is not None and not code.nullable and code.text[0] in "'\"-0123456789"):
        return code
    python = context.temporary("value")
    context.emit(f"{python} = {code.text}")
    return Code(python, code.type, code.nullable, code.shape)


def _set_aspect(context: Context, start: Base, path: tuple[StepCode, ...], code: Code, aspect: str) -> None:
    target = (
        path_compiling.make(context, path_compiling.ensured(context, start, path[:-1]), path[-1:])
        if path
        else start.text
    )
    context.emit(f"{context.use('set_aspect')}({target}, {aspect!r}, {code.text})")
    context.prefixes.clear()


def _set_whole(context: Context, start: Base, code: Code) -> None:
    code = _first_item(context, code)
    name = "set_here" if code.shape is Shape.VALUE else "copy_here"
    context.emit(f"{context.use(name)}({start.text}, {code.text})")
    context.prefixes.clear()


def set_path(context: Context, node: syntax.Node, start: Base, path: tuple[StepCode, ...], code: Code) -> None:
    """Generate the assignment to the field at the end of a path."""
    parent = path_compiling.ensured(context, start, path[:-1])
    last = path[-1]
    if last.every and code.shape not in LISTS:
        raise context.problem(node, "a target with [] takes a list: a SELECT, LIST{...}, or a field with []")
    if last.every:
        context.emit(f"{context.use(_SETTERS[code.shape])}({parent}, {last.step}, {code.text})")
        context.prefixes.written(start.route(path))
        return
    code = _first_item(context, code)
    if code.shape is Shape.VALUE:
        _set_value(context, parent, last, code)
    else:
        _copy(context, parent, last, code)
    context.prefixes.written(start.route(path))


def _set_value(context: Context, parent: str, last: StepCode, code: Code) -> None:
    if last.from_end:
        context.emit(f"{context.use('set_here')}({path_compiling.make(context, parent, (last,))}, {code.text})")
    elif last.simple:
        context.emit(f"{context.use('set_field')}({parent}, {last.name}, {code.text})")
    elif last.name is not None:
        context.emit(f"{context.use('set_nth')}({parent}, {last.name}, {last.index}, {code.text})")
    else:
        context.emit(f"{context.use('set_match')}({parent}, {last.step}, {last.index or 1}, {code.text})")


def _first_item(context: Context, code: Code) -> Code:
    """Return the first item of a list that is assigned to a single field. (The checker warns about this.)"""
    if code.shape not in LISTS:
        return code
    text = f"{context.use('the')}({code.text})"
    if code.shape is Shape.VALUES:
        return Code(f"{context.use('scalar_of')}({text})", code.type)
    return Code(text, None, True, Shape.ROW if code.shape is Shape.ROWS else Shape.FIELD)


def _copy(context: Context, parent: str, last: StepCode, code: Code) -> None:
    if last.anonymous:
        from_end = ", from_end=True" if last.from_end else ""
        context.emit(f"{context.use('copy_named')}({parent}, {last.step}, {last.index or 1}, {code.text}{from_end})")
    elif last.from_end:
        context.emit(f"{context.use('copy_here')}({path_compiling.make(context, parent, (last,))}, {code.text})")
    elif last.simple:
        context.emit(f"{context.use('copy_field')}({parent}, {last.name}, {code.text})")
    elif last.name is not None:
        context.emit(f"{context.use('copy_nth')}({parent}, {last.name}, {last.index}, {code.text})")
    else:
        context.emit(f"{context.use('copy_match')}({parent}, {last.step}, {last.index or 1}, {code.text})")


# Declared types, and output parameters of calls

_KINDS = {"ROW": BindingKind.ROW, "REFERENCE": BindingKind.REFERENCE}


def kind_of(data_type: syntax.DataType) -> BindingKind:
    """Return the kind of binding for a variable of this type."""
    return _KINDS.get(data_type.name, BindingKind.SCALAR)


def scalar_type(data_type: syntax.DataType) -> Type | None:
    """The type of the values of a scalar variable."""
    if data_type.name in ("NAME", "NAMESPACE"):
        return Type.CHARACTER
    return None if data_type.name in _KINDS else Type[data_type.name]


def check_declared(context: Context, data_type: syntax.DataType) -> None:
    """Reject a precision in a declared type: only CAST takes one."""
    if data_type.precision is not None:
        raise context.problem(data_type, "DECIMAL has a precision in CAST only, not in a declaration")


def gives_back(parameter: syntax.Parameter) -> bool:
    """Whether an OUT or INOUT parameter is returned as a value. Rows and references are not: they are changed in
    place."""
    return parameter.mode != "IN" and kind_of(parameter.type) is BindingKind.SCALAR


def variable_of(context: Context, node: syntax.Expression) -> Binding | None:
    """Return the variable if the expression is nothing but a variable."""
    if isinstance(node, syntax.FieldReference) and not node.steps:
        return context.scope.find(node.correlation)
    return None


def put(context: Context, target: syntax.Expression, code: Code) -> None:
    """Assign an output parameter of a call to its argument."""
    if not isinstance(target, syntax.FieldReference):
        raise context.problem(target, "a variable or a field is needed for a parameter that gives something back")
    binding = variable_of(context, target)
    if binding is not None and binding.kind is BindingKind.SCALAR:
        set_variable(context, target, binding, code)
    else:
        context.reads = {ANY_TREE}
        set_target(context, target, code)
