"""Which messages have no effect in the graph of a flow, decided from its Filter nodes.

`dropped` walks the graph from an input. A Filter node becomes a `Verdict` in SQL if its module only compares fields
with values and declares nothing but constants; otherwise (`NotNative`) Spark decides nothing behind it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from heliograph.errors import Problem
from heliograph.flow.definition import FlowDefinition, NodeDefinition
from heliograph.flow.engine import select_module
from heliograph.flow.language import Type, convert, parse_program, syntax
from heliograph.pipeline.flows.native.conditions import Conditions
from heliograph.pipeline.flows.native.documents import Document
from heliograph.pipeline.flows.native.verdicts import FALSE, TRUE, NotNative, Verdict, both, either

_OUTCOMES: tuple[tuple[str, bool | None], ...] = (("true", True), ("false", False), ("unknown", None))
_ALL_OF = {"FlowOrder": ("first", "second"), "TryCatch": ("try",)}
"""Nodes that send a message on as it is, to all of these terminals."""
_TYPES = ("BOOLEAN", "INTEGER", "FLOAT", "DECIMAL", "CHARACTER")
_MAIN = "MAIN"


@dataclass(frozen=True, slots=True)
class Dropped:
    """Which messages have no effect, as texts of SQL."""

    when: str
    """For certain; may be NULL."""
    seldom: bool = False
    """Whether these are few of all, as far as one can expect."""
    filters: tuple[str, ...] = field(default=())
    """The Filter nodes that decide it."""


_EVERY, _NONE = Dropped(TRUE), Dropped(FALSE)


def dropped(definition: FlowDefinition, entry: str, document: Document) -> Dropped:
    """The messages of an input that have no effect."""
    if definition.nodes[entry].properties.get("domain") != "JSON":
        return _NONE
    return _Graph(definition, document).behind(entry, "out", ())


class _Graph:
    def __init__(self, definition: FlowDefinition, document: Document) -> None:
        self._definition = definition
        self._document = document

    def behind(self, name: str, terminal: str, way: tuple[str, ...]) -> Dropped:
        """Messages that leave a node by a terminal, having come this way."""
        found = _EVERY
        for connection in self._definition.connections:
            if (connection.source, connection.terminal) == (name, terminal):
                found = _all([found, self._at(connection.target, way)])
        return found

    def _at(self, name: str, way: tuple[str, ...]) -> Dropped:
        node = self._definition.nodes[name]
        if name in way:
            return _NONE
        way = (*way, name)
        if node.type in _ALL_OF:
            return _all([self.behind(name, terminal, way) for terminal in _ALL_OF[node.type]])
        return self._at_filter(name, way) if node.type == "Filter" else _NONE

    def _at_filter(self, name: str, way: tuple[str, ...]) -> Dropped:
        ways = [(outcome, self.behind(name, terminal, way)) for terminal, outcome in _OUTCOMES]
        if all(each.when == FALSE for _, each in ways):
            return _NONE
        try:
            verdict = filter_verdict(self._definition, self._definition.nodes[name], self._document)
        except NotNative:
            return _NONE
        when, seldom = FALSE, True
        names: tuple[str, ...] = (name,)
        for outcome, each in ways:
            when = either(when, both(verdict.is_(outcome), each.when))
            if outcome is not None and each.when != FALSE:
                seldom &= each.seldom or (verdict.seldom_true if outcome else verdict.seldom_false)
            names += each.filters
        return Dropped(when, seldom, tuple(dict.fromkeys(names)))


def _all(several: list[Dropped]) -> Dropped:
    """What has no effect on any of these ways."""
    found = _EVERY
    for each in several:
        names = tuple(dict.fromkeys((*found.filters, *each.filters)))
        found = Dropped(both(found.when, each.when), found.seldom or each.seldom, names)
    return found if found.when != FALSE else _NONE


def constants(declarations: Sequence[syntax.Declaration], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Values by name in upper case. Nothing in a module can be native if one of its declarations is anything else."""
    found: dict[str, Any] = {}
    for node in declarations:
        if node.shared or node.type.name not in _TYPES or not isinstance(node.initial, syntax.Literal | None):
            raise NotNative(f"the declaration of {', '.join(node.names)}")
        for name in node.names:
            found[name.upper()] = _value(node, name, parameters)
    return found


def _value(node: syntax.Declaration, name: str, parameters: Mapping[str, Any]) -> Any:
    kind = Type[node.type.name]
    now = datetime.min  # no type here depends on it
    try:
        first = convert(node.initial.value if isinstance(node.initial, syntax.Literal) else None, kind, now)
        return convert(parameters.get(name, first), kind, now) if node.external else first
    except Problem:
        raise NotNative(f"the value of {name}") from None


def filter_verdict(definition: FlowDefinition, node: NodeDefinition, document: Document) -> Verdict:
    """What a Filter decides; `NotNative` if that is for Python."""
    file = node.properties["esql"]
    program = parse_program(definition.sources[file], file, "FILTER")
    module = select_module(program, node.properties["module"], "FILTER")
    if program.declarations or program.schema or program.path:
        raise NotNative("declarations outside of the module")
    names = constants(module.declarations, definition.parameters)
    for routine in module.routines:
        if routine.name.upper() == _MAIN and routine.body is not None:
            return Conditions(document, names).returned((routine.body,))
    raise NotNative("a module without Main")
