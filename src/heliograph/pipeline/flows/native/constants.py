"""What a module declares, as long as it is the same for all messages."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from heliograph.errors import Problem
from heliograph.flow.language import Type, convert, syntax
from heliograph.pipeline.flows.native.verdicts import NotNative

_TYPES = ("BOOLEAN", "INTEGER", "FLOAT", "DECIMAL", "CHARACTER")


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
