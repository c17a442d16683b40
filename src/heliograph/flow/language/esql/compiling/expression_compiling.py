"""Generators for expressions: literals, operators, comparison, logic, CASE, CAST, ROW and LIST.

`total + 1` becomes `add(total, 1)`, not `total + 1`: every operand may be NULL (None), and ESQL has conversions
between types that Python lacks. Logic has three values (TRUE, FALSE, UNKNOWN as True, False, None). `condition` gives
Python for places that only ask "is it TRUE?" (IF, WHILE, WHERE), where Python's own `and` and `or` are enough."""

from collections.abc import Callable, Mapping
from decimal import Decimal

from heliograph.errors import Problem
from heliograph.flow.language.esql import syntax
from heliograph.flow.language.esql.compiling import path_compiling
from heliograph.flow.language.esql.compiling.context import LISTS, NULL, Code, Context, Shape
from heliograph.flow.language.values import literals
from heliograph.flow.language.values.times import Qualifier
from heliograph.flow.language.values.types import Type

_ARITHMETIC = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "||": "concatenate"}
_COMPARISON = {
    "=": "equal",
    "<>": "not_equal",
    "<": "less",
    "<=": "less_or_equal",
    ">": "greater",
    ">=": "greater_or_equal",
}
_PYTHON = {"=": "==", "<>": "!="}
_INLINE = frozenset({Type.INTEGER, Type.FLOAT})
_READERS = {
    "DATE": "to_date",
    "TIME": "to_time",
    "TIMESTAMP": "to_timestamp",
    "GMTTIME": "to_gmttime",
    "GMTTIMESTAMP": "to_gmttimestamp",
}


def literal(context: Context, node: syntax.Literal) -> Code:
    """A value written down."""
    if node.value is None:
        return NULL
    kind = Type[node.type]
    if node.type in _READERS or node.type == "INTERVAL":
        return Code(_dated(context, node), kind, False)
    if node.type == "BIT":
        return Code(context.unit.constant(f"{context.use('Bits')}({node.value!r})", "BITS"), kind, False)
    if isinstance(node.value, Decimal):
        return Code(context.unit.constant(f"{context.use('Decimal')}({str(node.value)!r})", "DECIMAL"), kind, False)
    return Code(repr(node.value), kind, False)


def _dated(context: Context, node: syntax.Literal) -> str:
    reader = _READERS.get(node.type, "to_interval")
    try:
        if node.qualifier is None:
            getattr(literals, reader)(node.value)
            text = f"{context.use(reader)}({node.value!r})"
        else:
            fields = Qualifier(qualifier_words(node.qualifier))
            literals.to_interval(str(node.value), fields)
            text = f"{context.use(reader)}({node.value!r}, {qualifier(context, node.qualifier)})"
    except Problem as error:
        raise context.problem(node, str(error)) from None
    return context.unit.constant(text, node.type)


def qualifier_words(node: syntax.Qualifier) -> str:
    """Return the qualifier of an interval as ESQL writes it."""
    return node.start if node.end in (None, node.start) else f"{node.start} TO {node.end}"


def qualifier(context: Context, node: syntax.Qualifier) -> str:
    """Return the qualifier of an interval in Python."""
    return f"{context.use('Qualifier')}({qualifier_words(node)!r})"


def unary(context: Context, node: syntax.Unary) -> Code:
    """`-` and NOT."""
    if node.operator == "NOT":
        operand = truth(context, node.operand)
        return Code(f"{context.use('not_')}({operand.text})", Type.BOOLEAN, operand.nullable)
    operand = context.value(node.operand)
    if isinstance(node.operand, syntax.Literal) and operand.type in (Type.INTEGER, Type.FLOAT):
        return Code(f"-{operand.text}", operand.type, False)
    return Code(f"{context.use('negate')}({operand.text})", operand.type, operand.nullable)


def binary(context: Context, node: syntax.Binary) -> Code:
    """Generate a binary operator."""
    if node.operator in ("AND", "OR"):
        return _logic(context, node)
    if node.operator in _COMPARISON:
        return comparison(context, node)
    left, right = context.value(node.left), context.value(node.right)
    return Code(
        f"{context.use(_ARITHMETIC[node.operator])}({left.text}, {right.text})",
        _result(node.operator, left.type, right.type),
        left.nullable or right.nullable,
    )


def _result(operator: str, left: Type | None, right: Type | None) -> Type | None:
    types = {left, right}
    if operator == "||":
        return Type.CHARACTER if types == {Type.CHARACTER} else None
    if types == {Type.INTEGER}:
        return Type.INTEGER
    if Type.FLOAT in types and types <= {Type.INTEGER, Type.FLOAT, Type.DECIMAL}:
        return Type.FLOAT
    return Type.DECIMAL if Type.DECIMAL in types and types <= {Type.INTEGER, Type.DECIMAL} else None


def _logic(context: Context, node: syntax.Binary) -> Code:
    first, *others = _operands(node)
    codes = [truth(context, first)]
    with context.conditionally():
        codes += [truth(context, other) for other in others]
    deciding = "False" if node.operator == "AND" else "True"
    if not any(code.nullable for code in codes):
        return Code(f"({f' {node.operator.lower()} '.join(code.text for code in codes)})", Type.BOOLEAN, False)
    names = [context.temporary("truth") for _ in codes]
    decided = " or ".join(f"({name} := {code.text}) is {deciding}" for name, code in zip(names, codes, strict=True))
    unknown = " or ".join(f"{name} is None" for name in names)
    return Code(f"({deciding} if {decided} else None if {unknown} else {deciding == 'False'})", Type.BOOLEAN)


def _operands(node: syntax.Binary) -> list[syntax.Expression]:
    """Return the operands of a chain of one operator (`a || b || c`) as a flat list, because Python limits nesting
    depth."""
    operands = [node.right]
    left = node.left
    while isinstance(left, syntax.Binary) and left.operator == node.operator:
        operands.append(left.right)
        left = left.left
    return [left, *reversed(operands)]


def truth(context: Context, node: syntax.Expression) -> Code:
    """Generate an expression as a truth value; any other type is an error at run time."""
    code = context.value(node)
    if code.type in (Type.BOOLEAN, Type.NULL):
        return code
    return Code(f"{context.use('truth')}({code.text})", Type.BOOLEAN)


def comparison(context: Context, node: syntax.Binary) -> Code:
    """`=`, `<` and so on."""
    whole = _compare_wholes(context, node)
    if whole is not None:
        return whole
    left, right = context.value(node.left), context.value(node.right)
    if left.type is right.type and left.type in _INLINE and left.is_name and right.is_name:
        plain = f"{left.text} {_PYTHON.get(node.operator, node.operator)} {right.text}"
        missing = _missing(left, right)
        if not missing:
            return Code(f"({plain})", Type.BOOLEAN, False)
        return Code(f"(None if {' or '.join(missing)} else {plain})", Type.BOOLEAN)
    return Code(
        f"{context.use(_COMPARISON[node.operator])}({left.text}, {right.text})",
        Type.BOOLEAN,
        left.nullable or right.nullable,
    )


def _missing(*operands: Code) -> list[str]:
    return [f"{operand.text} is None" for operand in operands if operand.nullable]


def _compare_wholes(context: Context, node: syntax.Binary) -> Code | None:
    """Compare rows or lists: a literal ROW or LIST on one side means that the other side is taken as the same shape."""
    if isinstance(node.left, syntax.ListOf) or isinstance(node.right, syntax.ListOf):
        name = "equal_lists"
        left, right = as_list(context, node.left), as_list(context, node.right)
    elif isinstance(node.left, syntax.Row) or isinstance(node.right, syntax.Row):
        name = "equal_rows"
        left, right = as_element(context, node.left), as_element(context, node.right)
    else:
        return None
    if node.operator not in ("=", "<>"):
        raise context.problem(node, f"rows and lists are compared by = and <> only, not {node.operator}")
    text = f"{context.use(name)}({left}, {right})"
    return Code(text if node.operator == "=" else f"{context.use('negated')}({text})", Type.BOOLEAN)


def as_element(context: Context, node: syntax.Expression) -> str:
    """Generate an expression as an element or None."""
    if isinstance(node, syntax.FieldReference) and path_compiling.is_path(context, node):
        return path_compiling.element(context, node).text
    code = context.any(node)
    if code.shape in LISTS or code.shape is Shape.VALUE:
        raise context.problem(node, "a row or a field is needed here")
    return code.text


def as_list(context: Context, node: syntax.Expression) -> str:
    """Generate an expression as a list."""
    field = path_compiling.single_field(context, node)
    if field is not None:
        return (
            f"{path_compiling.element(context, field).text}.children" if not field.steps else _children(context, field)
        )
    code = context.any(node)
    if code.shape not in LISTS:
        raise context.problem(node, "a list is needed here")
    return code.text


def _children(context: Context, node: syntax.FieldReference) -> str:
    return f"({path_compiling.element(context, node).text} or {context.use('ABSENT')}).children"


def condition(context: Context, node: syntax.Expression) -> str:
    """Generate Python that is true only if the expression is TRUE (not UNKNOWN): for IF, WHILE and WHERE."""
    with context.in_order(node):
        return _condition(context, node)


def _condition(context: Context, node: syntax.Expression) -> str:
    if isinstance(node, syntax.Binary) and node.operator in ("AND", "OR"):
        first, *others = _operands(node)
        # AND and OR are TRUE exactly if Python's `and` and `or` of "is TRUE" are, so three-valued logic is not needed.
        tests = [condition(context, first)]
        with context.conditionally():
            tests += [condition(context, other) for other in others]
        return f"({f' {node.operator.lower()} '.join(tests)})"
    if isinstance(node, syntax.Unary) and node.operator == "NOT":
        # NOT x is TRUE only if x is FALSE: `not x` would also be true for UNKNOWN.
        return f"({truth(context, node.operand).text} is False)"
    if isinstance(node, syntax.Binary) and node.operator in _COMPARISON and _compare_kind(node):
        left_code, right_code = context.value(node.left), context.value(node.right)
        if left_code.type is right_code.type and left_code.type in _INLINE and left_code.is_name and right_code.is_name:
            present = [f"{code.text} is not None" for code in (left_code, right_code) if code.nullable]
            plain = f"{left_code.text} {_PYTHON.get(node.operator, node.operator)} {right_code.text}"
            return " and ".join([*present, plain]) if not present else f"({' and '.join([*present, plain])})"
        return f"{context.use(_COMPARISON[node.operator])}({left_code.text}, {right_code.text})"
    return truth(context, node).text


def _compare_kind(node: syntax.Binary) -> bool:
    return not any(isinstance(side, syntax.ListOf | syntax.Row) for side in (node.left, node.right))


def difference(context: Context, node: syntax.Difference) -> Code:
    """`(a - b) DAY`."""
    later, earlier = context.value(node.later), context.value(node.earlier)
    fields = context.unit.constant(qualifier(context, node.qualifier), "FIELDS")
    return Code(f"{context.use('difference')}({later.text}, {earlier.text}, {fields})", Type.INTERVAL)


def is_test(context: Context, node: syntax.Is) -> Code:
    """`IS NULL` and so on."""
    if node.test == "NULL" and isinstance(node.operand, syntax.FieldReference) and path_compiling.is_list(node.operand):
        raise context.problem(node, "a list is never NULL: use EXISTS(...)")
    code = context.value(node.operand)
    if node.test == "NULL":
        return Code(f"({code.text} is {'not ' if node.negated else ''}None)", Type.BOOLEAN, False)
    tests: Mapping[str, Callable[[str], str]] = {
        "TRUE": lambda text: f"{context.use('is_true')}({text})",
        "FALSE": lambda text: f"{context.use('is_false')}({text})",
        "UNKNOWN": lambda text: f"{context.use('is_unknown')}({text})",
        "INF": lambda text: f"{context.use('is_inf')}({text})",
        "+INF": lambda text: f"{context.use('is_inf')}({text}, 1)",
        "-INF": lambda text: f"{context.use('is_inf')}({text}, -1)",
        "NAN": lambda text: f"{context.use('is_nan')}({text})",
        "NUM": lambda text: f"{context.use('is_num')}({text})",
    }
    text = tests[node.test](code.text)
    return Code(f"(not {text})" if node.negated else text, Type.BOOLEAN, False)


def between(context: Context, node: syntax.Between) -> Code:
    """`BETWEEN`."""
    parts = ", ".join(context.value(part).text for part in (node.operand, node.low, node.high))
    return _negated(
        context, f"{context.use('between_symmetric' if node.symmetric else 'between')}({parts})", node.negated
    )


def in_list(context: Context, node: syntax.In) -> Code:
    """`IN`."""
    operand = context.value(node.operand).text
    if len(node.choices) == 1:
        code = context.any(node.choices[0])
        if code.shape in LISTS:
            items = f"{context.use('values_of')}({code.text})"
            return _negated(context, f"{context.use('in_')}({operand}, {items})", node.negated)
    choices = "".join(f"{context.value(choice).text}, " for choice in node.choices)
    return _negated(context, f"{context.use('in_')}({operand}, ({choices}))", node.negated)


def like(context: Context, node: syntax.Like) -> Code:
    """`LIKE`."""
    parts = [context.value(node.operand).text, context.value(node.pattern).text]
    if node.escape is not None:
        parts.append(context.value(node.escape).text)
    return _negated(context, f"{context.use('like')}({', '.join(parts)})", node.negated)


def _negated(context: Context, text: str, negated: bool) -> Code:
    return Code(f"{context.use('negated')}({text})" if negated else text, Type.BOOLEAN)


def case(context: Context, node: syntax.Case) -> Code:
    """Generate CASE as a conditional expression: only the branch that is taken is evaluated."""
    parts: list[str] = []
    types: set[Type | None] = set()
    subject = context.temporary("subject") if node.operand is not None else ""
    operand = context.value(node.operand).text if node.operand is not None else ""
    with context.conditionally():
        for at, branch in enumerate(node.branches):
            value = context.value(branch.value)
            types.add(value.type)
            if node.operand is None:
                test = condition(context, branch.condition)
            else:
                first = f"({subject} := {operand})" if at == 0 else subject
                test = f"{context.use('equal')}({first}, {context.value(branch.condition).text})"
            parts.append(f"{value.text} if {test} else ")
        last = context.value(node.otherwise) if node.otherwise is not None else NULL
    types.add(last.type)
    types.discard(Type.NULL)
    return Code(f"({''.join(parts)}{last.text})", types.pop() if len(types) == 1 else None)


def cast(context: Context, node: syntax.Cast) -> Code:
    """CAST."""
    sources = [context.value(source) for source in node.sources]
    kind = Type[node.type.name]
    target = context.type_name(kind)
    clauses = _cast_clauses(context, node)
    if len(sources) == 1 and not clauses:
        # The common case, without FORMAT and other clauses: one table lookup at run time.
        now = "" if kind in (Type.INTEGER, Type.FLOAT, Type.DECIMAL, Type.CHARACTER, Type.BOOLEAN) else ", ev.now"
        return Code(f"{context.use('convert')}({sources[0].text}, {target}{now})", kind, sources[0].nullable)
    values = "".join(f"{source.text}, " for source in sources)
    return Code(f"{context.use('cast')}(({values}), {target}{''.join(clauses)}, now=ev.now)", kind)


def _cast_clauses(context: Context, node: syntax.Cast) -> list[str]:
    clauses = []
    if node.type.qualifier is not None:
        clauses.append(f", qualifier={context.unit.constant(qualifier(context, node.type.qualifier), 'FIELDS')}")
    if node.type.precision is not None:
        clauses.append(f", precision={node.type.precision}, scale={node.type.scale or 0}")
    for name, clause in (("ccsid", node.ccsid), ("encoding", node.encoding), ("format", node.format)):
        if clause is not None:
            clauses.append(f", {name}={context.value(clause).text}")
    if node.default is not None:
        clauses.append(f", default={context.value(node.default).text}")
    return clauses


def list_of(context: Context, node: syntax.ListOf) -> Code:
    """Generate LIST{...}: scalars and rows; a field counts as its value, or as a row if it has children."""
    items = []
    for item in node.items:
        code = context.any(item)
        if code.shape in LISTS:
            raise context.problem(item, "a list cannot stand in a LIST")
        items.append(code.text)
    return Code(f"[{', '.join(items)}]", None, False, Shape.VALUES)
