"""Checks of domains: a body whose format nobody knows cannot be read or sent, so it is told before a flow runs."""

from collections.abc import Iterator, Mapping

from heliograph.flow.definition.flow import NodeDefinition
from heliograph.flow.definition.mistakes import Findings, known, suggestion
from heliograph.flow.engine.nodes.programs import everything
from heliograph.flow.formats.catalogue import BODIES, HEADERS
from heliograph.flow.language.esql import syntax

PARTS = (*BODIES, *(header.domain for header in HEADERS))
"""What can be directly under the root of a message."""


def check_domains(nodes: Mapping[str, NodeDefinition], findings: Findings) -> None:
    """The domains in which nodes read bodies."""
    for node in nodes.values():
        domain = node.properties.get("domain")
        if domain and domain not in BODIES:
            findings.mistake(node.places.get("domain", node.place), _unknown(domain, BODIES))


def unknown_domains(program: syntax.Program) -> Iterator[tuple[syntax.Position, str]]:
    """Where a program makes parts of messages that have no format, and what is to be said."""
    nodes = list(everything(program))
    constants = {
        name.upper()
        for node in nodes
        if isinstance(node, syntax.Declaration) and node.type.name == "NAME"
        for name in node.names
    }
    for node in nodes:
        if isinstance(node, syntax.Create) and isinstance(node.domain, syntax.Literal):
            if node.domain.value not in PARTS:
                yield node.domain.at, _unknown(str(node.domain.value), PARTS)
        elif isinstance(node, syntax.Create | syntax.Set) and not _removes(node):
            step = _part(node.target)
            name = step.name if step is not None else None
            if step is not None and isinstance(name, str) and name not in PARTS and name.upper() not in constants:
                yield step.at, f"OutputRoot: {_unknown(name, PARTS)}"


def _removes(node: syntax.Create | syntax.Set) -> bool:
    """`SET ... = NULL` makes nothing."""
    return isinstance(node, syntax.Set) and isinstance(node.value, syntax.Literal) and node.value.value is None


def _part(target: syntax.FieldReference) -> syntax.PathStep | None:
    """The step of a path that names a part of the message that leaves, if it begins there."""
    return target.steps[0] if target.correlation.upper() == "OUTPUTROOT" and target.steps else None


def _unknown(domain: str, names: tuple[str, ...]) -> str:
    return f"there is no domain {domain}{suggestion(domain, names)}; there are: {known(names)}"
