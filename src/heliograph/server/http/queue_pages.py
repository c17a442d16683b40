"""What the operators' pages say of queues, units of work and AMQP clients."""

import dataclasses
from typing import Any

from heliograph.broker import AmqpHost, Broker, Steps, figures_of_queue


def queue_figures(broker: Broker, found: dict[str, Any]) -> Steps:
    """Put the figures of each queue that somebody has defined, and of all others together, into `found`.

    Temporary queues and those behind subscriptions may be many and are soon gone: they are counted, not named.
    """
    named = []
    others = found["others"] = {"count": 0, "depth": 0}
    for queue in broker.queues.all():
        if _is_unnamed(queue.definition):
            others["count"] += 1
            others["depth"] += queue.depth
        elif not queue.deleted:
            named.append({"name": queue.name, **figures_of_queue(broker, queue.name)})
        yield None
    found["named"] = sorted(named, key=lambda one: str(one["name"]))


def _is_unnamed(definition: Any) -> bool:
    return bool(definition.internal or definition.temporary)


def work_figures(broker: Broker) -> dict[str, int]:
    """Units of work."""
    return dataclasses.asdict(broker.queues.works)


def amqp_figures(host: AmqpHost) -> dict[str, int]:
    """AMQP clients that are connected."""
    connections = [connection for some in host.containers.values() for connection in some]
    return {"connections": len(connections), "links": sum(len(connection.links) for connection in connections)}
