"""A queue as those outside are told of it: attributes named as in the configuration, and figures."""

import dataclasses
from typing import Any

from heliograph.broker.broker import Broker
from heliograph.broker.core.queue_definition import Kind, QueueDefinition
from heliograph.objects import to_values


def describe(broker: Broker, definition: QueueDefinition) -> dict[str, Any]:
    """All there is to say of a queue, an alias or a model; a queue with messages has figures too."""
    found = to_values(definition)
    if definition.kind is Kind.LOCAL:
        queue = broker.queues.find(definition.name)
        found["topics"] = [binding.filter for binding in broker.bindings.of(queue)]
        found |= figures(broker, definition.name)
    return found


def figures(broker: Broker, name: str) -> dict[str, Any]:
    """What is counted of a queue that has messages."""
    return dataclasses.asdict(broker.queues.find(name).statistics())


def is_meant(name: str, pattern: str) -> bool:
    """Whether a pattern means this name: the name itself, or what it begins with and then a star."""
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern
