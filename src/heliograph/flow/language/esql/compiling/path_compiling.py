"""Generators for field references: paths that are read, and paths whose missing fields are created.

Neighbouring steps that are plain names become one call of `runtime.field_paths`; each other step is a call of its own.
The longest prefix of the path that is known already (`python_names.Prefixes`) is taken from its local variable:

    SET OutputRoot.XMLNSC.Invoice.Id = InputRoot.XMLNSC.Order.Id;
    SET OutputRoot.XMLNSC.Invoice.Total = InputRoot.XMLNSC.Order.Line[2].Price;

looks up `XMLNSC.Order` and creates `XMLNSC.Invoice` once for both statements:

    Order = find(InputRoot, 'XMLNSC', 'Order') or ABSENT
    Invoice = ensure(OutputRoot, 'XMLNSC', 'Invoice')

`ABSENT` stands for a missing element: it has no children and no value, so code that reads through it needs no test.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from heliograph.flow.language.esql import syntax
from heliograph.flow.language.esql.builtin_functions import FUNCTIONS
from heliograph.flow.language.esql.compiling.context import Code, Context, Shape
from heliograph.flow.language.esql.compiling.python_names import (
    ANY_TREE,
    Binding,
    BindingKind,
    Known,
    Names,
    Route,
    StepKey,
)
from heliograph.flow.language.esql.names import alone, constant_of, property_of
from heliograph.flow.language.values.types import type_of

# Steps of paths, in Python: names, namespaces, types and indexes.


@dataclass(frozen=True, slots=True)
class Base:
    """Where a path starts: Python that always evaluates to an element."""

    text: str
    root: str
    tree: str
    uses: frozenset[Binding] = frozenset()

    def route(self, steps: "tuple[StepCode, ...]") -> Route:
        """The path from here."""
        uses = self.uses.union(*(step.uses for step in steps))
        return Route(self.root, self.tree, tuple(step.key for step in steps), uses)


@dataclass(frozen=True, slots=True)
class StepCode:
    """A step of a path in Python."""

    key: StepKey
    name: str | None
    """Python of the name, if the step has nothing but a name and an index: such steps have the fastest lookup."""
    step: str
    """Python of a `Step`."""
    index: str | None
    """Python of the index."""
    from_end: bool = False
    every: bool = False
    uses: frozenset[Binding] = frozenset()
    anonymous: bool = False
    """Whether the step has no name."""
    stable: bool = True
    """Whether it finds the same field again as long as the variables in `uses` do not change."""

    @property
    def simple(self) -> bool:
        """A name and nothing else."""
        return self.name is not None and self.index is None and not self.every


def steps_of(context: Context, path: tuple[syntax.PathStep, ...]) -> tuple[StepCode, ...]:
    """The steps of a path."""
    return tuple(_step(context, step) for step in path)


def _step(context: Context, node: syntax.PathStep) -> StepCode:
    uses: set[Binding] = set()
    name, literal = _name(context, node, uses)
    namespace = _namespace(context, node, uses)
    kind = _type(context, node.type, uses)
    index, from_end = _index(context, node, uses)
    plain = literal is not None or (name is not None and name != "None")
    only_name = plain and namespace == '""' and kind == "None"
    constant = (
        not uses and (name is None or literal is not None or name == "None") and kind.isdecimal() | (kind == "None")
    )
    step = f"{context.use('Step')}({name}, {namespace}, {kind})"
    if constant and (not only_name or node.index is syntax.Every.ONE):
        step = context.unit.constant(step, f"STEP_{literal or 'ANY'}")
    stable = not from_end and _stable(index, uses) and _stable(None if literal is not None else name, uses)
    return StepCode(
        StepKey(f"{name} {namespace} {kind} {index} {from_end}", literal),
        name if only_name else None,
        step,
        index,
        from_end,
        node.index is syntax.Every.ONE,
        frozenset(uses),
        name == "None",
        stable and (kind == "None" or kind.isdecimal()),
    )


def _stable(text: str | None, uses: set[Binding]) -> bool:
    """Whether an expression has the same value when it is evaluated again: a constant or a variable."""
    return (
        text is None
        or text == "None"
        or text.isdecimal()
        or any(text in (used.python, f"name_of({used.python})") for used in uses)
    )


def _name(context: Context, node: syntax.PathStep, uses: set[Binding]) -> tuple[str, str | None]:
    if node.name is None or isinstance(node.name, syntax.Wildcard):
        return "None", None
    if isinstance(node.name, str):
        binding = context.scope.find(node.name)
        if binding is None or not binding.is_name:
            return repr(node.name), node.name
        if binding.literal is not None:
            return repr(binding.literal), binding.literal
        uses.add(binding)
        return f"{context.use('name_of')}({binding.python})", None
    code = _using(context, node.name, uses)
    return f"{context.use('name_of')}({code.text})", None


def _namespace(context: Context, node: syntax.PathStep, uses: set[Binding]) -> str:
    if node.namespace is None:
        return '""' if isinstance(node.name, str | syntax.Expression) else "None"
    if isinstance(node.namespace, syntax.Wildcard):
        return "None"
    if isinstance(node.namespace, str):
        binding = context.scope.find(node.namespace)
        if binding is None or binding.kind is not BindingKind.SCALAR:
            return repr(node.namespace)
        if binding.literal is not None:
            return repr(binding.literal)
        uses.add(binding)
        return f"{context.use('name_of')}({binding.python})"
    return f"{context.use('name_of')}({_using(context, node.namespace, uses).text})"


def _type(context: Context, node: syntax.FieldConstant | syntax.Expression | None, uses: set[Binding]) -> str:
    if node is None:
        return "None"
    if isinstance(node, syntax.FieldConstant):
        return str(node.value)
    if isinstance(node, syntax.Literal) and isinstance(node.value, int):
        return str(node.value)
    return f"{context.use('type_number')}({_using(context, node, uses).text})"


def _index(context: Context, node: syntax.PathStep, uses: set[Binding]) -> tuple[str | None, bool]:
    index = node.index
    if index is None or isinstance(index, syntax.Every):
        return None, False
    if isinstance(index, syntax.FromStart | syntax.FromEnd):
        number = "1" if index.number is None else _using(context, index.number, uses).text
        return number, isinstance(index, syntax.FromEnd)
    return _using(context, index, uses).text, False


def _using(context: Context, node: syntax.Expression, uses: set[Binding]) -> Code:
    """Generate an expression inside a path; note in `uses` the variable that it reads, if it is one."""
    if isinstance(node, syntax.FieldReference) and not node.steps:
        binding = context.scope.find(node.correlation)
        if binding is not None:
            uses.add(binding)
    return context.value(node)


ROOTS = {
    "INPUTROOT": ("InputRoot", "input_root"),
    "INPUTBODY": ("InputRoot", "input_root"),
    "INPUTPROPERTIES": ("InputRoot", "input_root"),
    "INPUTLOCALENVIRONMENT": ("InputLocalEnvironment", "input_local_environment"),
    "INPUTDESTINATIONLIST": ("InputLocalEnvironment", "input_local_environment"),
    "INPUTEXCEPTIONLIST": ("InputExceptionList", "input_exception_list"),
    "OUTPUTROOT": ("OutputRoot", "output_root"),
    "OUTPUTLOCALENVIRONMENT": ("OutputLocalEnvironment", "output_local_environment"),
    "OUTPUTDESTINATIONLIST": ("OutputLocalEnvironment", "output_local_environment"),
    "OUTPUTEXCEPTIONLIST": ("OutputExceptionList", "output_exception_list"),
    "ENVIRONMENT": ("Environment", "environment"),
    "ROOT": ("Root", "input_root"),
    "BODY": ("Root", "input_root"),
    "PROPERTIES": ("Root", "input_root"),
    "LOCALENVIRONMENT": ("LocalEnvironment", "input_local_environment"),
    "DESTINATIONLIST": ("LocalEnvironment", "input_local_environment"),
    "EXCEPTIONLIST": ("ExceptionList", "input_exception_list"),
}
"""Correlation names in upper case: the local variable that has the tree, and what it is of the evaluation."""
_BODIES = frozenset({"INPUTBODY", "BODY"})
_PROPERTIES = frozenset({"INPUTPROPERTIES", "PROPERTIES"})


def local_names() -> Names:
    """Names for the variables of a new function, which may also have those of the trees."""
    return Names(python for python, _ in ROOTS.values())


def is_path(context: Context, node: syntax.Expression) -> bool:
    """Whether an expression is a field reference, and not a scalar variable or a constant."""
    if not isinstance(node, syntax.FieldReference):
        return False
    binding = context.scope.find(node.correlation)
    if binding is not None:
        return bool(node.steps) or binding.kind is not BindingKind.SCALAR
    return node.correlation.upper() in ROOTS or (bool(node.steps) and constant_of(node) is None and not alone(node))


def base(context: Context, node: syntax.FieldReference) -> Base:
    """Where a field reference starts."""
    if node.index is not None and not isinstance(node.index, syntax.Every):
        raise context.problem(node, f"{node.correlation} is one field: an index stands behind a name in the path")
    binding = context.scope.find(node.correlation)
    if binding is not None:
        return _declared(context, node, binding)
    key = node.correlation.upper()
    if key not in ROOTS:
        raise context.problem(node, f"{node.correlation} is neither declared nor a tree of this node")
    python, tree = ROOTS[key]
    top = context.frame.top()
    if python not in top.roots:
        top.roots[python] = tree
    context.reads.add(tree)
    if key in _BODIES:
        return _inside(context, f"{context.use('last_child')}({python})", key, tree, "Body")
    if key in _PROPERTIES:
        found = f'({python}.first("Properties") or {context.use("ABSENT")})'
        return _inside(context, found, key, tree, "Properties")
    return Base(python, tree, tree)


def _inside(context: Context, text: str, key: str, tree: str, like: str) -> Base:
    if not context.hoisting:
        return Base(text, key, tree)
    route = Route(key, tree, ())
    known = context.prefixes.known.get(route)
    if known is None:
        known = Known(context.temporary(like), True)
        context.emit(f"{known.python} = {text}")
        context.prefixes.learn(route, known)
    return Base(known.python, key, tree)


def _declared(context: Context, node: syntax.FieldReference, binding: Binding) -> Base:
    uses = frozenset({binding})
    if binding.kind is BindingKind.SCALAR:
        raise context.problem(node, f"{node.correlation} is a scalar variable and has no fields")
    if binding.kind is BindingKind.ROW:
        context.reads.add(binding.python)
        return Base(binding.python, binding.python, binding.python, uses)
    context.reads.add(ANY_TREE)
    if binding.kind is BindingKind.REFERENCE:
        return Base(f"{binding.python}.element", binding.python, ANY_TREE, uses)
    return Base(binding.python, binding.python, ANY_TREE, uses)


# Reading


def chain(context: Context, text: str, path: tuple[StepCode, ...], there: bool) -> str:
    """Return Python that walks a path from an element; `there` means that the element cannot be None."""
    for steps in _together(path):
        if steps[0].simple:
            names = ", ".join(str(step.name) for step in steps)
            one = there and len(steps) == 1
            text = f"{text}.first({names})" if one else f"{context.use('find')}({text}, {names})"
        else:
            text = _look(context, text, steps[0], there)
        there = False
    return text


def _together(path: tuple[StepCode, ...]) -> Iterator[tuple[StepCode, ...]]:
    """Group the steps of a path by calls: neighbouring plain names share one; each other step has its own."""
    at = 0
    while at < len(path):
        end = at
        while end < len(path) and path[end].simple:
            end += 1
        end = max(end, at + 1)
        yield path[at:end]
        at = end


def _look(context: Context, text: str, step: StepCode, there: bool) -> str:
    number = step.index or "1"
    if there and number.isdecimal():
        if step.name is not None:
            return f"{text}.{'last' if step.from_end else 'nth'}({step.name}, {number})"
        return f"{text}.{'match_last' if step.from_end else 'match_nth'}({step.step}, {number})"
    if step.name is not None:
        return f"{context.use('last' if step.from_end else 'nth')}({text}, {step.name}, {number})"
    return f"{context.use('match_last' if step.from_end else 'match')}({text}, {step.step}, {number})"


def prefix(context: Context, start: Base, path: tuple[StepCode, ...]) -> tuple[str, bool]:
    """Return Python of the element at the end of a path, and whether it cannot be None (it may be ABSENT)."""
    if not path:
        return start.text, True
    known = context.prefixes.known.get(start.route(path))
    if known is not None and not known.later:
        return known.python, True
    # `Order.Line[i].Price` in a loop: look up `Order` alone, as it can be kept from round to round, and the rest each
    # time.
    if context.hoisting and (constant := _constant(path)):
        prefix(context, start, constant)
    text, rest = _longest(context, start, path, ensured=False)
    if not context.hoisting:
        return chain(context, text, rest, True), False
    found = f"{chain(context, text, rest, True)} or {context.use('ABSENT')}"
    if known is not None and known.ensured:
        # It is made later in the round, not here.
        python = context.temporary(_like(path))
        context.emit(f"{python} = {known.python} or {found}")
        return python, True
    return _walked(context, start, path, found, ensured=False), True


def _walked(context: Context, start: Base, path: tuple[StepCode, ...], walk: str, *, ensured: bool) -> str:
    """Write the lookup of a path, and return the local variable that holds its element from here on."""
    route = start.route(path)
    expected = context.prefixes.known.get(route)
    if ensured:
        context.prefixes.made(route)
    # The loop expects this path from an earlier round: look it up in the first round only (see `_loop`).
    if expected is not None and expected.ensured is ensured:
        context.emit(f"if {expected.python} is None:")
        with context.indented():
            context.emit(f"{expected.python} = {walk}")
        context.prefixes.learn(route, Known(expected.python, ensured))
        return expected.python
    python = _named(context, start, path, ensured=ensured)
    context.emit(f"{python} = {walk}")
    return python


def _named(context: Context, start: Base, path: tuple[StepCode, ...], *, ensured: bool) -> str:
    python = context.temporary(_like(path))
    if all(step.stable for step in path):
        context.prefixes.learn(start.route(path), Known(python, ensured))
    return python


def _constant(path: tuple[StepCode, ...]) -> tuple[StepCode, ...]:
    """Return the steps before the first one that depends on a variable; none if no step does."""
    at = next((at for at, step in enumerate(path) if step.uses or not step.stable), 0)
    return path[:at]


def _longest(
    context: Context, start: Base, path: tuple[StepCode, ...], ensured: bool
) -> tuple[str, tuple[StepCode, ...]]:
    for length in range(len(path) - 1, 0, -1):
        known = context.prefixes.known.get(start.route(path[:length]))
        if known is not None and not known.later and (known.ensured or not ensured):
            return known.python, path[length:]
    return start.text, path


def _like(path: tuple[StepCode, ...]) -> str:
    return path[-1].key.name or "found"


def element(context: Context, node: syntax.FieldReference) -> Code:
    """The element that a field reference means; None if there is none."""
    start = base(context, node)
    path = steps_of(context, node.steps)
    if not path:
        return Code(start.text, None, False, Shape.FIELD)
    if path[-1].every:
        raise context.problem(node, "a list (with []) stands where a single field is needed")
    text, there = prefix(context, start, path[:-1])
    return Code(chain(context, text, path[-1:], there), None, True, Shape.FIELD)


def content(context: Context, node: syntax.FieldReference) -> Code:
    """Return Python of the field's content (`Element.content`), for a copy; it is None if there is no such field."""
    start = base(context, node)
    path = steps_of(context, node.steps)
    if not path or not path[-1].simple:
        return element(context, node)
    text, there = prefix(context, start, path[:-1])
    return Code(_of(context, text, there, f"content({path[-1].name})"), None, True, Shape.FIELD)


def above(context: Context, node: syntax.FieldReference) -> str:
    """Return Python of the field's parent, or of ABSENT."""
    text, there = prefix(context, base(context, node), steps_of(context, node.steps)[:-1])
    return text if there else f"({text} or {context.use('ABSENT')})"


def _of(context: Context, text: str, there: bool, call: str) -> str:
    """Return Python that calls a method of an element that may be None."""
    if there:
        return f"{text}.{call}"
    scratch = context.scratch()
    return f"({scratch}.{call} if ({scratch} := {text}) is not None else None)"


def elements(context: Context, node: syntax.FieldReference) -> Code:
    """The list of elements that a field reference with [] means; without it, of the fields like the one it names."""
    start = base(context, node)
    path = steps_of(context, node.steps)
    if not path:
        return Code(f"{context.use('siblings')}({start.text})", None, False, Shape.FIELDS)
    last = path[-1]
    text, there = prefix(context, start, path[:-1])
    if last.name is not None:
        found = f"{text}.all({last.name})" if there else f"{context.use('every')}({text}, {last.name})"
    else:
        found = f"{text}.match_all({last.step})" if there else f"{context.use('match_every')}({text}, {last.step})"
    return Code(found, None, False, Shape.FIELDS)


def cardinality(context: Context, node: syntax.FieldReference) -> str:
    """How many elements a field reference with [] means."""
    start = base(context, node)
    path = steps_of(context, node.steps)
    text, there = prefix(context, start, path[:-1])
    if not there or not path:
        return f"len({elements(context, node).text})"
    last = path[-1]
    return f"{text}.count({last.name})" if last.name is not None else f"{text}.match_count({last.step})"


def is_list(node: syntax.Expression) -> bool:
    """Whether an expression is a field reference with []."""
    if not isinstance(node, syntax.FieldReference):
        return False
    index = node.steps[-1].index if node.steps else node.index
    return index is syntax.Every.ONE


def single_field(context: Context, node: syntax.Expression) -> syntax.FieldReference | None:
    """The expression, if it is a reference to one field; None if it is a list, a variable, or anything else."""
    if isinstance(node, syntax.FieldReference) and is_path(context, node) and not is_list(node):
        return node
    return None


def field_value(context: Context, node: syntax.FieldReference) -> Code:
    """A field reference, a variable or a constant where a value is needed; a list stays one."""
    binding = context.scope.find(node.correlation)
    if binding is not None and binding.kind is BindingKind.SCALAR and not node.steps:
        return Code(binding.python, binding.type)
    if binding is None and node.correlation.upper() not in ROOTS:
        return _undeclared(context, node)
    if is_list(node):
        return elements(context, node)
    if not node.steps:
        return Code(f"{element(context, node).text}.value")
    start = base(context, node)
    path = steps_of(context, node.steps)
    if path[-1].simple:
        text, there = prefix(context, start, path[:-1])
        return Code(_of(context, text, there, f"value_of({path[-1].name})"))
    return Code(_of(context, element(context, node).text, False, "value"))


def _undeclared(context: Context, node: syntax.FieldReference) -> Code:
    value = constant_of(node)
    if value is not None:
        return Code(repr(value), type_of(value), False)
    known = property_of(node)
    if known is not None:
        return Code(f"ev.properties.get({known!r})")
    key = alone(node)
    if key in FUNCTIONS and FUNCTIONS[key].least == 0:
        # UUIDASCHAR and its like are called without parentheses, too.
        return context.any(syntax.Call(key, built_in=True, at=node.at))
    raise context.problem(node, f"{node.correlation} is neither declared nor a tree of this node")


# Creating missing fields


def ensured(context: Context, start: Base, path: tuple[StepCode, ...]) -> str:
    """Write lines that create what is missing on a path; return Python of the element at its end."""
    if not path:
        return start.text
    known = context.prefixes.known.get(start.route(path))
    if known is not None and known.ensured and not known.later:
        return known.python
    if constant := _constant(path):
        ensured(context, start, constant)
    text, rest = _longest(context, start, path, ensured=True)
    return _walked(context, start, path, make(context, text, rest), ensured=True)


def is_made(context: Context, start: Base, path: tuple[StepCode, ...]) -> bool:
    """Whether a local variable holds the element at the end of a path, and the element exists."""
    known = context.prefixes.known.get(start.route(path))
    return known is not None and known.ensured and not known.later


def made(context: Context, start: Base, path: tuple[StepCode, ...]) -> str:
    """Return a local variable for the element at the end of a path; the next line written must assign it."""
    context.prefixes.made(start.route(path))
    return _named(context, start, path, ensured=True)


def make(context: Context, text: str, path: tuple[StepCode, ...]) -> str:
    """Return Python that walks a path and creates what is missing."""
    for steps in _together(path):
        if steps[0].simple:
            names = ", ".join(str(step.name) for step in steps)
            text = f"{text}.ensure({names})" if len(steps) == 1 else f"{context.use('ensure')}({text}, {names})"
        else:
            text = _make_one(context, text, steps[0])
    return text


def _make_one(context: Context, text: str, step: StepCode) -> str:
    if step.from_end:
        return f"{context.use('ensure_match_last')}({text}, {step.step}, {step.index})"
    if step.name is not None and step.index is not None:
        return f"{context.use('ensure_nth')}({text}, {step.name}, {step.index})"
    return f"{context.use('ensure_match')}({text}, {step.step}{f', {step.index}' if step.index else ''})"
