"""Checking expressions and field references: whether every name is known, and every call has the arguments it needs."""

from collections.abc import Callable
from typing import Any

from heliograph.flow.errors import EsqlMistake
from heliograph.flow.language.esql import syntax
from heliograph.flow.language.esql.builtin_functions import FUNCTIONS, OVERRIDABLE
from heliograph.flow.language.esql.checking.scopes import Library, Scope, Variable
from heliograph.flow.language.esql.names import (
    BROKER_PROPERTIES,
    CONSTANTS,
    TREES,
    alone,
    constant_of,
    field_type,
    is_changeable,
    property_of,
)
from heliograph.flow.language.esql.source_text import MOST_MISTAKES, Source, suggestion

_WITH_FIELDS = ("ROW", "REFERENCE", "CORRELATION")
_KNOWN_EVERYWHERE = (*BROKER_PROPERTIES, *CONSTANTS)
_TREES = {kind: frozenset(name.upper() for name in names) for kind, names in TREES.items()}
OTHER_LANGUAGES = ("JAVA", ".NET", "CLR")
_NO_BODY = "; the body for output is OutputRoot with the name of a domain: OutputRoot.XMLNSC"

_COMPARISONS = frozenset(["=", "<>", "<", "<=", ">", ">="])


class TooManyMistakes(Exception):
    """There is no use in looking for more."""


class ExpressionChecker:
    """Checks expressions in one module (of this kind), or outside of modules (kind "")."""

    def __init__(self, source: Source, kind: str, library: Library) -> None:
        self._source = source
        self._kind = kind
        self._library = library
        self.found: list[EsqlMistake] = []
        self._mistakes = 0
        self._by_type: dict[type[syntax.Expression], Callable[[Any, Scope], None]] = {
            syntax.Literal: lambda node, scope: None,
            syntax.FieldReference: self.reading,
            syntax.Unary: lambda node, scope: self.expression(node.operand, scope),
            syntax.Binary: self._binary,
            syntax.Difference: lambda node, scope: self.expressions((node.later, node.earlier), scope),
            syntax.Is: lambda node, scope: self.expression(node.operand, scope),
            syntax.Between: lambda node, scope: self.expressions((node.operand, node.low, node.high), scope),
            syntax.In: lambda node, scope: self.expressions((node.operand, *node.choices), scope),
            syntax.Like: lambda node, scope: self.expressions((node.operand, node.pattern, node.escape), scope),
            syntax.Case: self._case,
            syntax.Cast: self._cast,
            syntax.Quantified: self._quantified,
            syntax.Call: self._call,
            syntax.Passthru: self.passthru,
            syntax.Select: self._select,
            syntax.Row: self._row,
            syntax.ListOf: lambda node, scope: self.expressions(node.items, scope),
        }

    def report(self, at: syntax.Position, text: str) -> None:
        """Note a mistake."""
        self.found.append(self._source.mistake(*at, text))
        self._mistakes += 1
        if self._mistakes == MOST_MISTAKES:
            raise TooManyMistakes

    def warn(self, at: syntax.Position, text: str) -> None:
        """Note something that is right, but hardly meant."""
        self.found.append(self._source.mistake(*at, text, warning=True))

    def expression(self, node: syntax.Expression | None, scope: Scope) -> None:
        """Check an expression, if there is one."""
        if node is not None:
            self._by_type[type(node)](node, scope)

    def _binary(self, node: syntax.Binary, scope: Scope) -> None:
        sides = (node.left, node.right)
        if node.operator in _COMPARISONS and any(
            isinstance(side, syntax.Literal) and side.value is None for side in sides
        ):
            test = "IS NOT NULL" if node.operator == "<>" else "IS NULL"
            self.warn(node.at, f"{node.operator} NULL is never TRUE: use {test}")
        self.expressions(sides, scope)

    def expressions(self, nodes: tuple[syntax.Expression | None, ...], scope: Scope) -> None:
        """Check some expressions."""
        for node in nodes:
            self.expression(node, scope)

    # Field references

    def reading(self, reference: syntax.FieldReference, scope: Scope) -> None:
        """Check a reference to something that is read."""
        self._resolve(reference, scope)
        self.steps(reference.steps, scope)

    def writing(self, reference: syntax.FieldReference, scope: Scope) -> Variable | None:
        """Check a reference to something that is changed; gives the variable, if it begins with one."""
        variable = self._resolve(reference, scope)
        self.steps(reference.steps, scope)
        name = reference.correlation
        if variable is not None:
            # A constant reference always points to the same field, which may well change.
            if variable.constant and not (reference.steps and variable.kind == "REFERENCE"):
                self.report(reference.at, f"{name} cannot be changed: it is a constant")
        elif name.upper() in _TREES[self._kind] and not is_changeable(name):
            hint = "; change OutputRoot" if name.upper().startswith("INPUT") else ""
            self.report(reference.at, f"{name} cannot be changed{hint}")
        return variable

    def table(self, reference: syntax.FieldReference, scope: Scope) -> None:
        """Check a reference to a table, or to anything else in a database."""
        if reference.correlation.upper() != "DATABASE":
            self.report(reference.at, f"expected Database, found {reference.correlation}")
        self.steps(reference.steps, scope)

    def reference_variable(self, name: str, at: syntax.Position, scope: Scope) -> None:
        """Check the name of a variable that must be a reference."""
        variable = scope.variable(name)
        if variable is None:
            self.report(at, f"there is no reference {name}{suggestion(name, list(scope.names()))}")
        elif variable.kind not in ("REFERENCE", "CORRELATION"):
            self.report(at, f"{name} is of type {variable.kind}, but a REFERENCE is needed here")

    def steps(self, steps: tuple[syntax.PathStep, ...], scope: Scope) -> None:
        """Check what stands in a path."""
        for number, step in enumerate(steps, 1):
            if isinstance(step.name, syntax.Expression):
                self.expression(step.name, scope)
            if isinstance(step.namespace, syntax.Expression):
                self.expression(step.namespace, scope)
            elif isinstance(step.namespace, str) and self._undeclared(step.namespace, scope):
                text = f"the namespace {step.namespace} is not declared: DECLARE {step.namespace} NAMESPACE '...'"
                self.warn(step.at, text)
            self.field_type(step.type, scope)
            self._index(step.index, scope)
            if step.index is syntax.Every.ONE and number < len(steps):
                self.report(step.at, "[] stands at the end of a path only: it means all of the last fields")

    def _undeclared(self, namespace: str, scope: Scope) -> bool:
        # `:Name` is without a namespace; those two need no declaration in XML either.
        if namespace in ("", "xml", "xmlns"):
            return False
        return scope.variable(namespace) is None and self._library.variable(namespace) is None

    def field_type(self, kind: syntax.FieldConstant | syntax.Expression | None, scope: Scope) -> None:
        """Check the type of a field, if it is an expression."""
        if isinstance(kind, syntax.Expression):
            self.expression(kind, scope)

    def _index(
        self, index: syntax.Expression | syntax.FromStart | syntax.FromEnd | syntax.Every | None, scope: Scope
    ) -> None:
        if isinstance(index, syntax.Expression):
            self.expression(index, scope)
        elif isinstance(index, syntax.FromStart | syntax.FromEnd):
            self.expression(index.number, scope)

    def _resolve(self, reference: syntax.FieldReference, scope: Scope) -> Variable | None:
        """Find what a reference begins with; gives it if it is a variable."""
        name, steps = reference.correlation, reference.steps
        self._index(reference.index, scope)
        variable = scope.variable(name) or self._library.variable(name)
        if variable is not None:
            if steps and variable.kind not in _WITH_FIELDS:
                self.report(reference.at, f"{name} is of type {variable.kind}: it has no fields")
            return variable
        if name.upper() in _TREES[self._kind]:
            if name.upper() == "DATABASE":
                self.report(reference.at, "tables of Database are read by SELECT ... FROM only")
            return None
        if not self._known_everywhere(reference):
            self.report(reference.at, self._unknown(reference, scope))
        return None

    def _known_everywhere(self, reference: syntax.FieldReference) -> bool:
        if property_of(reference) is not None or constant_of(reference) is not None:
            return True
        function = FUNCTIONS.get(alone(reference))
        return function is not None and function.least == 0

    def _unknown(self, reference: syntax.FieldReference, scope: Scope) -> str:
        name = reference.correlation
        if name.upper() == "OUTPUTBODY":
            return f"there is no OutputBody{_NO_BODY}"
        if name.upper() in _TREES[""]:
            return f"{name} is not there in a {self._kind} module{self._counterpart(name)}"
        known = [*scope.names(), *self._library.variable_names(), *TREES[self._kind]]
        if reference.steps:
            return f"{name} is not known here{suggestion(name, known)}"
        if self._source.lines[reference.at.line - 1][reference.at.column - 1 :].startswith('"'):
            return f"there is no variable {name} here; a string stands in single quotes: '{name}'"
        hint = suggestion(name, [*known, *_KNOWN_EVERYWHERE])
        domains = [domain for domain in ("XMLNSC", "XML") if field_type(domain, name) is not None]
        if not hint and domains:
            hint = f"; did you mean {' or '.join(f'{domain}.{name}' for domain in domains)}?"
        return f"there is no variable {name} here{hint}"

    def _counterpart(self, name: str) -> str:
        """What the tree of another kind of module is called in this one."""
        for other in (f"Input{name}", name.removeprefix("Input"), name.removeprefix("Output")):
            if other.upper() in _TREES[self._kind]:
                return f"; did you mean {other}?"
        return ""

    # Expressions with others inside

    def _case(self, node: syntax.Case, scope: Scope) -> None:
        self.expression(node.operand, scope)
        for branch in node.branches:
            self.expressions((branch.condition, branch.value), scope)
        self.expression(node.otherwise, scope)

    def _cast(self, node: syntax.Cast, scope: Scope) -> None:
        self.expressions((*node.sources, node.ccsid, node.encoding, node.format, node.default), scope)
        target = node.type.name
        most = {"DATE": 3, "TIME": 3, "GMTTIME": 3, "TIMESTAMP": 6, "GMTTIMESTAMP": 6}.get(target, 1)
        allowed = (1, 2, most) if most == 6 else (1, most)
        if len(node.sources) not in allowed:
            self.report(node.at, f"CAST to {target} takes {_either(allowed)}, found {_values(len(node.sources))}")

    def _quantified(self, node: syntax.Quantified, scope: Scope) -> None:
        self.reading(node.source, scope)
        inner = scope.inside()
        inner.declare(Variable(node.name or correlation_name(node.source), "CORRELATION", node.at))
        self.expression(node.predicate, inner)

    def passthru(self, node: syntax.Passthru, scope: Scope) -> None:
        """Check a PASSTHRU."""
        self.expressions((node.sql, *node.values), scope)
        if node.database is not None:
            self.table(node.database, scope)

    def _row(self, node: syntax.Row, scope: Scope) -> None:
        for item in node.items:
            self._item(item, scope)

    def _select(self, node: syntax.Select, scope: Scope) -> None:
        inner = scope.inside()
        messages = False
        for source in node.sources:
            if source.source.correlation.upper() == "DATABASE":
                self._select_table(source, inner)
                if messages:
                    self.report(source.at, "tables stand before fields of messages behind FROM")
            else:
                messages = True
                self.reading(source.source, inner)
            inner.declare(Variable(source.name or correlation_name(source.source), "CORRELATION", source.at))
        for item in node.items:
            self._item(item, inner)
            if node.kind == "ROWS" and not item.target and not item.insert and not _has_name(item.value):
                self.warn(item.at, "this value has no name in the row: write AS and a name, or SELECT ITEM")
        self.expression(node.where, inner)

    def _select_table(self, source: syntax.FromItem, scope: Scope) -> None:
        self.table(source.source, scope)
        if not source.source.steps:
            self.report(source.at, "expected a table behind FROM: Database.ORDERS")

    def _item(self, item: syntax.SelectItem, scope: Scope) -> None:
        self.expression(item.value, scope)
        self.steps(item.target, scope)

    # Calls

    def _call(self, node: syntax.Call, scope: Scope) -> None:
        routine = self.call(node, scope)
        if routine is not None and routine.kind == "PROCEDURE" and routine.returns is None:
            self.report(node.at, f"{routine.name} is a procedure without a value: use CALL {routine.name}(...)")

    def call(self, node: syntax.Call, scope: Scope) -> syntax.Routine | None:
        """Check a call; gives the routine, if it is one and is known."""
        self.expressions(node.arguments, scope)
        for _, value in node.clauses:
            self.expression(value, scope)
        if node.built_in:
            self._count(node, FUNCTIONS[node.name].least, FUNCTIONS[node.name].most)
            if node.name == "LASTMOVE" and len(node.arguments) == 1:
                self._last_move(node.arguments[0], scope)
            return None
        routine = self._library.routine(node.schema, node.name) if node.schema else scope.routine(node.name)
        routine = routine or (None if node.schema else self._library.routine_on_path(node.name))
        if routine is None and not node.schema and node.name.upper() in OVERRIDABLE:
            self._count(node, FUNCTIONS[node.name.upper()].least, FUNCTIONS[node.name.upper()].most)
            return None
        if routine is None:
            known = [*scope.routine_names(), *self._library.routine_names(), *FUNCTIONS]
            name = ".".join((*node.schema, node.name))
            self.report(node.at, f"there is no function or procedure {name}{suggestion(node.name, known)}")
            return None
        if routine.language in OTHER_LANGUAGES:
            text = (
                f"{routine.name} is written in {routine.language}, which is not run here; a Python node can do its work"
            )
            self.report(node.at, text)
        # Each result set goes to a list of fields, named behind the arguments.
        count = len(routine.parameters) + routine.result_sets
        self._count(node, count, count)
        self._outputs(node, routine, scope)
        return routine

    def _last_move(self, argument: syntax.Expression, scope: Scope) -> None:
        if isinstance(argument, syntax.FieldReference) and not argument.steps:
            self.reference_variable(argument.correlation, argument.at, scope)
        else:
            self.report(argument.at, "LASTMOVE takes the name of a reference")

    def _count(self, node: syntax.Call, least: int, most: int | None) -> None:
        count = len(node.arguments)
        if count < least or (most is not None and count > most):
            wanted = f"{least} or more" if most is None else _range(least, most)
            plural = "argument" if wanted == "1" else "arguments"
            self.report(node.at, f"{node.name} takes {wanted if wanted != '0' else 'no'} {plural}, found {count}")

    def _outputs(self, node: syntax.Call, routine: syntax.Routine, scope: Scope) -> None:
        """What a routine gives back through its parameters needs a place to go."""
        for parameter, argument in zip(routine.parameters, node.arguments, strict=False):
            if parameter.mode == "IN":
                continue
            if isinstance(argument, syntax.FieldReference):
                variable = scope.variable(argument.correlation)
                if variable is not None and variable.constant:
                    text = f"{argument.correlation} is a constant, but {routine.name} sets it ({parameter.mode})"
                    self.report(argument.at, text)
            else:
                text = f"{parameter.name} of {routine.name} is {parameter.mode}: it takes a variable or a field"
                self.report(argument.at, text)
        for argument in node.arguments[len(routine.parameters) :]:
            last = argument.steps[-1].index if isinstance(argument, syntax.FieldReference) and argument.steps else None
            if routine.result_sets and last is not syntax.Every.ONE:
                self.report(argument.at, f"a result set of {routine.name} goes to a list of fields: Environment.Rows[]")


def correlation_name(source: syntax.FieldReference) -> str:
    """The name under which a list is known that has no AS: that of its last field."""
    last = source.steps[-1].name if source.steps else source.correlation
    return last if isinstance(last, str) else ""


def _has_name(value: syntax.Expression) -> bool:
    return isinstance(value, syntax.FieldReference)


def _range(least: int, most: int) -> str:
    return str(least) if least == most else f"{least} to {most}"


def _values(count: int) -> str:
    return f"{count} value" if count == 1 else f"{count} values"


def _either(counts: tuple[int, ...]) -> str:
    names = [str(count) for count in dict.fromkeys(counts)]
    return (" or ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else names[0]) + (
        " value" if names == ["1"] else " values"
    )
