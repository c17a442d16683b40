"""From a stream through a flow on Spark to a topic: simple compute on XML of 4 KB."""

from collections.abc import Iterator

from heliograph.lab.flows import esql
from heliograph.lab.flows.folders import write_folder
from heliograph.lab.spark.loading import PUBLISHERS, await_messages, fill, xml_payload
from heliograph.lab.spark.rows import Effort, Row, run_of
from heliograph.lab.spark.site import SparkSite

SIZE = 4096
OUT = "out/flow"
FLOW = {
    "flow.yaml": """\
flow: simple-compute
nodes:
  in: {type: TopicInput, topic: "orders/#", domain: XML}
  change: {type: Compute, esql: change.esql}
  out: {type: QueueOutput, queue: UNUSED}
connections:
  - in.out -> change
  - change.out -> out
""",
    "change.esql": esql.SIMPLE,
}


def measure(site: SparkSite, effort: Effort, there: int) -> Iterator[Row]:
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
    yield Row("stream -> simple compute, XML -> topic", SIZE, run_of(effort.flow, seconds, spent))


def outputs(effort: Effort) -> int:
    """How many messages it leaves in the stream of outputs."""
    return effort.flow // 2 + effort.flow
