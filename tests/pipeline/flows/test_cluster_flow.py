"""A flow on a cluster gives what it gives on one machine: to a queue, a topic and files."""

import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from heliograph.client import connect
from heliograph.mqtt import Publish
from pipeline.cluster import Cluster
from pipeline.source.plants import CONFIG, Plant
from running import Serve, environment, helio
from small_flows import write_flow

PATIENCE = 300.0
QUEUES = """
[[listener]]
protocol = "amqp"
port = 0
[[queue]]
name = "HOT"
[[queue]]
name = "COLD"
topics = ["cold"]
[[queue]]
name = "BAD"
"""
FLOW = """
nodes:
  In: {type: TopicInput, topic: "plant/#", domain: JSON}
  Rate: {type: Compute, esql: rate.esql, module: Rate}
  Hot: {type: Filter, esql: rate.esql, module: IsHot}
  Alarms: {type: QueueOutput, queue: HOT}
  Calm: {type: Publication}
  Readings: {type: QueueOutput, queue: UNUSED}
connections:
  - In.out -> Rate
  - Rate.out -> Readings
  - Rate.out -> Hot
  - Hot.true -> Alarms
  - Hot.false -> Calm
"""
ESQL = """
CREATE COMPUTE MODULE Rate
  CREATE FUNCTION Main() RETURNS BOOLEAN
  BEGIN
    SET OutputRoot.Properties.Topic = 'unused';
    SET OutputRoot.JSON.Data.number = InputBody.Data.number;
    SET OutputRoot.JSON.Data.kelvin = CAST(InputBody.Data.celsius AS DECIMAL) + 273.15;
    RETURN TRUE;
  END;
END MODULE;
CREATE FILTER MODULE IsHot
  CREATE FUNCTION Main() RETURNS BOOLEAN
  BEGIN
    RETURN Root.JSON.Data.kelvin > 300;
  END;
END MODULE;
"""
COUNT = 3_000


def messages() -> list[Publish]:
    """Temperatures from 0 to 49 degrees; every hundredth cannot be read."""
    bodies = [
        json.dumps({"number": n, "celsius": str(n % 50)}).encode() if n % 100 else b"bad %d" % n for n in range(COUNT)
    ]
    return [Publish(f"plant/{n % 16}", body) for n, body in enumerate(bodies)]


def taken(url: str) -> dict[str, Counter[Any]]:
    """All that is in the queues."""
    found: dict[str, Counter[Any]] = {}
    with connect(url) as connection, connection.session() as session:
        for queue in ("HOT", "COLD", "BAD"):
            consumer = session.consumer(queue)
            found[queue] = Counter()
            while (message := consumer.receive(0.5)) is not None:
                found[queue][message.body, message.content_type, tuple(sorted(message.properties.items()))] += 1
    return found


def rows(folder: Path) -> list[tuple[Any, ...]]:
    """What files have of readings; identifiers of messages are made anew each time."""
    table = pq.read_table(folder).drop_columns(["message_id"])
    return sorted(tuple(str(value) for value in row.values()) for row in table.to_pylist())


@pytest.mark.timeout(4 * PATIENCE)
def test_a_cluster_gives_what_one_machine_gives(cluster: Cluster, serve: Serve, tmp_path: Path) -> None:
    plant = Plant(serve(CONFIG + QUEUES), tmp_path / "data")
    plant.publish(messages())
    (tmp_path / "flow").mkdir()
    write_flow(tmp_path / "flow", FLOW, rate__esql=ESQL)

    def outputs(name: str, *more: str) -> tuple[dict[str, Counter[Any]], list[tuple[Any, ...]]]:
        words = ["--name", name, "--source", "stream:plant", "--server", plant.url, "--from", "earliest", "--once"]
        for sink in ("Calm=topic:cold", f"Readings=parquet:{tmp_path / name}", "dead_letters=queue:BAD"):
            words += ["--sink", sink]
        done = subprocess.run(
            helio("pipeline", "run", "flow", *words, "--most-messages", "1000", *more),
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, done.stderr
        return taken(plant.server.url("amqp")), rows(tmp_path / name)

    settings = [word for key, value in cluster.conf.items() for word in ("--conf", f"{key}={value}")]
    far = outputs("far", "--master", cluster.master, *settings)
    near = outputs("near", "--conf", "spark.driver.memory=1g")
    assert far == near
    assert {queue: found.total() for queue, found in near[0].items()} == {
        "HOT": COUNT * 23 // 50,
        "COLD": COUNT * 27 // 50 - COUNT // 100,
        "BAD": COUNT // 100,
    }
    assert len(near[1]) == COUNT - COUNT // 100
