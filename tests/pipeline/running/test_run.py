"""Pipelines as a user runs them: real servers, real Spark, processes that are stopped and started again."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from configurations import BOTH
from plain_client import PlainClient
from running import Lines, RunningServer, Serve, environment, helio
from small_flows import write_flow

PATIENCE = 400.0
"""Seconds: Spark starts in a few, but much slower if the machine has a lot else to do."""
pytestmark = pytest.mark.timeout(4 * PATIENCE)
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Java's options for jobs of a few seconds."""

CONFIG = f"""{BOTH}
[storage]
directory = "data"
[[stream]]
name = "plant"
filter = "plant/#"
partitions = 2
"""
JOB = """
def build(spark, settings):
    messages = spark.readStream.format("heliograph").options(**settings.source_options).load()
    writer = messages.writeStream.format("parquet").option("path", settings.parameters["path"])
    writer = writer.option("checkpointLocation", settings.checkpoint("raw"))
    return [writer.trigger(**settings.trigger).start()]
"""
FLOW = """
nodes:
  In: {type: TopicInput, topic: "plant/#", domain: JSON}
  Hot: {type: Filter, esql: hot.esql, module: IsHot}
  Alarm: {type: QueueOutput, queue: ALARMS}
connections:
  - In.out -> Hot
  - Hot.true -> Alarm
"""
ESQL = """
CREATE FILTER MODULE IsHot
  CREATE FUNCTION Main() RETURNS BOOLEAN
  BEGIN
    RETURN Root.JSON.Data.temperature > 90;
  END;
END MODULE;
"""


def until(condition: Callable[[], Any], what: str) -> Any:
    """What the condition gives, as soon as it is something."""
    give_up = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < give_up, what
        time.sleep(0.05)
    return found


def status(folder: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads((folder / "status.json").read_bytes())
    except FileNotFoundError:
        return {"state": "", "rows": 0}
    return found


def publish(server: RunningServer, first: int, end: int) -> None:
    with PlainClient(server.port).connected() as client:
        for number in range(first, end):
            client.publish(f"plant/{number % 7}", json.dumps({"number": number, "temperature": number}).encode())


def numbers(folder: Path) -> list[int]:
    return sorted(json.loads(payload)["number"] for payload in pq.read_table(folder)["payload"].to_pylist())


@contextmanager
def running(*words: str, cwd: Path) -> Iterator[tuple[subprocess.Popen[bytes], Lines]]:
    process = subprocess.Popen(
        helio("pipeline", "run", *words), cwd=cwd, env=environment(), stderr=subprocess.PIPE, start_new_session=True
    )
    lines = Lines(process.stderr)
    try:
        yield process, lines
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        lines.close()


def test_a_pipeline_that_was_stopped_goes_on_where_it_was(serve: Serve, tmp_path: Path) -> None:
    server = serve(CONFIG)
    (tmp_path / "clean.py").write_text(JOB)
    folder, out = tmp_path / "heliograph-data" / "pipelines" / "clean", tmp_path / "out"
    words = ["--job", "clean.py", "--source", "stream:plant", "--server", server.url("http"), "--set", f"path={out}"]
    words += ["--conf", f"spark.driver.extraJavaOptions={QUICK}"]
    publish(server, 0, 50)
    with running(*words, "--from", "earliest", cwd=tmp_path) as (process, lines):
        until(lambda: status(folder)["rows"] == 50 or process.poll(), lines.text())
        told = status(folder)
        assert (told["state"], told["pid"], told["runs"]) == ("running", process.pid, "clean.py"), lines.text()
        assert sum(told["offsets"]["plant"].values()) == 50
        assert until(lambda: status(folder)["lag_messages"] is not None, "no lag")
        # The same pipeline a second time would do everything twice.
        second = subprocess.run(
            helio("pipeline", "run", *words), cwd=tmp_path, env=environment(), capture_output=True, check=False
        )
        assert second.returncode == 1
        assert b"in use by pipeline clean, which runs already" in second.stderr
        os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C does it: all processes of the terminal get it
        assert process.wait(PATIENCE) == 0, lines.text()
    assert status(folder)["state"] == "stopped"
    assert "Traceback" not in lines.text()
    assert numbers(out) == list(range(50))

    publish(server, 50, 80)
    with running(*words, "--once", cwd=tmp_path) as (process, lines):
        assert process.wait(PATIENCE) == 0, lines.text()
    assert numbers(out) == list(range(80))
    told = status(folder)
    assert (told["state"], told["rows"], told["lag_messages"]) == ("finished", 80, 0)
    assert sum(told["offsets"]["plant"].values()) == 80


def test_a_server_runs_its_pipelines_and_stops_them_first(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "flow").mkdir()
    write_flow(tmp_path / "flow", FLOW, hot__esql=ESQL)
    pipeline = '\n[[pipeline]]\nname = "hot"\nflow = "flow"\nsource = "stream:plant"\nfrom = "earliest"\n'
    pipeline += 'sinks = { Alarm = "topic:alarms" }\n'
    pipeline += f'conf = {{ "spark.driver.extraJavaOptions" = "{QUICK}" }}\n'
    server = serve(CONFIG + pipeline)
    with PlainClient(server.port).connected(keep_alive=0) as client:
        client.socket.settimeout(PATIENCE)
        client.subscribe("alarms")
        publish(server, 85, 95)
        alarms = [json.loads(client.receive().payload)["number"] for _ in range(4)]
    assert alarms == [91, 92, 93, 94]

    def figures() -> dict[str, Any] | None:
        found = [one for one in json.loads(server.page("/pipelines")) if one["rows"] == 10]
        return found[0] if found else None

    told = until(figures, server.log.text())
    assert (told["name"], told["state"], told["configured"], told["runs"]) == ("hot", "running", True, "flow")
    until(lambda: 'heliograph_pipeline_lag_messages{pipeline="hot"} 0' in server.page("/metrics"), "no lag of 0")
    assert 'heliograph_pipeline_up{pipeline="hot"} 1' in server.page("/metrics")

    def command(*words: str) -> str:
        done = subprocess.run(
            helio("pipeline", *words, "--url", server.url("amqp")), env=environment(), capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.decode()

    assert command("stop", "hot") == "hot is stopped\n"
    publish(server, 95, 97)
    # Nobody takes them, and the server knows.
    until(lambda: json.loads(command("lag", "hot", "--json"))[0]["lag_messages"] == 2, "no lag of 2")
    assert command("start", "hot") == "hot is running\n"
    until(lambda: 'heliograph_pipeline_rows_total{pipeline="hot"} 12' in server.page("/metrics"), server.log.text())
    pid = json.loads(server.page("/pipelines"))[0]["pid"]
    server.send_signal(signal.SIGTERM)
    assert server.process.wait(PATIENCE) == 0
    server.settled = True
    server.kill()
    assert not Path(f"/proc/{pid}").exists()
    assert status(tmp_path / "data" / "pipelines" / "hot")["state"] == "stopped"
    assert "Traceback" not in server.log.text()
