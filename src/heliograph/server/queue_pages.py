"""What the operators' pages say of queues, units of work and AMQP clients."""

import dataclasses
from typing import Any

from heliograph.broker.broker import Broker
from heliograph.broker.links.host import Host
from heliograph.broker.queues.description import figures


def queue_figures(broker: Broker) -> dict[str, Any]:
    """The figures of each queue that somebody has defined, and of all others together.

    Temporary queues and those behind subscriptions may be many and are soon gone: they are counted, not named.
    """
    named = [queue for queue in broker.queues.all() if not _is_unnamed(queue.definition)]
    others = [queue for queue in broker.queues.all() if _is_unnamed(queue.definition)]
    return {
        "named": [
            {"name": queue.name, **figures(broker, queue.name)} for queue in sorted(named, key=lambda one: one.name)
        ],
        "others": {"count": len(others), "depth": sum(queue.depth for queue in others)},
    }


def _is_unnamed(definition: Any) -> bool:
    return bool(definition.internal or definition.temporary)


def work_figures(broker: Broker) -> dict[str, int]:
    """Units of work."""
    return dataclasses.asdict(broker.queues.works)


def amqp_figures(host: Host) -> dict[str, int]:
    """AMQP clients that are connected."""
    connections = [connection for some in host.containers.values() for connection in some]
    return {"connections": len(connections), "links": sum(len(connection.links) for connection in connections)}
