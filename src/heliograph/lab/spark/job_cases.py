"""Jobs on Spark: a flow from a stream to a topic, a filter with and without Spark's help, rows written to a sink."""

from collections.abc import Iterator

from heliograph.lab.errors import MeasurementFailed
from heliograph.lab.flows import esql
from heliograph.lab.flows.flow_cases import flow_text, write_folder
from heliograph.lab.flows.server_fixture import QueueFixture
from heliograph.lab.spark.site import CORES, QUEUE, SparkSite
from heliograph.lab.spark.spark_rows import SparkEffort, SparkRow, SparkRun, best, run_of
from heliograph.lab.spark.streams import PUBLISHERS, await_messages, fill, xml_payload

SIZE = 4096
OUT = "out/flow"
FLOW = {
    "flow.yaml": flow_text(
        {
            "in": 'TopicInput, topic: "orders/#", domain: XML',
            "change": "Compute, esql: change.esql",
            "out": "QueueOutput, queue: UNUSED",
        },
        "in.out -> change\nchange.out -> out",
        name="simple-compute",
    ),
    "change.esql": esql.SIMPLE,
}

KINDS = (("JSON", 200, "native"), ("JSON", 2000, "native"), ("XMLNSC", 1000, "xpath"))
"""Domain and size of messages, and what Spark does with them: the flow itself, or, where no part of a flow is native,
no more than to find the messages that pass."""
_BELOW = {"JSON": "Data", "XMLNSC": "M"}
_TITLES = {"native": "filter, JSON, what is dropped by Spark", "xpath": "xpath of Spark, XML, nothing sent on"}
_CONDITION = """\
CREATE FILTER MODULE IsHot
  CREATE FUNCTION Main() RETURNS BOOLEAN
  BEGIN
    RETURN Body.{below}.temperature > 95 AND Body.{below}.kind = 'measured';
  END;
END MODULE;
"""
TOPIC = "out/sink"


def measure_flow(site: SparkSite, effort: SparkEffort, there: int) -> Iterator[SparkRow]:
    """Once to warm up, then measured; `there` messages are in the stream of outputs already."""
    folder = write_folder(site.folder / "simple-compute", FLOW)
    order = {
        "folder": str(folder),
        "source": {"server": site.pages, "stream": "orders", "startingOffsets": "earliest"},
        "routes": [f"out=topic:{OUT}"],
        "checkpoint": str(site.folder / "simple-compute-checkpoint"),
    }
    topics = [f"orders/{number}" for number in range(PUBLISHERS)]
    done = 0
    for count in (effort.flow // 2, effort.flow):
        fill(site.mqtt, topics, count, xml_payload(SIZE))
        done += count
        await_messages(site.data, "orders", done)
        answer, spent = site.ask("flow", order)
        await_messages(site.data, "out", there + done)
    seconds = sum(batch["steps"]["triggerExecution"] for batch in answer["batches"]) / 1e3
    yield SparkRow("stream -> simple compute, XML -> topic", SIZE, run_of(effort.flow, seconds, spent))


def outputs(effort: SparkEffort) -> int:
    """How many messages it leaves in the stream of outputs."""
    return effort.flow // 2 + effort.flow


def _filter_flow(domain: str) -> str:
    nodes = {
        "in": f'TopicInput, topic: "made/#", domain: {domain}',
        "check": "Filter, esql: check.esql",
        "out": "QueueOutput, queue: OUT",
    }
    return flow_text(nodes, "in.out -> check\ncheck.true -> out", name="filter")


def measure_filter(site: SparkSite, effort: SparkEffort) -> Iterator[SparkRow]:
    """Each kind of messages, both ways in turn."""
    for domain, size, way in KINDS:
        files = {"flow.yaml": _filter_flow(domain), "check.esql": _CONDITION.format(below=_BELOW[domain])}
        path = str(site.folder / f"{domain}-{size}")
        order = {"folder": str(write_folder(site.folder / f"filter-{domain}", files)), "path": path}
        site.worker.ask("messages", {"rows": effort.filtered, "size": size, "domain": domain, "path": path})
        runs: dict[str, list[SparkRun]] = {"python": [], way: []}
        for number in range(effort.rounds + 1):
            for each, found in runs.items():
                answer, spent = site.ask("filter", {**order, "way": each})
                if number:  # the first round was warming up
                    found.append(run_of(effort.filtered, answer["seconds"], spent))
        base = best(runs["python"])
        yield SparkRow(f"= filter, {domain}, in Python", size, base)
        yield SparkRow(_TITLES[way], size, best(runs[way]), base)


def measure_sink(site: SparkSite, effort: SparkEffort, there: int) -> Iterator[SparkRow]:
    """Both places and both sizes; `there` messages are in the stream of outputs already."""
    fixture = QueueFixture(site.amqp)
    try:
        for size, count in ((100, effort.sink_small), (4096, effort.sink_large)):
            for place in ("topic", "queue"):
                runs = []
                for number in range(effort.rounds + 1):
                    rows = count if number else max(1, count // 4)  # the first round warms up
                    answer, spent = site.ask("copy", _order(site, rows, size, place))
                    there += rows if place == "topic" else 0
                    _check(site, fixture, place, rows, there)
                    if number:
                        runs.append(run_of(rows, answer["seconds"], spent))
                yield SparkRow(f"rows made up -> {place}", size, best(runs))
    finally:
        fixture.close()


def _order(site: SparkSite, rows: int, size: int, place: str) -> dict[str, object]:
    options = {"rows": str(rows), "size": str(size), "tasks": str(CORES)}
    target = {"topic": TOPIC} if place == "topic" else {"queue": QUEUE}
    return {
        "from": {"format": "made-up", "options": options, "schema": "payload binary"},
        "to": {"format": "heliograph", "options": {"server": site.pages, **target}},
    }


def _check(site: SparkSite, fixture: QueueFixture, place: str, rows: int, there: int) -> None:
    if place == "topic":
        await_messages(site.data, "out", there)
        return
    if (found := fixture.depth(QUEUE)) != rows:
        raise MeasurementFailed(f"queue {QUEUE} has {found} messages, expected {rows}")
    fixture.purge(QUEUE)
