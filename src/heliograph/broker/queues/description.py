"""A queue as those outside are told of it: attributes named as in the configuration, times in seconds."""

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, get_type_hints

from heliograph.broker.attributes import is_number, shown
from heliograph.broker.queues.definition import Kind, QueueDefinition, milliseconds
from heliograph.errors import Problem

if TYPE_CHECKING:
    from heliograph.broker.broker import Broker

_MILLISECONDS = 1000
_WORDS = {str: "a string", int: "an integer", bool: "true or false", float: "a number"}
# Kinds and orders come as strings.
_TYPES: dict[str, type] = {
    name: hint if hint in _WORDS else str for name, hint in get_type_hints(QueueDefinition).items()
} | {"max_ttl": float}


def attributes_of(definition: QueueDefinition) -> dict[str, Any]:
    """The attributes of a queue."""
    found = dataclasses.asdict(definition)
    return {**found, "kind": str(definition.kind), "order": str(definition.order), "max_ttl": _seconds(definition)}


def _seconds(definition: QueueDefinition) -> float:
    seconds = definition.max_ttl / _MILLISECONDS
    return int(seconds) if seconds.is_integer() else seconds


def definition_from(attributes: Mapping[str, Any]) -> QueueDefinition:
    """The queue that these attributes describe; a Problem if they make no sense."""
    found: dict[str, Any] = {}
    for key, value in attributes.items():
        if key not in _TYPES:
            raise Problem(f"expected an attribute of queues ({', '.join(_TYPES)}), found {shown(key)}")
        kind = _TYPES[key]
        if not _fits(value, kind):
            raise Problem(f"{key}: expected {_WORDS[kind]}, found {shown(value)}")
        found[key] = value if kind is float else kind(value)  # an integer may be too large for a float
    if "max_ttl" in found:
        found["max_ttl"] = milliseconds(found["max_ttl"])
    if "name" not in found:
        raise Problem("name: expected the name of a queue, found none")
    return QueueDefinition(**found)


def _fits(value: Any, kind: type) -> bool:
    return is_number(value, kind) if kind in {int, float} else isinstance(value, kind)


def describe(broker: "Broker", definition: QueueDefinition) -> dict[str, Any]:
    """All there is to say of a queue, an alias or a model; a queue with messages has figures too."""
    found = attributes_of(definition)
    if definition.kind is Kind.LOCAL:
        queue = broker.queues.find(definition.name)
        found["topics"] = [binding.filter for binding in broker.bindings.of(queue)]
        found |= figures(broker, definition.name)
    return found


def figures(broker: "Broker", name: str) -> dict[str, Any]:
    """What is counted of a queue that has messages."""
    return dataclasses.asdict(broker.queues.find(name).statistics())


def is_meant(name: str, pattern: str) -> bool:
    """Whether a pattern means this name: the name itself, or what it begins with and then a star."""
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern
