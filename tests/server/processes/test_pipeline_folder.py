"""What is known of pipelines: what their files say, whether that is still true, and how far behind they are."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from heliograph.server.http.metrics import lines_for_prometheus, pipeline_metrics
from heliograph.server.processes.pipeline_folder import Watched, figures


def born(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


def write(directory: Path, name: str, **told: Any) -> None:
    """A status as a running pipeline writes it: here it is this very process."""
    folder = directory / "pipelines" / name
    folder.mkdir(parents=True, exist_ok=True)
    status = {
        "name": name,
        "source": "stream:s",
        "runs": "orders",
        "state": "running",
        "pid": os.getpid(),
        "born": born(os.getpid()),
        "since": 5.0,
        "batch": 3,
        "rows": 70,
        "rows_per_second": 12.5,
        "offsets": {"s": {"0": 5}},
        "lag_messages": 2,
        "lag_seconds": 0.25,
        "restarts": 1,
        "error": "",
        **told,
    }
    (folder / "status.json").write_text(json.dumps(status))


def watched(name: str, state: str = "", **given: Any) -> Watched:
    return Watched(**{"name": name, "source": "stream:s", "runs": "orders", "reads_here": False, "state": state,
                      "restarts": 0, **given})  # fmt: skip


def test_a_pipeline_that_runs_is_told_as_it_says(tmp_path: Path) -> None:
    write(tmp_path, "hand")
    (one,) = figures(tmp_path, [])
    assert (one["name"], one["state"], one["configured"], one["pid"]) == ("hand", "running", False, os.getpid())
    assert (one["rows"], one["rows_per_second"], one["lag_messages"], one["lag_seconds"]) == (70, 12.5, 2, 0.25)


def test_one_whose_process_is_gone_is_dead(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    write(tmp_path, "hand", pid=gone.pid)
    (one,) = figures(tmp_path, [])
    assert (one["state"], one["pid"], one["rows_per_second"], one["rows"]) == ("dead", 0, 0.0, 70)


def test_another_process_with_the_same_number_is_not_it(tmp_path: Path) -> None:
    write(tmp_path, "hand", born=1)
    assert figures(tmp_path, [])[0]["state"] == "dead"


@pytest.mark.parametrize("state", ["stopped", "finished", "failed"])
def test_one_that_has_ended_is_as_it_said_last(tmp_path: Path, state: str) -> None:
    write(tmp_path, "hand", state=state)
    (one,) = figures(tmp_path, [])
    assert (one["state"], one["pid"]) == (state, 0)


def test_what_its_supervisor_knows_counts_more(tmp_path: Path) -> None:
    write(tmp_path, "orders", pid=1 << 22, restarts=2)
    (one,) = figures(tmp_path, [watched("orders", "waiting", restarts=3)])
    assert (one["state"], one["configured"], one["restarts"]) == ("waiting", True, 5)


def test_one_that_has_never_run_is_stopped(tmp_path: Path) -> None:
    (one,) = figures(tmp_path, [watched("orders")])
    assert (one["state"], one["rows"], one["batch"], one["lag_messages"]) == ("stopped", 0, None, None)


def test_a_file_that_is_no_status_does_no_harm(tmp_path: Path) -> None:
    write(tmp_path, "orders")
    (tmp_path / "pipelines" / "orders" / "status.json").write_text("[1")
    assert figures(tmp_path, [])[0]["state"] == "stopped"


def test_pipelines_are_in_order(tmp_path: Path) -> None:
    write(tmp_path, "b")
    assert [one["name"] for one in figures(tmp_path, [watched("c"), watched("a")])] == ["a", "b", "c"]


def test_metrics_say_only_what_is_known(tmp_path: Path) -> None:
    write(tmp_path, "hand")
    page = "".join(lines_for_prometheus(pipeline_metrics(figures(tmp_path, [watched("new", "starting")]))))
    assert 'heliograph_pipeline_up{pipeline="hand"} 1\n' in page
    assert 'heliograph_pipeline_up{pipeline="new"} 0\n' in page
    assert 'heliograph_pipeline_rows_total{pipeline="hand"} 70\n' in page
    assert 'heliograph_pipeline_rows_per_second{pipeline="hand"} 12.5\n' in page
    assert 'heliograph_pipeline_lag_messages{pipeline="hand"} 2\n' in page
    assert 'heliograph_pipeline_lag_seconds{pipeline="hand"} 0.25\n' in page
    assert 'heliograph_pipeline_batch{pipeline="hand"} 3\n' in page
    assert 'heliograph_pipeline_restarts_total{pipeline="hand"} 1\n' in page
    assert 'heliograph_pipeline_lag_messages{pipeline="new"}' not in page
