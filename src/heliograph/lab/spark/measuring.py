"""All cases on one server and one session, one after the other."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from heliograph.errors import Problem
from heliograph.lab.errors import BrokerGone
from heliograph.lab.spark import alerts, flow_case, native_case, sink_case, source_case
from heliograph.lab.spark.rows import Effort, Row
from heliograph.lab.spark.site import SparkSite

CASES = ("source", "flow", "native", "alerts", "sink")


def written_before(effort: Effort, chosen: Sequence[str] = CASES) -> Callable[[Path], None] | None:
    """What these cases want to be in the log when the server starts."""
    return partial(source_case.write, effort=effort) if "source" in chosen else None


def measure(site: SparkSite, effort: Effort, chosen: Sequence[str] = CASES) -> Iterator[Row]:
    """The rows of these cases. A case that fails is a row with an error, and the next one is measured."""
    flow_outputs = flow_case.outputs(effort) if "flow" in chosen else 0
    known: dict[str, Callable[[], Iterator[Row]]] = {
        "source": lambda: source_case.measure(site, effort),
        "flow": lambda: flow_case.measure(site, effort, 0),
        "native": lambda: native_case.measure(site, effort),
        "alerts": lambda: alerts.measure(site, effort),
        "sink": lambda: sink_case.measure(site, effort, flow_outputs),
    }
    for name in CASES:
        if name in chosen:
            try:
                yield from known[name]()
            except (Problem, BrokerGone) as problem:
                yield Row(name, 0, error=str(problem))
