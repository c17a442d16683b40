"""examples/telemetry: devices, server and Spark together, as `make run` has them."""

import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from configurations import BOTH
from heliograph.flow.testing import run_tests
from heliograph.log.streams.stream_reader import StreamReader
from running import RunningServer, Serve, environment, helio

EXAMPLE = Path(__file__).parents[3] / "examples" / "telemetry"
PATIENCE = 300.0
pytestmark = pytest.mark.timeout(3 * PATIENCE)
CONFIG = f"""{BOTH}
[storage]
directory = "data"
[[stream]]
name = "telemetry"
filter = "plant/+/telemetry"
partitions = 2
[[pipeline]]
name = "telemetry"
job = "{EXAMPLE}/job.py"
source = "stream:telemetry"
from = "earliest"
conf = {{ "spark.driver.memory" = "1g" }}
"""


def test_the_flow_passes_its_cases() -> None:
    report = run_tests(EXAMPLE / "flow")
    assert report.passed, report.text()


def test_the_test_runs_what_the_example_does() -> None:
    """But for addresses and folders, this is the configuration of the example."""
    example, tested = tomllib.loads((EXAMPLE / "heliograph.toml").read_text()), tomllib.loads(CONFIG)
    pipeline = {**tested["pipeline"][0], "job": "job.py"}
    del pipeline["conf"]
    assert example["pipeline"] == [pipeline]
    kept = {**example["stream"][0]}
    del kept["retention_age"]
    assert tested["stream"] == [kept]


def test_alerts_come_back_and_every_reading_is_in_a_file_once(serve: Serve, tmp_path: Path) -> None:
    server = serve(CONFIG)
    port = str(server.port)
    devices = subprocess.Popen([sys.executable, EXAMPLE / "devices.py", f"127.0.0.1:{port}", "200"], env=environment())
    try:
        alert = subprocess.run(
            helio("sub", "-p", port, "-t", "alerts/#", "-v", "-C", "1", "-W", str(PATIENCE)),
            capture_output=True,
            text=True,
            env=environment(),
            check=True,
        )
    finally:
        devices.terminate()
        devices.wait()
    assert alert.stdout.startswith("alerts/press-")
    assert '"hottest":60.0' in alert.stdout
    stop(server)  # what is in hand is finished; the rest is for the next start
    stream = StreamReader(tmp_path / "data", "telemetry")
    sent = [message for partition in range(2) for message in stream.messages(partition, 0)]
    wanted = len(sent) - sum(b'"mode": "test"' in message.payload for message in sent)
    again = serve(CONFIG)
    folder = tmp_path / "data" / "pipelines" / "telemetry"
    readings, refused = until_there_are(wanted, folder)
    stop(again)
    assert readings.num_rows + refused.num_rows == wanted
    assert set(readings["site"].to_pylist()) == {"Gent", "Ulm", "Graz"}
    assert all("oven-99" in reason for reason in refused["reason"].to_pylist())


def stop(server: RunningServer) -> None:
    """Its pipeline may need longer than other servers."""
    server.send_signal(signal.SIGTERM)
    server.process.wait(PATIENCE)
    server.stop()


def until_there_are(rows: int, folder: Path) -> tuple[pa.Table, pa.Table]:
    """What the files have, as soon as they have so many rows."""
    give_up = time.monotonic() + PATIENCE
    while True:
        there = [pq.read_table(one) for one in (folder / "readings", folder / "readings-refused") if one.exists()]
        if len(there) == 2 and sum(table.num_rows for table in there) >= rows:
            return there[0], there[1]
        assert time.monotonic() < give_up, [table.num_rows for table in there]
        time.sleep(0.2)
