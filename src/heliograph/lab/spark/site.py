"""The site of the Spark benchmarks: a server, a process with a Spark session, and the CPU time that a job takes."""

import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from heliograph.lab.errors import MeasurementFailed
from heliograph.lab.load.plan import Address
from heliograph.lab.machine import HOST, work_folder
from heliograph.lab.probes.broker_meter import before_start
from heliograph.lab.targets.broker_process import running_broker
from heliograph.lab.targets.heliograph_server import Heliograph
from heliograph.lab.targets.target import TargetSetup
from heliograph.lab.worker_process import WorkerProcess

STREAMS = ("small", "large", "mixed", "orders", "telemetry", "out")
"""Each keeps the topics below its name."""
QUEUE = "BENCH.SINK"
_CONFIG = """
[storage]
directory = "{data}"
[log]
level = "warning"
[[listener]]
host = "{host}"
port = {port}
[[listener]]
protocol = "amqp"
host = "{host}"
port = {amqp}
[http]
host = "{host}"
port = {http}
hosts = ["127.1"]
[limits]
inflight = 65535
max_messages = 20000000
max_bytes = 17179869184
buffered_bytes = 17179869184
[[queue]]
name = "{queue}"
max_depth = 100000000
"""
_STREAM = """
[[stream]]
name = "{name}"
filter = "{name}/#"
partitions = 2
retention_bytes = 0
"""

_PATIENCE = 30.0
CORES = 2
MASTER = f"local[{CORES}]"


class SparkServer(Heliograph):
    """One with its default durability: it stores on the disk before it acknowledges."""

    def __init__(self, write: Callable[[Path], None] | None = None) -> None:
        """`write` writes what is to be in the log when the server starts."""
        self._write = write
        self.amqp_port = 0
        self.http_port = 0

    def command(self, setup: TargetSetup) -> list[str]:
        """With its configuration, which is written here."""
        self.amqp_port, self.http_port = setup.spare_ports[:2]
        if self._write is not None:
            self._write(setup.data)
        config = setup.directory / "heliograph.toml"
        text = _CONFIG.format(
            data=setup.data, host=HOST, port=setup.port, amqp=self.amqp_port, http=self.http_port, queue=QUEUE
        )
        config.write_text(text + "".join(_STREAM.format(name=name) for name in STREAMS), "utf-8")
        return [sys.executable, "-m", "heliograph.cli.main", "serve", "--config", str(config)]

    @property
    def pages(self) -> str:
        """What the option `server` of `format("heliograph")` gets."""
        return f"http://{HOST}:{self.http_port}"

    @property
    def amqp(self) -> str:
        """For clients."""
        return f"amqp://{HOST}:{self.amqp_port}"


class SparkWorker:
    """A process with a Spark session, which runs one job at a time."""

    def __init__(self, log: Path, master: str, *, quick: bool = False) -> None:
        options = ["--quick"] if quick else []
        self._process = WorkerProcess("heliograph.pipeline.bench_worker", master, *options, log=log, patience=_PATIENCE)
        self.pid = self._process.pid  # Java and Python's workers are below it
        self.close = self._process.close

    def ask(self, do: str, order: Mapping[str, object] | None = None) -> dict[str, Any]:
        """Have a job done; MeasurementFailed if it fails."""
        line = self._process.answer() if self._process.tell(json.dumps({"do": do, **(order or {})})) else ""
        if not line:
            raise MeasurementFailed(f"Spark's process has ended: {self._process.last_words(800)}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise MeasurementFailed(f"Spark, {do}: {answer['error']}")
        return answer


@dataclass(frozen=True, slots=True)
class Spent:
    """CPU seconds of a stretch of time."""

    seconds: float
    spark: float
    server: float
    others: float
    """Cores that other processes used meanwhile."""


@dataclass(frozen=True, slots=True)
class Counters:
    """CPU seconds that have been used at one moment."""

    at: float
    spark: float
    server: float
    machine: float
    """Of everything on this machine, but for the load generator."""

    def since(self, before: "Counters") -> Spent:
        """What was used from then to now."""
        seconds, spark, server = self.at - before.at, self.spark - before.spark, self.server - before.server
        others = max(0.0, self.machine - before.machine - spark - server) / seconds
        return Spent(seconds, spark, server, others)


@dataclass(frozen=True, slots=True)
class SparkSite:
    """Where everything is."""

    folder: Path
    """For whatever jobs write."""
    data: Path
    """The server's log."""
    pages: str
    amqp: str
    mqtt: Address
    server_pid: int
    worker: SparkWorker

    def ask(self, do: str, order: Mapping[str, object]) -> tuple[dict[str, Any], Spent]:
        """Have a job done, and see what it takes."""
        before = self.counters()
        answer = self.worker.ask(do, order)
        return answer, self.counters().since(before)

    def counters(self) -> "Counters":
        """What everybody has used so far."""
        now = before_start()
        spark, server = _cpu_seconds(self.worker.pid), _cpu_seconds(self.server_pid)
        return Counters(now.wall, spark, server, now.machine_cpu - now.generator_cpu)

    def stream(self, name: str, access: str) -> dict[str, object]:
        """A stream as a place to read from, over HTTP or straight from the files.

        Tasks read the files of a server on their machine themselves. 127.1 is another name of the loopback, under which
        they take the server for one on another machine.
        """
        server = self.pages.replace("127.0.0.1", "127.1") if access == "http" else str(self.data)
        return {"format": "heliograph", "options": {"server": server, "stream": name, "minPartitions": str(CORES)}}


def _cpu_seconds(pid: int) -> float:
    """Of a process and all below it, with those that have ended: Spark's workers and Java's threads come and go."""
    used, root = 0.0, psutil.Process(pid)
    for process in (root, *root.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            used += times.user + times.system + times.children_user + times.children_system
    return used


@contextmanager
def spark_site(*, quick: bool = False, write: Callable[[Path], None] | None = None) -> Iterator[SparkSite]:
    """A server, and a session whose Java starts sooner and stays slower if `quick`.

    The server is a fresh one, but for what `write` has written into its log.
    """
    target = SparkServer(write)
    with (
        tempfile.TemporaryDirectory(prefix="helio-spark-", dir=work_folder(), ignore_cleanup_errors=True) as name,
        running_broker(target, None) as broker,
    ):
        folder = Path(name)
        worker = SparkWorker(folder / "spark.log", MASTER, quick=quick)
        try:
            yield SparkSite(folder, broker.data, target.pages, target.amqp, broker.address, broker.pid, worker)
        finally:
            worker.close()
