"""Pipelines as the server keeps them: their states, their lines in the log, and what a reload changes."""

import asyncio
import logging
import sys
from pathlib import Path
from typing import Any

import pytest

from heliograph.broker.errors import Refused
from heliograph.server.config.loading import Config
from heliograph.server.config.schema import PipelineConfig, StorageConfig
from heliograph.server.processes import supervision
from heliograph.server.processes.pipelines import PipelineProcess, Pipelines, running
from running import PATIENCE
from server.processes.steps import run, until

RUNNING = 'print(\'{"state": "running"}\', flush=True)'
# A handler would not do: if the signal comes just before a read, it is called when the read ends; and it may be called
# twice at once.
STOPPABLE = f"""
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
{RUNNING}
signal.sigtimedwait([signal.SIGTERM], {PATIENCE})
print('{{"state": "stopped"}}', flush=True)
"""


def process(program: str) -> PipelineProcess:
    return PipelineProcess("clean", lambda _name: [sys.executable, "-c", program])


def test_its_state_is_what_it_says_itself() -> None:
    async def steps() -> None:
        one = process(STOPPABLE)
        assert one.told == ""
        one.start()
        assert one.told == "starting"
        await until(lambda: one.told == "running")
        await one.stop()
        assert one.told == "stopped"

    run(steps)


def test_one_that_is_started_while_it_stops_runs_again() -> None:
    async def steps() -> None:
        one = process(STOPPABLE)
        one.start()
        await until(lambda: one.told == "running")
        first = one.pid
        stopping = asyncio.ensure_future(one.stop())
        await asyncio.sleep(0)
        assert one.told == "stopping"
        one.start()
        await stopping
        await until(lambda: one.told == "running")
        assert one.pid != first
        assert one.restarts == 0
        await one.stop()
        assert one.told == "stopped"

    run(steps)


def test_one_that_is_started_while_it_stops_and_stopped_again_is_stopped() -> None:
    async def steps() -> None:
        one = process(STOPPABLE)
        one.start()
        await until(lambda: one.told == "running")
        stopping = asyncio.ensure_future(one.stop())
        await asyncio.sleep(0)
        assert one.told == "stopping"
        one.start()
        await one.stop()
        await stopping
        assert (one.told, one.pid) == ("stopped", None)

    run(steps)


def test_one_that_is_started_while_it_stops_between_two_attempts_runs_again() -> None:
    async def steps() -> None:
        one = process("import sys; sys.exit(1)")
        one.start()
        await until(lambda: one.told == "waiting")
        stopping = asyncio.ensure_future(one.stop())
        await asyncio.sleep(0)
        one.start()
        await stopping
        assert one.told == "starting"
        await one.stop()

    run(steps)


def test_one_that_has_done_all_is_not_started_again() -> None:
    async def steps() -> None:
        one = process('print(\'{"state": "finished"}\', flush=True)')
        one.start()
        await until(lambda: one.told == "finished" and one.pid is None)
        assert one.restarts == 0

    run(steps)


def test_one_that_fails_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervision, "FIRST_PAUSE", 0.01)

    async def steps() -> None:
        one = process("import sys; sys.exit(1)")
        one.start()
        await until(lambda: one.restarts == 2)
        await one.stop()

    run(steps)


def test_what_it_writes_is_in_the_log_with_its_name_and_level(caplog: pytest.LogCaptureFixture) -> None:
    lines = ["ERROR a query has failed", "12:00:01 WARN SparkConf: old key", "something else", "x" * 9000]

    async def steps() -> None:
        one = process(f"import sys\nfor line in {lines!r}: print(line, file=sys.stderr)")
        one.start()
        await until(lambda: one.pid is None and one.told == "stopped")

    with caplog.at_level(logging.INFO):
        run(steps)
    told = [
        (record.levelname, record.getMessage()) for record in caplog.records if record.name == "heliograph.pipeline"
    ]
    assert told[:3] == [("ERROR", "a query has failed"), ("WARNING", "SparkConf: old key"), ("INFO", "something else")]
    assert all(len(text) <= 4000 for _, text in told)
    assert {getattr(record, "pipeline", "") for record in caplog.records if record.name == "heliograph.pipeline"} == {
        "clean"
    }


def test_the_command_has_the_pages_of_the_server() -> None:
    command = running("x.toml", lambda: "http://127.0.0.1:15880")("clean")
    assert command[2:] == [
        *("heliograph.cli.main", "pipeline", "run", "--config", "x.toml", "clean"),
        *("--supervised", "--server", "http://127.0.0.1:15880"),
    ]
    assert "--server" not in running("x.toml", lambda: "")("clean")


def kept(tmp_path: Path, *pipelines: PipelineConfig, **more: Any) -> Config:
    return Config(storage=StorageConfig(directory=str(tmp_path)), pipelines=pipelines, **more)


def pipeline(name: str, **given: Any) -> PipelineConfig:
    return PipelineConfig(**{"name": name, "job": f"{name}.py", "source": "stream:s", **given})


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pipelines are programs that only wait."""
    command = [sys.executable, "-c", STOPPABLE]
    monkeypatch.setattr("heliograph.server.processes.pipelines.running", lambda _file, _pages: lambda _name: command)


def states(pipelines: Pipelines) -> dict[str, str]:
    return {one["name"]: one["state"] for one in pipelines.list()}


@pytest.mark.usefixtures("programs")
def test_those_that_are_to_be_started_are(tmp_path: Path) -> None:
    async def steps() -> None:
        pipelines = Pipelines(kept(tmp_path, pipeline("a"), pipeline("b", start=False)), lambda: "")
        pipelines.start()
        await until(lambda: states(pipelines) == {"a": "running", "b": "stopped"})
        pipelines.start_one("b")
        pipelines.stop_one("a")
        await until(lambda: states(pipelines) == {"a": "stopped", "b": "running"})
        with pytest.raises(Refused, match="there is no pipeline c; pipelines are: a, b"):
            pipelines.start_one("c")
        await pipelines.stop()
        assert states(pipelines) == {"a": "stopped", "b": "stopped"}

    run(steps)


@pytest.mark.usefixtures("programs")
def test_a_reload_changes_only_what_has_changed(tmp_path: Path) -> None:
    async def steps() -> None:
        before = [pipeline("same"), pipeline("changed"), pipeline("gone"), pipeline("halted")]
        pipelines = Pipelines(kept(tmp_path, *before), lambda: "")
        pipelines.start()
        await until(lambda: set(states(pipelines).values()) == {"running"} and len(states(pipelines)) == 4)
        pipelines.stop_one("halted")
        await until(lambda: states(pipelines)["halted"] == "stopped")
        processes = {name: one.pid for name, one in pipelines._processes.items()}
        after = [pipeline("same"), pipeline("changed", interval=5), pipeline("new"), pipeline("halted", interval=5)]
        pipelines.reload(kept(tmp_path, *after))
        await until(lambda: states(pipelines).get("new") == "running" and "gone" not in states(pipelines))
        await until(
            lambda: (
                states(pipelines)["changed"] == "running"
                and pipelines._processes["changed"].pid != processes["changed"]
            )
        )
        assert pipelines._processes["same"].pid == processes["same"]
        assert states(pipelines)["halted"] == "stopped", "an operator has stopped it"
        await pipelines.stop()

    run(steps)
