"""Subscriptions that an administrator has made: bindings with a name, which stay until somebody deletes them."""

from collections.abc import Generator
from operator import attrgetter
from typing import Any

from heliograph.broker.administration.description import is_meant
from heliograph.broker.broker import Broker
from heliograph.broker.queues.binding import Binding
from heliograph.broker.queues.refusal import NOT_ALLOWED, NOT_FOUND, PRECONDITION, Refused
from heliograph.errors import Problem

_LONGEST_NAME = 255


def listed(broker: Broker, pattern: str) -> Generator[None, None, list[dict[str, Any]]]:
    """Those that a pattern means, by name; in short steps, for there may be many."""
    found = []
    for binding in sorted(broker.bindings.named(), key=attrgetter("name")):
        if is_meant(binding.name, pattern):
            found.append(_described(binding))
        yield None
    return found


def define(broker: Broker, name: str, topic: str, queue: str, selector: str, *, replace: bool) -> dict[str, Any]:
    """From now on the messages of a topic filter go to a queue; Refused or a Problem says why not."""
    if not name or not topic or not queue:
        raise Problem("expected the name of a subscription, its topic and its queue, found none of one of them")
    if len(name) > _LONGEST_NAME or not name.isprintable():
        raise Problem(f"expected a name of up to {_LONGEST_NAME} printable characters, found {name[:60]!r}")
    target = broker.queues.find(queue)
    if target.definition.internal or target.definition.temporary:
        raise Refused(NOT_ALLOWED, f"queue {queue} belongs to a client")
    there = _find(broker, name)
    if there is not None and not replace:
        raise Refused(PRECONDITION, f"there is a subscription {name} already")
    for other in broker.bindings.of(target):
        if other.filter == topic and other is not there:
            raise Refused(PRECONDITION, f"queue {queue} gets the messages of {topic} already")
    if there is not None and (there.queue, there.filter) != (target, topic):
        broker.bindings.check(topic, selector)
        broker.bindings.unbind(there.filter, there.queue)
    broker.bindings.bind(topic, target, selector=selector, name=name)
    return {"name": name, "replaced": there is not None}


def delete(broker: Broker, name: str) -> dict[str, Any]:
    """Its queue gets nothing more of it, and keeps what it has."""
    there = _find(broker, name)
    if there is None:
        raise Refused(NOT_FOUND, f"there is no subscription {name}")
    broker.bindings.unbind(there.filter, there.queue)
    return {"name": name}


def _find(broker: Broker, name: str) -> Binding | None:
    return next((binding for binding in broker.bindings.named() if binding.name == name), None)


def _described(binding: Binding) -> dict[str, Any]:
    selector = binding.selector.text if binding.selector else ""
    return {"name": binding.name, "topic": binding.filter, "queue": binding.queue.name, "selector": selector}
