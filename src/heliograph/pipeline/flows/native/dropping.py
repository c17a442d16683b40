"""Where messages end in the graph of a flow without having had any effect."""

from dataclasses import dataclass, field

from heliograph.flow.definition import FlowDefinition
from heliograph.pipeline.flows.native.documents import Document
from heliograph.pipeline.flows.native.filters import filter_verdict
from heliograph.pipeline.flows.native.verdicts import FALSE, TRUE, NotNative, both, either

_OUTCOMES: tuple[tuple[str, bool | None], ...] = (("true", True), ("false", False), ("unknown", None))
_ALL_OF = {"FlowOrder": ("first", "second"), "TryCatch": ("try",)}
"""Nodes that send a message on as it is, to all of these terminals."""


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
