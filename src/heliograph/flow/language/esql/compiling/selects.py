"""Generators for SELECT over trees, and for quantified predicates. Both become loops.

    SET OutputRoot.XMLNSC.Invoice.L[] =
      (SELECT I.Qty, I.Price AS P FROM InputRoot.XMLNSC.Order.Item[] AS I WHERE I.Qty > 1);

becomes

    rows = []
    for I in Order.all('Item'):
        if greater(I.value_of('Qty'), 1):
            row = Element()
            copy_field(row, 'Qty', I.content('Qty'))
            copy_field(row, 'P', I.content('Price'))
            rows.append(row)
    set_rows(Invoice, _STEP_L, rows)

Where the SELECT may be evaluated never or more than once (in a branch of CASE, say), the loop is in a nested
function."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import fields

from heliograph.flow.language.esql import syntax
from heliograph.flow.language.esql.compiling import assignments, path_compiling, sql
from heliograph.flow.language.esql.compiling.context import LISTS, Code, Context, Shape
from heliograph.flow.language.esql.compiling.expression_compiling import as_element, condition, truth
from heliograph.flow.language.esql.compiling.path_compiling import Base, steps_of
from heliograph.flow.language.esql.compiling.python_names import NEW_TREE, Binding, BindingKind
from heliograph.flow.language.values.types import Type

_AGGREGATES = {"SUM": "total", "MAX": "greatest", "MIN": "smallest", "COUNT": "count"}


def select(context: Context, node: syntax.Select) -> Code:
    """Generate SELECT: a loop before the statement, or a nested function where hoisting is not allowed."""
    if not context.hoisting:
        name = context.temporary("select")
        with context.function(name):
            code = _loops(context, node)
            context.emit(f"return {code.text}")
        return Code(f"{name}()", code.type, code.nullable, code.shape)
    return _loops(context, node)


def _loops(context: Context, node: syntax.Select) -> Code:
    found = context.temporary("rows" if node.kind == "ROWS" else "values")
    context.emit(f"{found} = []")
    with _inside(context, node):
        item, shape, kind = _item(context, node)
        context.emit(f"{found}.append({item})")
    if node.kind in _AGGREGATES:
        if node.kind == "COUNT":
            return Code(f"{context.use('count')}({found})", Type.INTEGER, False)
        return Code(f"{context.use(_AGGREGATES[node.kind])}({found})", kind)
    return Code(found, kind, False, shape)


@contextmanager
def _inside(context: Context, node: syntax.Select) -> Iterator[None]:
    """Open the loops over all sources in FROM and the test of WHERE; the caller writes their body."""
    if _calls_routines(node):
        context.prefixes.clear()
    before = context.prefixes
    context.prefixes = before.copy()
    with ExitStack() as stack:
        stack.enter_context(context.block())
        where = sql.open_tables(context, node, stack)
        for item in node.sources:
            if not sql.is_table(item.source):
                _open(context, item, stack)
        if where is not None:
            context.emit(f"if {condition(context, where)}:")
            stack.enter_context(context.indented())
        yield
    before.keep_common([context.prefixes])
    context.prefixes = before


def _open(context: Context, item: syntax.FromItem, stack: ExitStack) -> None:
    if path_compiling.is_list(item.source):
        source = path_compiling.elements(context, item.source).text
    else:
        source = f"{context.use('siblings')}({path_compiling.element(context, item.source).text})"
    name = item.name or _last_name(item.source) or item.source.correlation
    python = context.temporary(name)
    context.emit(f"for {python} in {source}:")
    stack.enter_context(context.indented())
    context.scope.declare(Binding(name, python, BindingKind.CORRELATION, None, context.frame))


def _last_name(node: syntax.FieldReference) -> str | None:
    name = node.steps[-1].name if node.steps else None
    return name if isinstance(name, str) else None


def _item(context: Context, node: syntax.Select) -> tuple[str, Shape, Type | None]:
    if node.kind == "COUNT" and not node.items:
        return "1", Shape.VALUES, Type.INTEGER
    if node.kind == "ROWS":
        return _row(context, node), Shape.ROWS, None
    value = node.items[0].value
    if node.kind == "ITEM":
        code = assignments.source(context, value)
        shapes = {Shape.VALUE: Shape.VALUES, Shape.FIELD: Shape.FIELDS, Shape.ROW: Shape.ROWS}
        if code.shape not in shapes:
            raise context.problem(value, "ITEM takes a single value, not a list")
        return code.text, shapes[code.shape], code.type
    code = context.value(value)
    return code.text, Shape.VALUES, code.type


def row(context: Context, node: syntax.Row) -> Code:
    """ROW(...): a new element with a field for each item. Names may be paths, and lists, as in SELECT."""
    if not context.hoisting:
        name = context.temporary("make_row")
        with context.function(name):
            context.emit(f"return {row(context, node).text}")
        return Code(f"{name}()", None, False, Shape.ROW)
    python = context.temporary("row")
    context.emit(f"{python} = {context.use('Element')}()")
    for one in node.items:
        step = one.target[-1] if one.target else None
        if step is not None and (len(one.target) > 1 or not _only_name(step)):
            _field(context, python, Base(python, python, NEW_TREE), one)
        else:
            own = repr(step.name) if step is not None else "None"
            context.emit(f"{python}.append({context.use('row_item')}({_row_value(context, one.value)}, {own}))")
    return Code(python, None, False, Shape.ROW)


def _row_value(context: Context, node: syntax.Expression) -> str:
    field = path_compiling.single_field(context, node)
    if field is not None:
        return path_compiling.element(context, field).text
    code = context.any(node)
    if code.shape in LISTS:
        raise context.problem(node, "a list cannot stand in a ROW without AS name[]")
    return code.text


def _only_name(step: syntax.PathStep) -> bool:
    return isinstance(step.name, str) and not (step.namespace or step.type or step.index)


def _row(context: Context, node: syntax.Select) -> str:
    row = context.temporary("row")
    if not node.items:
        names = [binding.python for binding in context.scope.bindings.values()]
        context.emit(f"{row} = {context.use('copy_of')}({names[0]})")
        for name in names[1:]:
            context.emit(f"{context.use('insert_fields')}({row}, {name})")
        return row
    if whole := _whole(context, node.items):
        context.emit(f"{row} = {context.use('copy_of')}({whole})")
        return row
    context.emit(f"{row} = {context.use('Element')}()")
    start = Base(row, row, NEW_TREE)
    items = list(node.items)
    while items:
        run = _neighbours(items)
        if len(run) > 1:
            _fields(context, start, run)
        else:
            _field(context, row, start, items[0])
        del items[: len(run) or 1]
    return row


def _whole(context: Context, items: tuple[syntax.SelectItem, ...]) -> str:
    """Return Python of the field in `SELECT I FROM list[] AS I`: the row is that field itself, not a row that contains
    it."""
    value = items[0].value
    alone = len(items) == 1 and not items[0].target and not items[0].insert
    if (
        not alone
        or not isinstance(value, syntax.FieldReference)
        or value.steps
        or not path_compiling.is_path(context, value)
    ):
        return ""
    return path_compiling.element(context, value).text


def _neighbours(items: list[syntax.SelectItem]) -> list[syntax.SelectItem]:
    """Return the leading items whose targets are plain names below one parent: they are set by one call."""
    run: list[syntax.SelectItem] = []
    for item in items:
        if item.insert or not item.target or isinstance(item.value, syntax.Select | syntax.Passthru | syntax.ListOf):
            break
        if not all(map(_only_name, item.target)):
            break
        if item.target[:-1] != items[0].target[:-1]:
            break
        run.append(item)
    return run


def _fields(context: Context, start: Base, run: list[syntax.SelectItem]) -> None:
    codes = [assignments.copied(context, item.value) for item in run]
    path = steps_of(context, run[0].target)
    parent = path_compiling.ensured(context, start, path[:-1])
    for item, code in zip(run, codes, strict=True):
        if code.shape in LISTS:
            raise context.problem(item, "a list needs a target with []: (SELECT ...) AS name[]")
    items = ", ".join(code.text for code in codes)
    known = assignments.set_fields(context, [item.target[-1:] for item in run], codes)
    context.emit(f"{known}.set_in({parent}, ({items}))")
    for item in run:
        context.prefixes.written(start.route(steps_of(context, item.target)))


def _field(context: Context, row: str, start: Base, item: syntax.SelectItem) -> None:
    if item.insert:
        context.emit(f"{context.use('insert_fields')}({row}, {as_element(context, item.value)})")
        context.prefixes.clear()
        return
    target = item.target or _own_name(context, item)
    if target is None:
        found = assignments.kept(context, assignments.source(context, item.value)).text
        context.emit(f"if {found} is not None:")
        with context.indented():
            context.emit(f"{row}.append({context.use('row_item')}({found}, None))")
        return
    code = assignments.copied(context, item.value)
    path = steps_of(context, target)
    if code.shape in LISTS and not path[-1].every:
        raise context.problem(item, "a list needs a target with []: (SELECT ...) AS name[]")
    assignments.set_path(context, item, start, path, code)


def _own_name(context: Context, item: syntax.SelectItem) -> tuple[syntax.PathStep, ...] | None:
    """Return the name of an item without AS: that of the source field, or None if it is known only at run time."""
    value = item.value
    if not isinstance(value, syntax.FieldReference) or not path_compiling.is_path(context, value):
        raise context.problem(item, "this value has no name: add AS name")
    last = value.steps[-1] if value.steps else None
    if last is None or not isinstance(last.name, str):
        return None
    every = syntax.Every.ONE if last.index is syntax.Every.ONE else None
    return (syntax.PathStep(last.name, last.namespace, last.type, every, at=last.at),)


def quantified(context: Context, node: syntax.Quantified) -> Code:
    """FOR ALL, ANY and SOME."""
    name = context.temporary("quantified")
    deciding = node.quantifier == "ALL"
    with context.function(name), context.block():
        result = context.temporary("result")
        context.emit(f"{result} = {deciding}")
        item = syntax.FromItem(node.source, node.name, at=node.at)
        with ExitStack() as stack:
            _open(context, item, stack)
            one = context.temporary("one")
            context.emit(f"{one} = {truth(context, node.predicate).text}")
            context.emit(f"if {one} is {not deciding}:")
            with context.indented():
                context.emit(f"return {not deciding}")
            context.emit(f"if {one} is None:")
            with context.indented():
                context.emit(f"{result} = None")
        context.emit(f"return {result}")
    return Code(f"{name}()", Type.BOOLEAN)


def _calls_routines(node: object) -> bool:
    if isinstance(node, tuple):
        return any(_calls_routines(item) for item in node)
    if isinstance(node, syntax.Call) and (not node.built_in or node.name == "EVAL"):
        return True
    return isinstance(node, syntax.Node) and any(_calls_routines(getattr(node, field.name)) for field in fields(node))
