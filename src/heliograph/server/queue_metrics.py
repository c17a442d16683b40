"""Metrics of queues and queue managers, for Prometheus."""

from typing import Any

from heliograph.server.metrics import Metric


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
