"""`helio flow run`: a process that moves messages, tells how it is doing, and ends when it is asked to."""

import json
import logging
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from cli.queue_server import helio as run_here
from heliograph.cli.flow import run as flow_run
from heliograph.flow.definition import FlowDefinition
from heliograph.flow.inline.flow_statistics import FlowStatistics
from running import PATIENCE, Lines, RunningServer, environment, helio, servers
from running_flows import CONFIG, QueueFixture, queues, text_of
from small_flows import write_flow

FLOW = """
flow: mover
parameters: {to: OUT}
SETTINGS
nodes:
  in: {type: QueueInput, queue: IN, domain: XMLNSC}
  out: {type: QueueOutput, queue: $(to)}
connections:
  - in.out -> out
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with servers(tmp_path_factory.mktemp("server")) as start:
        yield start(CONFIG.format(port=0) + queues())


class Mover:
    """The flow in a process of its own."""

    def __init__(self, folder: Path, server: RunningServer, *options: str, settings: str = "") -> None:
        write_flow(folder, FLOW.replace("SETTINGS", settings), parameters___other__yaml="to: OTHER\n")
        words = helio("flow", "run", str(folder), "--server", server.url("amqp"), *options)
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
        self.out, self.err = Lines(self.process.stdout), Lines(self.process.stderr)

    def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        try:
            return self.process.wait(PATIENCE)
        finally:
            self.close()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.out.close()
        self.err.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_runs_until_a_signal_and_tells_at_the_end_what_it_did(
    tmp_path: Path, server: RunningServer, number: signal.Signals
) -> None:
    mover = Mover(tmp_path, server, "--measure")
    mover.err.wait_for("flow mover is running; stop it with Ctrl-C")
    queue_fixture = QueueFixture(server.url("amqp"))
    queue_fixture.put("IN", "<a/>", "<b/>")
    assert [text_of(message) for message in queue_fixture.get("OUT", 2)] == ["<a/>", "<b/>"]
    queue_fixture.close()
    assert mover.end(number) == 0
    told = [line.split() for line in mover.out.text().splitlines()]
    assert ["messages", "2"] in told
    assert ["out", "2", "0"] in [line[:3] for line in told]
    assert "mover: 2 messages" in mover.err.text()
    assert (tmp_path / "state").is_dir()


def test_environment_instances_and_json(tmp_path: Path, server: RunningServer) -> None:
    mover = Mover(tmp_path, server, "--env", "other", "--instances", "2", "--json", "--state", str(tmp_path / "kept"))
    mover.err.wait_for("is running")
    queue_fixture = QueueFixture(server.url("amqp"))
    queue_fixture.put("IN", "<a/>")
    assert [text_of(message) for message in queue_fixture.get("OTHER")] == ["<a/>"]
    queue_fixture.close()
    assert mover.end(signal.SIGTERM) == 0
    figures = json.loads(mover.out.text().splitlines()[-1])
    assert (figures["flow"], figures["messages"], figures["done"]) == ("mover", 1, 1)
    assert (tmp_path / "kept").is_dir()


@pytest.fixture
def log_as_before() -> Iterator[None]:
    """What a command sets up for its process is not for the other tests in this one."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:], root.level = handlers, level


@pytest.mark.usefixtures("log_as_before")
def test_several_processes_are_told_of_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []

    def two_groups(definition: FlowDefinition, *, report, on_ready, **others) -> FlowStatistics:
        on_ready(0)
        said.append(sys.stderr.buffer.getvalue().decode())
        on_ready(0)
        for group, count in ((0, 0), (1, 5)):
            done = FlowStatistics(messages=count, done=count, dead_letters=count // 5)
            report(done.line(definition.name, group, datetime(2026, 1, 1)))
        return FlowStatistics(messages=5, done=5)

    monkeypatch.setattr(flow_run, "run_execution_groups", two_groups)
    write_flow(tmp_path, FLOW.replace("SETTINGS", "execution_groups: 2"))
    status, out, err = run_here("flow", "run", str(tmp_path))
    assert said == [""]
    assert err.splitlines() == [
        "flow mover is running; stop it with Ctrl-C",
        "mover group 1: 5 messages; 1 dead letters",
    ]
    assert (status, ["messages", "5"] in [line.split() for line in out.splitlines()]) == (0, True)


def test_a_queue_that_is_not_there_is_told(tmp_path: Path, server: RunningServer) -> None:
    (tmp_path / "flow.yaml").write_text(FLOW.replace("SETTINGS", "").replace("queue: IN", "queue: GONE"))
    words = helio("flow", "run", str(tmp_path), "--server", server.url("amqp"))
    done = subprocess.run(words, capture_output=True, text=True, env=environment(), timeout=PATIENCE, check=False)
    assert done.returncode == 1
    assert "QueueInput in cannot use queue GONE" in done.stderr
