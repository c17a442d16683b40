"""Settings of a Spark session, and how much of this machine (or container) a local session may use."""

import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from heliograph.common.network_errors import network_error_text
from heliograph.errors import Unreachable
from heliograph.pipeline.errors import InvalidOption

_LOG4J = Path(__file__).with_name("log4j2.properties")
SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_CHECKPOINTS = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
# One compiler and one collector that start at once: half the processor time of a session that lives for seconds.
_QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
# The better compiler, but only for code that has run ten times as often as Java would want: most of what a session runs
# in its first minute it never runs again, and compiling that took a third of its processor time.
_PATIENT = (
    "-XX:Tier4InvocationThreshold=50000",
    "-XX:Tier4MinInvocationThreshold=6000",
    "-XX:Tier4CompileThreshold=150000",
    "-XX:Tier4BackEdgeThreshold=400000",
)
_ANYWHERE = {
    "spark.ui.showConsoleProgress": "false",
    # Without these two, Spark starts processes (chmod, readlink) for each file of a checkpoint: 129 ms a batch, not 52.
    "spark.sql.streaming.checkpointFileManagerClass": _CHECKPOINTS,
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    # Readers that take filters fail where this is off.
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
}
_ATTEMPTS = 4
"""How often a task is tried here, as on a cluster. Left alone, Spark would end a query when a worker is lost."""
_MASTERS = "local, local[N], local[N,ATTEMPTS], spark://HOST:PORT, k8s://URL, yarn"
_GIGABYTE = 1 << 30
_CGROUP = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class Machine:
    """Cores and bytes of memory that this process may use."""

    cores: int
    memory: int

    @property
    def heap(self) -> str:
        """Java's heap: a quarter, because Python's workers, Arrow and the page cache live beside it."""
        share = min(max(self.memory // 4, _GIGABYTE), 8 * _GIGABYTE)
        return f"{share >> 20}m"


def this_machine(cgroup: Path = _CGROUP) -> Machine:
    """What the machine has, or the container if that is less."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return Machine(min(cores, _quota_of_cores(cgroup) or cores), min(memory, _limit_of_memory(cgroup) or memory))


def _quota_of_cores(cgroup: Path) -> int | None:
    quota, _, period = _read(cgroup / "cpu.max").partition(" ")
    return max(1, int(quota) // int(period)) if quota.isdecimal() else None


def _limit_of_memory(cgroup: Path) -> int | None:
    limit = _read(cgroup / "memory.max")
    return int(limit) if limit.isdecimal() else None


def _read(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""


def is_local(master: str) -> bool:
    """Whether this master means: in this process and its children."""
    return master == "local" or master.startswith("local[")


def settings_of_session(
    machine: Machine, master: str | None, conf: Mapping[str, str], archive: Sequence[str], *, quick: bool
) -> dict[str, str]:
    """All settings of a session; `conf` has the last word, but options for Java are added to ours."""
    _check_conf(conf)
    master = conf.get("spark.master") or master or f"local[{machine.cores},{_ATTEMPTS}]"
    _check_master(master)
    # What Java's own log says would be of archives that it goes without.
    java = [
        "-Xlog:disable",
        f"-Dlog4j2.configurationFile={_LOG4J.as_uri()}",
        *archive,
        *(_QUICK if quick else _PATIENT),
    ]
    if more := conf.get(_JAVA_OPTIONS):
        java.append(more)
    here = _on_this_machine(machine) if is_local(master) else {}
    return {**_ANYWHERE, **here, **conf, "spark.master": master, _JAVA_OPTIONS: " ".join(java)}


def _on_this_machine(machine: Machine) -> dict[str, str]:
    return {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": machine.heap,
        "spark.ui.enabled": "false",
        "spark.python.daemon.module": "heliograph.pipeline.session.worker_daemon",
        # State is kept in as many parts; with the 200 of Spark itself, a batch with state takes ten times as long.
        SHUFFLE_PARTITIONS: str(machine.cores),
    }


def _check_conf(conf: Mapping[str, str]) -> None:
    for key in conf:
        if not key.startswith("spark."):
            raise InvalidOption(f'unknown setting "{key}"; settings of Spark begin with "spark."')


def _check_master(master: str) -> None:
    if master.startswith("spark://"):
        _check_reachable(master)
    elif not (is_local(master) or master == "yarn" or master.startswith("k8s://")):
        raise InvalidOption(f'unknown master "{master}"; expected one of: {_MASTERS}')


def _check_reachable(master: str) -> None:
    """Spark itself tries for a minute, and then fails with what happened to be used first."""
    reasons = []
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal():
            raise InvalidOption(f'master "{master}": expected spark://HOST:PORT, found "{address}"')
        try:
            socket.create_connection((host, int(port)), timeout=5).close()
        except OSError as error:
            reasons.append(f"{address}: {network_error_text(error, address)}")
        else:
            return
    raise Unreachable(f"no Spark master answers at {master} ({'; '.join(reasons)})")
