"""Metrics of pipelines, for Prometheus."""

from typing import Any

from heliograph.server.http.metrics import Metric


def pipeline_metrics(pipelines: list[dict[str, Any]]) -> list[Metric]:
    """What each pipeline does, and how far behind it is. What is not known has no sample."""

    def by_name(key: str) -> list[tuple[dict[str, str], float]]:
        return [({"pipeline": one["name"]}, one[key]) for one in pipelines if one[key] is not None]

    up = [({"pipeline": one["name"]}, int(one["state"] == "running")) for one in pipelines]
    return [
        Metric("heliograph_pipeline_up", "gauge", "1 while the pipeline runs.", up),
        Metric("heliograph_pipeline_rows_total", "counter", "Messages that it has taken.", by_name("rows")),
        Metric("heliograph_pipeline_rows_per_second", "gauge", "Messages a second.", by_name("rows_per_second")),
        Metric("heliograph_pipeline_batch", "gauge", "The batch that it has done last.", by_name("batch")),
        Metric("heliograph_pipeline_lag_messages", "gauge", "Messages that wait for it.", by_name("lag_messages")),
        Metric("heliograph_pipeline_lag_seconds", "gauge", "How long the oldest has waited.", by_name("lag_seconds")),
        Metric(
            "heliograph_pipeline_restarts_total",
            "counter",
            "Times that it, or a query in it, was started again.",
            by_name("restarts"),
        ),
    ]
