"""Metrics of queues and queue managers, for Prometheus."""

from collections.abc import Iterator
from typing import Any

from heliograph.server.http.metrics import Metric


def queue_metrics(queues: dict[str, Any]) -> Iterator[Metric]:
    """Queues by name, and those that have none of their own together. There may be thousands: each is made in turn."""

    def by_queue(key: str) -> list[tuple[dict[str, str], float]]:
        return [({"queue": one["name"]}, one[key]) for one in queues["named"]]

    yield Metric("heliograph_queue_messages", "gauge", "Messages in the queue.", by_queue("depth"))
    yield Metric(
        "heliograph_queue_in_flight", "gauge", "Messages that somebody has not settled.", by_queue("in_flight")
    )
    yield Metric("heliograph_queue_delayed", "gauge", "Messages whose time has not come.", by_queue("delayed"))
    yield Metric("heliograph_queue_consumers", "gauge", "Consumers of the queue.", by_queue("consumers"))
    yield Metric("heliograph_queue_oldest_seconds", "gauge", "How long the oldest has waited.", by_queue("oldest_age"))
    yield Metric("heliograph_queue_put_total", "counter", "Messages that were put.", by_queue("put"))
    yield Metric("heliograph_queue_got_total", "counter", "Messages that somebody had use for.", by_queue("got"))
    yield Metric("heliograph_queue_expired_total", "counter", "Messages whose time was over.", by_queue("expired"))
    yield Metric(
        "heliograph_queue_dead_lettered_total",
        "counter",
        "Messages that went to a dead-letter or backout queue.",
        by_queue("dead_lettered"),
    )
    yield Metric("heliograph_queue_refused_total", "counter", "Messages that were not taken.", by_queue("refused"))
    others = queues["others"]
    yield Metric("heliograph_unnamed_queues", "gauge", "Temporary queues and subscriptions of AMQP.", others["count"])
    yield Metric("heliograph_unnamed_queue_messages", "gauge", "Messages in those.", others["depth"])


def work_metrics(works: dict[str, int]) -> list[Metric]:
    """Units of work."""
    ends = [({"end": end}, works[end]) for end in ("committed", "rolled_back")]
    return [
        Metric("heliograph_units_of_work_open", "gauge", "Units of work that go on now.", works["open"]),
        Metric("heliograph_units_of_work_total", "counter", "Units of work that are over, by how they ended.", ends),
    ]


def amqp_metrics(amqp: dict[str, int]) -> list[Metric]:
    """AMQP clients."""
    return [
        Metric("heliograph_amqp_connections", "gauge", "AMQP clients connected now.", amqp["connections"]),
        Metric("heliograph_amqp_links", "gauge", "Links of AMQP clients.", amqp["links"]),
    ]


def queue_manager_metrics(managers: list[dict[str, Any]]) -> list[Metric]:
    """How the queue managers are doing that the server runs as processes of their own."""

    def by_name(key: str) -> list[tuple[dict[str, str], float]]:
        return [({"queue_manager": one["name"]}, one[key]) for one in managers]

    up = [({"queue_manager": one["name"]}, int(one["state"] == "running")) for one in managers]
    return [
        Metric("heliograph_queue_manager_up", "gauge", "1 while the queue manager runs.", up),
        Metric(
            "heliograph_queue_manager_restarts_total", "counter", "Times it was started again.", by_name("restarts")
        ),
        Metric("heliograph_queue_manager_messages", "gauge", "Messages in its queues.", by_name("depth")),
    ]
