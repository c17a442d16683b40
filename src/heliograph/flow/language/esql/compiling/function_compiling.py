"""Calls of functions, and the statements that build trees: CREATE, ATTACH, DETACH, DELETE FIELD, MOVE, PROPAGATE, EVAL.

Functions on fields and lists, and properties of the node, have generators of their own here (`_SPECIAL`, `_FIELDS`).
All others take values and return a value: `UPPER(x)` becomes `_upper(x)`, with the module-level constant
`_upper = FUNCTIONS['UPPER'].call`. The arguments of SUBSTRING, POSITION and the like, which ESQL writes as clauses
(`FROM`, `FOR`), become positional arguments (`_flat`).
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from heliograph.flow.language.esql import syntax
from heliograph.flow.language.esql.builtin_functions import OVERRIDABLE
from heliograph.flow.language.esql.compiling import path_compiling, routines
from heliograph.flow.language.esql.compiling.context import LISTS, Code, Context, EvalSite, Shape
from heliograph.flow.language.esql.compiling.expression_compiling import as_element, as_list
from heliograph.flow.language.esql.compiling.path_compiling import steps_of
from heliograph.flow.language.esql.compiling.python_names import ANY_TREE, Binding, BindingKind
from heliograph.flow.language.values.types import Type

# EVAL: its text is known only at run time, so the generator stores the scope of the EVAL (`EvalSite`) in the unit.

MOST_NAMES = 100_000
"""Names that all EVALs of a file can use, together: the code that is made for an EVAL has each of them."""


def expression(context: Context, node: syntax.Call) -> Code:
    """EVAL(text) as an expression."""
    text = context.value(node.arguments[0])
    name, bindings = _eval_site(context, node, statement=False)
    context.prefixes.clear()
    context.reads.add(ANY_TREE)
    return Code(f"{context.use('evaluate')}({name}, {text.text}, ev, own, {_tuple(bindings)})")


def statement(context: Context, node: syntax.Eval) -> None:
    """EVAL(text) as a statement: it may change local variables."""
    text = context.value(node.text)
    name, bindings = _eval_site(context, node, statement=True)
    call = f"{context.use('run_text')}({name}, {text.text}, ev, own, {_tuple(bindings)})"
    context.emit(f"{_tuple(bindings)} = {call}" if bindings else call)
    for binding in bindings:
        context.assign(binding)
    context.prefixes.clear()


def _eval_site(context: Context, node: syntax.Node, *, statement: bool) -> tuple[str, list[Binding]]:
    visible = context.scope.visible()
    context.unit.names_for_evals += len(visible)
    if context.unit.names_for_evals > MOST_NAMES:
        raise context.problem(
            node, f"there are too many EVALs among too many variables: expected at most {MOST_NAMES} pairs of both"
        )
    bindings = [binding for binding in visible if binding.local_to is not None]
    if statement:
        bindings = [binding for binding in bindings if binding.kind is not BindingKind.CORRELATION]
    name = context.unit.names.new("SURROUNDINGS")
    context.unit.eval_sites[name] = EvalSite(context.environment, visible, tuple(bindings), statement)
    return name, bindings


def _tuple(bindings: list[Binding]) -> str:
    return f"({', '.join(binding.python for binding in bindings)}{',' if len(bindings) == 1 else ''})"


_TIMES = {
    "CURRENT_DATE": Type.DATE,
    "CURRENT_TIME": Type.TIME,
    "CURRENT_TIMESTAMP": Type.TIMESTAMP,
    "CURRENT_GMTDATE": Type.DATE,
    "CURRENT_GMTTIME": Type.GMTTIME,
    "CURRENT_GMTTIMESTAMP": Type.GMTTIMESTAMP,
    "LOCAL_TIMEZONE": Type.INTERVAL,
}
_STATES = {
    "SQLCODE": Type.INTEGER,
    "SQLNATIVEERROR": Type.INTEGER,
    "SQLSTATE": Type.CHARACTER,
    "SQLERRORTEXT": Type.CHARACTER,
}
_FIELDS = {
    "FIELDNAME": ("field_name", Type.CHARACTER),
    "FIELDNAMESPACE": ("field_namespace", Type.CHARACTER),
    "FIELDTYPE": ("field_type", Type.INTEGER),
    "FIELDVALUE": ("field_value", None),
}
# Result types of functions whose result type does not depend on their arguments.
_RESULTS = {
    **dict.fromkeys(("LENGTH", "POSITION"), Type.INTEGER),
    **dict.fromkeys(("CONTAINS", "STARTSWITH", "ENDSWITH"), Type.BOOLEAN),
    "SPACE": Type.CHARACTER,
    "RAND": Type.FLOAT,
}


def call(context: Context, node: syntax.Call) -> Code:
    """Generate a call of a built-in function or a routine."""
    if not node.built_in:
        name = node.name.upper()
        if name not in OVERRIDABLE or node.schema or name in context.environment.routines:
            return routines.call(context, node)
        # No routine of this name is known, so the call means the built-in function.
        node = replace(node, name=name, built_in=True)
    if node.name in _TIMES:
        # `ev.now` is one time for all that a node does with one message.
        function = context.unit.constant(f"{context.use('CURRENT')}[{node.name!r}]", node.name.lower())
        return Code(f"{function}(ev.now)", _TIMES[node.name], False)
    if node.name in _STATES:
        return Code(f"ev.{node.name.lower()}", _STATES[node.name], False)
    if node.name in _FIELDS:
        name, kind = _FIELDS[node.name]
        return Code(f"{context.use(name)}({as_element(context, node.arguments[0])})", kind)
    special = _SPECIAL.get(node.name)
    return special(context, node) if special is not None else _plain(context, node)


def _plain(context: Context, node: syntax.Call) -> Code:
    name, arguments = _flat(node)
    texts = [argument if isinstance(argument, str) else context.value(argument).text for argument in arguments]
    function = context.unit.constant(f"{context.use('FUNCTIONS')}[{name!r}].call", name.lower())
    return Code(f"{function}({', '.join(texts)})", _RESULTS.get(name))


def _flat(node: syntax.Call) -> tuple[str, list[syntax.Expression | str]]:
    """Return the function's name and its arguments as positional ones; an argument without ESQL syntax is given as
    Python."""
    clauses = dict(node.clauses)
    arguments: list[syntax.Expression | str] = list(node.arguments)
    if node.name == "SUBSTRING":
        kind = next((word for word in ("BEFORE", "AFTER") if word in clauses), None)
        start = clauses[kind or "FROM"]
        return f"SUBSTRING_{kind}" if kind else "SUBSTRING", [*arguments, start, *_given(clauses, "FOR")]
    if node.name == "POSITION":
        if clauses:
            arguments += [*(_given(clauses, "FROM") or ["0"]), *_given(clauses, "REPEAT")]
        return "POSITION", arguments
    if node.name == "OVERLAY":
        return "OVERLAY", [*arguments, clauses["FROM"], *_given(clauses, "FOR")]
    if node.name == "TRIM":
        return {"LEADING": "LTRIM", "TRAILING": "RTRIM"}.get(node.word or "", "TRIM"), arguments
    if node.name == "EXTRACT":
        return "EXTRACT", [repr(node.word), *arguments]
    return node.name, [*arguments, repr(node.word)] if node.word is not None else arguments


def _given(clauses: Mapping[str, syntax.Expression], name: str) -> list[syntax.Expression | str]:
    return [clauses[name]] if name in clauses else []


def _cardinality(context: Context, node: syntax.Call) -> Code:
    argument = node.arguments[0]
    if isinstance(argument, syntax.FieldReference) and path_compiling.is_list(argument):
        return Code(path_compiling.cardinality(context, argument), Type.INTEGER, False)
    return Code(f"len({_list(context, argument)})", Type.INTEGER, False)


def _exists(context: Context, node: syntax.Call) -> Code:
    return Code(f"bool({_list(context, node.arguments[0])})", Type.BOOLEAN, False)


def _singular(context: Context, node: syntax.Call) -> Code:
    return Code(f"(len({_list(context, node.arguments[0])}) == 1)", Type.BOOLEAN, False)


def _list(context: Context, node: syntax.Expression) -> str:
    """A list; a field reference without [] counts as the list of what it finds."""
    field = path_compiling.single_field(context, node)
    if field is not None:
        return f"{context.use('siblings')}({path_compiling.element(context, field).text})"
    return as_list(context, node)


def _the(context: Context, node: syntax.Call) -> Code:
    code = context.any(node.arguments[0])
    if code.shape not in LISTS:
        return code
    shape = {Shape.ROWS: Shape.ROW, Shape.FIELDS: Shape.FIELD}.get(code.shape, Shape.VALUE)
    return Code(f"{context.use('the')}({code.text})", code.type, True, shape)


def _coalesce(context: Context, node: syntax.Call) -> Code:
    first, *others = node.arguments
    codes = [context.value(first)]
    with context.conditionally():
        codes += [context.value(other) for other in others]
    text = ""
    for code in codes[:-1]:
        value = context.temporary("value")
        text += f"{value} if ({value} := {code.text}) is not None else "
    types = {code.type for code in codes} - {Type.NULL}
    return Code(f"({text}{codes[-1].text})", types.pop() if len(types) == 1 else None, codes[-1].nullable)


def _nullif(context: Context, node: syntax.Call) -> Code:
    left, right = (context.value(argument) for argument in node.arguments)
    value = context.temporary("value")
    return Code(f"(None if {context.use('equal')}(({value} := {left.text}), {right.text}) else {value})", left.type)


def _same_field(context: Context, node: syntax.Call) -> Code:
    left, right = (as_element(context, argument) for argument in node.arguments)
    return Code(f"{context.use('same_field')}({left}, {right})", Type.BOOLEAN, False)


def _last_move(context: Context, node: syntax.Call) -> Code:
    argument = node.arguments[0]
    binding = context.scope.find(argument.correlation) if isinstance(argument, syntax.FieldReference) else None
    if binding is None or binding.kind is not BindingKind.REFERENCE:
        raise context.problem(node, "LASTMOVE takes a reference variable")
    return Code(f"{binding.python}.last_move()", Type.BOOLEAN, False)


def _as_bit_stream(context: Context, node: syntax.Call) -> Code:
    texts = ["ev", as_element(context, node.arguments[0]), *bit_stream_clauses(context, node.clauses)]
    return Code(f"{context.use('as_bit_stream')}({', '.join(texts)})", Type.BLOB)


_BIT_STREAM_CLAUSES = {
    "OPTIONS": "options",
    "ENCODING": "encoding",
    "CCSID": "ccsid",
    "SET": "message_set",
    "TYPE": "message_type",
    "FORMAT": "message_format",
}


def bit_stream_clauses(context: Context, clauses: tuple[tuple[str, syntax.Expression], ...]) -> list[str]:
    """The clauses of ASBITSTREAM and PARSE as arguments."""
    return [f"{_BIT_STREAM_CLAUSES[name]}={context.value(value).text}" for name, value in clauses]


_SPECIAL: Mapping[str, Callable[[Context, syntax.Call], Code]] = {
    "CARDINALITY": _cardinality,
    "EXISTS": _exists,
    "SINGULAR": _singular,
    "THE": _the,
    "COALESCE": _coalesce,
    "NULLIF": _nullif,
    "SAMEFIELD": _same_field,
    "LASTMOVE": _last_move,
    "ASBITSTREAM": _as_bit_stream,
    "BITSTREAM": _as_bit_stream,
    "EVAL": expression,
}


# Statements on trees: CREATE, DELETE, ATTACH, DETACH, MOVE; and PROPAGATE.

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
    """CREATE FIELD with names or a value: set them on the field, which exists now."""
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
    """Return type, namespace and name in Python; `None` for each that the statement does not give."""
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
    """Return Python of the `Step` that the field to move to must match."""
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
