"""Rows of Spark published to a topic and put into a queue."""

from collections.abc import Iterator

from heliograph.lab.errors import MeasurementFailed
from heliograph.lab.flows.queue_fixture import QueueFixture
from heliograph.lab.spark.loading import await_messages
from heliograph.lab.spark.rows import Effort, Row, best, run_of
from heliograph.lab.spark.site import CORES, SparkSite
from heliograph.lab.spark.spark_server import QUEUE

TOPIC = "out/sink"


def measure(site: SparkSite, effort: Effort, there: int) -> Iterator[Row]:
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
                yield Row(f"rows made up -> {place}", size, best(runs))
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
