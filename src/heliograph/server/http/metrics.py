"""Metrics in the text format that Prometheus scrapes (version 0.0.4)."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Labels = Mapping[str, str]

_METRIC_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL_NAME = re.compile(r"(?!__)[a-zA-Z_][a-zA-Z0-9_]*")


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric: a single value, or one value for each set of labels.

    Counters only grow and end in `_total`; gauges go up and down and do not. ValueError for what Prometheus would
    misread.
    """

    name: str
    kind: Literal["counter", "gauge"]
    help: str
    value: float | Sequence[tuple[Labels, float]]

    def __post_init__(self) -> None:
        """Refuse names that Prometheus would not take."""
        if not _METRIC_NAME.fullmatch(self.name):
            raise ValueError(f"expected letters, digits, _ and : in the name of a metric, found {self.name!r}")
        if (self.kind == "counter") != self.name.endswith("_total"):
            raise ValueError(f"expected _total at the end of a counter's name and of no other, found {self.name!r}")
        for label in {label for labels, _ in self._samples() for label in labels}:
            if not _LABEL_NAME.fullmatch(label):
                raise ValueError(f"expected letters, digits and _ in a label of {self.name}, found {label!r}")

    def _samples(self) -> Sequence[tuple[Labels, float]]:
        return [({}, self.value)] if isinstance(self.value, int | float) else self.value

    def lines(self) -> Iterator[str]:
        """The lines of this metric."""
        yield f"# HELP {self.name} {_escaped(self.help)}"
        yield f"# TYPE {self.name} {self.kind}"
        for labels, value in self._samples():
            pairs = ",".join(f'{label}="{_quoted(text)}"' for label, text in labels.items())
            yield f"{self.name}{{{pairs}}} {_number(value)}" if pairs else f"{self.name} {_number(value)}"


def lines_for_prometheus(metrics: Iterable[Metric]) -> Iterator[str]:
    """The lines of a page for Prometheus, of each metric when it is its turn; ValueError if two share a name."""
    names: set[str] = set()
    for metric in metrics:
        if metric.name in names:
            raise ValueError(f"expected each metric once, found {metric.name} again")
        names.add(metric.name)
        for line in metric.lines():
            yield f"{line}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n")


def _quoted(text: str) -> str:
    return _escaped(text).replace('"', r"\"")


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return repr(value)


def queue_metrics(queues: dict[str, Any]) -> Iterator[Metric]:
    """Queues by name, and all unnamed ones together. There may be thousands, so metrics are generated one by one."""

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
    """The queue managers that the server runs as processes of their own."""

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


def pipeline_metrics(pipelines: list[dict[str, Any]]) -> list[Metric]:
    """The state and lag of each pipeline. Unknown values have no sample."""

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
