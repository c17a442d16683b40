"""Statements on trees: CREATE, DELETE, ATTACH, DETACH, MOVE; and PROPAGATE."""

from heliograph.flow.language.esql import syntax
from heliograph.flow.language.esql.compiling import path_compiling
from heliograph.flow.language.esql.compiling.context import Code, Context, Shape
from heliograph.flow.language.esql.compiling.function_compiling import bit_stream_clauses
from heliograph.flow.language.esql.compiling.python_names import Binding, BindingKind
from heliograph.flow.language.esql.compiling.steps import steps_of

_MOVES = {
    "PARENT": "to_parent",
    "FIRSTCHILD": "to_first_child",
    "LASTCHILD": "to_last_child",
    "NEXTSIBLING": "to_next",
    "PREVIOUSSIBLING": "to_previous",
}


def create(context: Context, node: syntax.Create) -> None:
    """CREATE."""
    start = path_compiling.base(context, node.target)
    target = path_compiling.ensured(context, start, steps_of(context, node.target.steps))
    if node.where == "FIELD":
        made = _kept(context, target)
        _fill(context, node, made)
    else:
        made = _kept(context, f"{context.use('put')}({_new(context, node, target)}, {target}, {node.where!r})")
    if node.source is not None:
        context.emit(
            f"{made}.take_content({path_compiling.element(context, node.source).text} or {context.use('ABSENT')})"
        )
    if node.reference is not None:
        context.emit(f"{_reference(context, node, node.reference).python}.to({made})")
    context.prefixes.clear()


def _kept(context: Context, text: str) -> str:
    if Code(text).is_name and "." not in text:
        return text
    python = context.temporary("made")
    context.emit(f"{python} = {text}")
    return python


def _fill(context: Context, node: syntax.Create, made: str) -> None:
    """CREATE FIELD with names or a value: the field is there now, and gets them."""
    if node.identity is not None:
        step = steps_of(context, (node.identity,))[0].step
        for aspect in ("TYPE", "NAMESPACE", "NAME"):
            given = getattr(node.identity, aspect.lower())
            if given is not None and not isinstance(given, syntax.Wildcard):
                context.emit(f"{context.use('set_aspect')}({made}, {aspect!r}, {step}.{aspect.lower()})")
    for aspect, value in (("TYPE", node.type), ("NAMESPACE", node.namespace), ("NAME", node.name)):
        if value is not None:
            text = _kind(context, value) if aspect == "TYPE" else context.value(value).text  # type: ignore[arg-type]
            context.emit(f"{context.use('set_aspect')}({made}, {aspect!r}, {text})")
    if node.value is not None:
        context.emit(f"{made}.set_value({context.value(node.value).text})")


def _new(context: Context, node: syntax.Create, target: str) -> str:
    domain = "None" if node.domain is None else context.value(node.domain).text
    kind, namespace, name = _identity(context, node)
    if node.parse is not None:
        parsed = node.parse
        source = context.value(parsed.source).text
        texts = ["ev", domain, target, repr(node.where), name, source, *bit_stream_clauses(context, parsed.clauses)]
        return f"{context.use('parse')}({', '.join(texts)})"
    if node.repeat:
        kind, namespace, name = f"{target}.type", f"{target}.namespace", f"{target}.name"
    value = "None" if node.value is None else context.value(node.value).text
    return f"{context.use('new_field')}(ev, {domain}, {kind}, {namespace}, {name}, {value})"


def _identity(context: Context, node: syntax.Create | syntax.Move) -> tuple[str, str, str]:
    """Type, namespace and name, in Python; None where nothing is said."""
    if node.identity is not None:
        step = f"{steps_of(context, (node.identity,))[0].step}"
        return f"{step}.type", f"{step}.namespace", f"{step}.name"
    kind = "None" if node.type is None else _kind(context, node.type)
    namespace = node.namespace
    space = "None" if namespace is None or isinstance(namespace, syntax.Wildcard) else context.value(namespace).text
    name = "None" if node.name is None else context.value(node.name).text
    return kind, space, name


def _kind(context: Context, node: syntax.FieldConstant | syntax.Expression) -> str:
    return str(node.value) if isinstance(node, syntax.FieldConstant) else context.value(node).text


def delete(context: Context, node: syntax.Delete) -> None:
    """DELETE FIELD, DELETE FIRSTCHILD OF and so on."""
    if path_compiling.is_list(node.target):
        raise context.problem(node, "DELETE takes one field, not a list")
    found = path_compiling.element(context, node.target).text
    if node.where != "FIELD":
        found = f"{context.use('relative')}({found}, {node.where!r})"
    context.emit(f"{context.use('delete')}({found})")
    context.prefixes.clear()


def attach(context: Context, node: syntax.Attach) -> None:
    """ATTACH."""
    reference = _reference(context, node, node.reference).python
    target = path_compiling.ensured(
        context, path_compiling.base(context, node.target), steps_of(context, node.target.steps)
    )
    context.emit(f"{context.use('attach')}({reference}.element, {target}, {node.where!r})")
    context.prefixes.clear()


def detach(context: Context, node: syntax.Detach) -> None:
    """DETACH."""
    context.emit(f"{context.use('detach')}({_reference(context, node, node.reference).python}.element)")
    context.prefixes.clear()


def move(context: Context, node: syntax.Move) -> None:
    """MOVE."""
    binding = _reference(context, node, node.reference)
    if node.target is not None:
        context.emit(f"{binding.python}.to({path_compiling.element(context, node.target).text})")
    elif node.where == "PARENT":
        context.emit(f"{binding.python}.to_parent()")
    else:
        context.emit(f"{binding.python}.{_MOVES[node.where or '']}({_wanted(context, node, binding)})")
    context.assign(binding)


def _wanted(context: Context, node: syntax.Move, binding: Binding) -> str:
    """What the field to move to has to look like."""
    if node.repeat_type or node.repeat_name:
        return f"{binding.python}.like_this({node.repeat_type}, {node.repeat_name})"
    if node.identity is not None:
        return steps_of(context, (node.identity,))[0].step
    kind, namespace, name = _identity(context, node)
    if node.name is not None and node.namespace is None:
        namespace = '""'
    step = f"{context.use('Step')}({name}, {namespace}, {kind})"
    constant = node.name is None and node.type is None and (node.namespace is None or namespace == "None")
    return context.unit.constant(step, "STEP_ANY") if constant else step


def _reference(context: Context, node: syntax.Node, name: str) -> Binding:
    binding = context.scope.find(name)
    if binding is None or binding.kind is not BindingKind.REFERENCE:
        raise context.problem(node, f"{name} is no reference variable")
    return binding


def propagate(context: Context, node: syntax.Propagate) -> None:
    """PROPAGATE."""
    texts = ["ev"]
    if node.label is not None:
        texts += ["terminal=None", f"label={context.use('label_of')}({context.value(node.label).text})"]
    elif node.terminal is not None:
        texts.append(f"terminal={context.use('terminal_of')}({context.value(node.terminal).text})")
    trees = (("message", node.message), ("local_environment", node.environment), ("exception_list", node.exception))
    for name, tree in trees:
        if tree is not None:
            code = path_compiling.element(context, tree)
            if code.shape is not Shape.FIELD:
                raise context.problem(tree, f"PROPAGATE takes a tree as {name}")
            texts.append(f"{name}={code.text}")
    if not node.finalize:
        texts.append("finalize=False")
    if not node.delete:
        texts.append("delete=False")
    context.emit(f"{context.use('send')}({', '.join(texts)})")
    context.prefixes.clear()
