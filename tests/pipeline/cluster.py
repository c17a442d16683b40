"""A real Spark cluster on this machine: a standalone master and two workers, whose Python does not have our package."""

import os
import re
import socket
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark

from heliograph.pipeline.session.archive import archive_directory, archive_of, options_to_use
from heliograph.pipeline.session.java import find_java

SPARK = Path(pyspark.__file__).parent
# Executors have what every cluster for PySpark has. Spark brings its own copy of pyspark.
EXECUTORS_HAVE = ("dateutil", "numpy", "numpy.libs", "pandas", "pyarrow", "pytz", "tzdata")
READY_WITHIN = 90.0


@dataclass(frozen=True)
class Cluster:
    """A running cluster: its master, and the Python that its executors run."""

    master: str
    python: Path
    java_options: str

    @property
    def conf(self) -> dict[str, str]:
        """What a session on it needs beside the master's name; a job begins when both workers are there."""
        return {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.memory": "1g",
            "spark.ui.enabled": "false",
            "spark.executor.memory": "512m",
            "spark.executor.extraJavaOptions": self.java_options,
            "spark.pyspark.python": str(self.python),
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
            "spark.cores.max": "2",
        }

    def run(self, script: str, *arguments: str) -> str:
        """What a program prints that finds a session of this cluster in `spark`.

        It is a process of its own, because a process can have one session only, and tests share a local one.
        """
        begin = (
            "from heliograph.pipeline.session import build_session\n"
            f"spark = build_session(master={self.master!r}, conf={self.conf!r}, quick=True)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", begin + script, *arguments], capture_output=True, text=True, check=False, timeout=200
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@contextmanager
def running_cluster(directory: Path) -> Iterator[Cluster]:
    """Start a master and two workers with one core each; all is gone afterwards."""
    java = find_java()
    archive = options_to_use(archive_of(java, SPARK / "jars", archive_directory()))
    java_options = " ".join(["-Xlog:disable", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", *archive])
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {
        **java.environment,
        "SPARK_HOME": str(SPARK),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": java_options,
        "SPARK_LOCAL_DIRS": str(directory / "local"),
    }
    with ExitStack() as daemons:

        def daemon(name: str, *command: str) -> Path:
            log = directory / f"{name}.log"
            daemons.enter_context(_daemon(log, environment, *command))
            return log

        host = ("--host", "127.0.0.1", "--webui-port", "0")
        log = daemon("master", "org.apache.spark.deploy.master.Master", *host, "--port", str(_free_port()))
        master = _line_in(log, r"Starting Spark master at (spark://\S+)")
        _line_in(log, r"New state: (ALIVE)")
        work = ("--cores", "1", "--memory", "600m", "--work-dir", str(directory / "work"))
        logs = [
            daemon(name, "org.apache.spark.deploy.worker.Worker", *host, *work, master) for name in ("first", "second")
        ]
        python = _python_of_executors(directory / "python")
        for log in logs:
            _line_in(log, r"Successfully registered with master (\S+)")
        yield Cluster(master, python, java_options)


@contextmanager
def _daemon(log: Path, environment: dict[str, str], *command: str) -> Iterator[None]:
    with (
        log.open("w") as output,
        subprocess.Popen(
            [SPARK / "bin" / "spark-class", *command], env=environment, stdout=output, stderr=output
        ) as it,
    ):
        try:
            yield
        finally:
            it.terminate()


def _line_in(log: Path, pattern: str) -> str:
    deadline = time.monotonic() + READY_WITHIN
    while time.monotonic() < deadline:
        if found := re.search(pattern, log.read_text()):
            return found[1]
        time.sleep(0.05)
    raise AssertionError(f"{log.name} has no line with {pattern}:\n{log.read_text()}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _python_of_executors(directory: Path) -> Path:
    venv.create(directory, symlinks=True)
    (theirs,) = directory.glob("lib/python*/site-packages")
    for name in EXECUTORS_HAVE:
        (theirs / name).symlink_to(SPARK.parent / name)
    return directory / "bin" / "python"
