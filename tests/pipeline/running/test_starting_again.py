"""What happens when queries are to be started again and the server is away: a real server, without Spark."""

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from heliograph.client.errors import ConnectionLost
from heliograph.errors import Problem
from heliograph.log.errors import ServerUnreachable
from heliograph.pipeline.running import run
from heliograph.pipeline.running.pipeline import Pipeline
from heliograph.pipeline.running.run import run_pipeline
from pipeline.source.plants import CONFIG
from running import Serve


class Query:
    """A query that has ended: well, or with an error."""

    isActive = False  # noqa: N815 - Spark's name
    lastProgress = None  # noqa: N815 - Spark's name

    def __init__(self, error: str = "") -> None:
        self._error = error

    def exception(self) -> Exception | None:
        return Exception(self._error) if self._error else None

    def stop(self) -> None:
        """It has ended already."""


class Starts:
    """What comes of each start of the queries, one after the other."""

    def __init__(self, *outcomes: Any) -> None:
        self._outcomes = list(outcomes)
        self.number = 0

    def __call__(self, *_: object) -> list[Query]:
        self.number += 1
        outcome = self._outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return [outcome]


@pytest.fixture
def pipeline(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    server = serve(CONFIG)
    spark = SimpleNamespace(stop=lambda: None, streams=SimpleNamespace(active=[]))
    monkeypatch.setattr("heliograph.pipeline.session.build_session", lambda *_, **__: spark)
    monkeypatch.setattr(run, "FIRST_PAUSE", 0.001)
    (tmp_path / "clean.py").touch()
    return Pipeline(
        "clean", "stream:plant", tmp_path / "clean", job=str(tmp_path / "clean.py"), server=server.url("http")
    )


@pytest.mark.parametrize("away", [ServerUnreachable, ConnectionLost])
def test_a_server_that_is_away_at_a_restart_is_waited_for(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch, away: type[Problem]
) -> None:
    starts = Starts(Query("it has failed"), away("it is away"), away("it is away"), Query())
    monkeypatch.setattr(run, "start_job", starts)
    told: list[tuple[str, str]] = []
    status = run_pipeline(pipeline, threading.Event(), lambda one: told.append((str(one.state), one.error)))
    assert (starts.number, status.restarts, str(status.state)) == (4, 3, "finished")
    assert ("retrying", "it is away") in told


def test_a_server_that_stays_away_is_given_up(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "start_job", Starts(Query("it has failed"), *[ServerUnreachable("it is away")] * 9))
    with pytest.raises(Problem, match=r"it is away \(6 failures in a row; the pipeline gives up\)"):
        run_pipeline(pipeline, threading.Event())


@pytest.mark.parametrize("problem", [ServerUnreachable("it is away"), Problem("a mistake in the job")])
def test_what_is_wrong_at_the_first_start_is_told_at_once(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch, problem: Problem
) -> None:
    starts = Starts(problem)
    monkeypatch.setattr(run, "start_job", starts)
    with pytest.raises(Problem, match=str(problem)):
        run_pipeline(pipeline, threading.Event())
    assert starts.number == 1


def test_a_mistake_is_told_at_once_at_a_restart_too(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "start_job", Starts(Query("it has failed"), Problem("a mistake in the job")))
    with pytest.raises(Problem, match=r"^a mistake in the job$"):
        run_pipeline(pipeline, threading.Event())
