"""A server and a Spark session, and what a job on them costs."""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from heliograph.lab.load.plan import Address
from heliograph.lab.machine import work_folder
from heliograph.lab.probes.meter import before_start
from heliograph.lab.spark.spark_server import SparkServer
from heliograph.lab.spark.worker import SparkWorker
from heliograph.lab.targets.running import running

CORES = 2
MASTER = f"local[{CORES}]"


@dataclass(frozen=True, slots=True)
class Spent:
    """CPU seconds of a stretch of time."""

    seconds: float
    spark: float
    server: float
    others: float
    """Cores that somebody else's work took meanwhile."""


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
        running(target, None) as broker,
    ):
        folder = Path(name)
        worker = SparkWorker(folder / "spark.log", MASTER, quick=quick)
        try:
            yield SparkSite(folder, broker.data, target.pages, target.amqp, broker.address, broker.pid, worker)
        finally:
            worker.close()
