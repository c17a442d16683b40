"""Runs with kills find the processes that do Spark's tasks: if they killed others, nothing would ever go wrong."""

import random
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from faults.pipelines import kill_run
from faults.pipelines.driver import Driver, task_workers
from heliograph.pipeline.session.settings import settings_of_session, this_machine
from running import PATIENCE, environment

SPARKS_OWN = "pyspark.daemon"
OURS = settings_of_session(this_machine(), None, {}, (), quick=True)["spark.python.daemon.module"]
_NUMBER = struct.Struct(">i")


@contextmanager
def a_worker(daemon: str, work: str) -> Iterator[tuple[int, int]]:
    """What Spark starts, as it starts it, without Spark: a session, and the process that was forked to work in it."""
    # The first process of a session is a shell, because a daemon could not have a group of its own there.
    process = subprocess.Popen(
        ["sh", "-c", '"$@"; exit', "sh", sys.executable, "-m", daemon, work],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(SPARK_REUSE_WORKER="1"),
        start_new_session=True,
    )
    assert process.stdout
    try:
        (port,) = _NUMBER.unpack(process.stdout.read(_NUMBER.size))
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
            (pid,) = _NUMBER.unpack(connection.recv(_NUMBER.size, socket.MSG_WAITALL))
            yield process.pid, pid
    finally:
        # It closes the daemon's input, by which Spark too tells it to end.
        process.communicate(timeout=PATIENCE)


@pytest.mark.parametrize("daemon", [OURS, SPARKS_OWN])
def test_a_process_that_does_tasks_is_a_worker(daemon: str) -> None:
    with a_worker(daemon, "pyspark.worker") as (session, pid):
        assert task_workers(session) == [pid]


@pytest.mark.parametrize("daemon", [OURS, SPARKS_OWN])
def test_a_process_that_plans_is_none(daemon: str) -> None:
    with a_worker(daemon, "pyspark.sql.worker.plan_data_source_read") as (session, _):
        assert task_workers(session) == []


def test_only_tasks_that_lost_their_workers_are_counted(tmp_path: Path) -> None:
    driver = Driver([], tmp_path, random.Random(1))
    (tmp_path / "driver.log").write_text(
        "02:05:39 ERROR Executor: Exception in task 0.0 in stage 3.0 (TID 3)\n"
        "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed). Consider setting\n"
        "\tat org.apache.spark.api.python.BasePythonRunner\n"
        "02:05:40 ERROR Executor: Exception in task 0.1 in stage 3.0 (TID 4)\n"
        "org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n"
        "Python worker exited unexpectedly, says a message\n"
    )
    assert driver.lost_tasks() == 1


class WithoutTasks(Driver):
    """Whatever is killed of it, no task is lost."""

    found = True
    runs = True

    def kill_worker(self) -> bool:
        return self.found

    def lost_tasks(self) -> int:
        return 0

    def log(self) -> str:
        return ""


class WithoutWorkers(WithoutTasks):
    """Nothing of it is a worker."""

    found = False


@pytest.mark.parametrize(("driver", "kills"), [(WithoutTasks, True), (WithoutWorkers, False)])
def test_a_round_fails_if_no_task_loses_its_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, driver: type[WithoutTasks], kills: bool
) -> None:
    monkeypatch.setattr(kill_run, "Driver", driver)
    monkeypatch.setattr(kill_run, "LONGEST_SEARCH", 0.1)
    run = kill_run.PipelineRun(tmp_path, 1)
    with pytest.raises(AssertionError, match=r"a task loses its worker.* waited for in vain"):
        run.kill(kill_run.Victim.WORKER)
    assert bool(run.kills[kill_run.Victim.WORKER]) == kills
