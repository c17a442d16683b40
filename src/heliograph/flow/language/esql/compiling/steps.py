"""Steps of paths, in Python: names, namespaces, types and indexes."""

from dataclasses import dataclass

from heliograph.flow.language.esql import syntax
from heliograph.flow.language.esql.compiling.context import Code, Context
from heliograph.flow.language.esql.compiling.prefixes import Route, StepKey
from heliograph.flow.language.esql.compiling.python_names import Binding, BindingKind


@dataclass(frozen=True, slots=True)
class Base:
    """Where a path starts: Python that gives an element, always."""

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
    """Python of the name, if name and index are all there is to it: such steps are looked up fastest."""
    step: str
    """Python of a `Step`."""
    index: str | None
    """Python of the index."""
    from_end: bool = False
    every: bool = False
    uses: frozenset[Binding] = frozenset()
    anonymous: bool = False
    """Whether it says no name."""
    stable: bool = True
    """Whether it means the same field again, as long as nothing it uses changes."""

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
    """Whether an expression gives the same again: a constant, or the value of a variable."""
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
    """An expression inside a path, and the variable that it is, if it is one."""
    if isinstance(node, syntax.FieldReference) and not node.steps:
        binding = context.scope.find(node.correlation)
        if binding is not None:
            uses.add(binding)
    return context.value(node)
