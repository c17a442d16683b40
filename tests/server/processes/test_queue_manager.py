"""One queue manager as its supervisor sees it: started again with growing pauses, stopped, killed if it must be."""

import logging
import sys

import pytest

from heliograph.server.processes import supervision
from heliograph.server.processes.queue_managers import QueueManagerProcess, State
from server.processes.steps import run, until

READY = 'print(\'{"addresses": ["amqp://127.0.0.1:9"], "queues": 1, "depth": 2}\', flush=True)'
UNTIL_TOLD = "import sys; sys.stdin.read()"


def running(program: str) -> QueueManagerProcess:
    """A queue manager whose process is this program."""
    return QueueManagerProcess("QM1", lambda _name: [sys.executable, "-c", program])


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses that a test can wait for."""
    monkeypatch.setattr(supervision, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(supervision, "LONGEST_PAUSE", 0.04)


def test_it_is_running_when_it_says_that_it_is_ready() -> None:
    async def steps() -> None:
        manager = running(f"{READY}\n{UNTIL_TOLD}")
        manager.start()
        assert manager.state is State.STARTING
        await manager.settled()
        assert manager.state is State.RUNNING
        assert (manager.addresses, manager.report["depth"]) == (["amqp://127.0.0.1:9"], 2)
        await manager.stop()
        assert (manager.state, manager.pid, manager.addresses) == (State.STOPPED, None, [])

    run(steps)


def test_one_that_keeps_dying_is_started_with_growing_pauses(quick: None, caplog: pytest.LogCaptureFixture) -> None:
    async def steps() -> None:
        manager = running("import sys; sys.exit(3)")
        manager.start()
        await until(lambda: manager.restarts == 4)
        await manager.stop()

    with caplog.at_level(logging.ERROR):
        run(steps)
    told = [record for record in caplog.records if "has ended" in record.message]
    assert [getattr(record, "pause", None) for record in told[:4]] == [0.01, 0.02, 0.04, 0.04]
    assert getattr(told[0], "status", None) == "exit status 3"


def test_one_that_waits_to_be_started_again_can_be_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervision, "FIRST_PAUSE", 1000.0)

    async def steps() -> None:
        manager = running("")
        manager.start()
        await manager.settled()
        await until(lambda: manager.state is State.WAITING)
        await manager.stop()
        assert manager.state is State.STOPPED
        assert manager.restarts == 0

    run(steps)


def test_one_that_does_not_stop_is_killed(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(QueueManagerProcess, "patience", 0.1)

    async def steps() -> None:
        manager = running(f"import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n{READY}\n{UNTIL_TOLD}")
        manager.start()
        await manager.settled()
        await manager.stop()
        assert manager.state is State.STOPPED

    run(steps)
    assert "a queue manager did not stop in time; killing it" in caplog.text


def test_a_program_that_is_not_there_is_told_and_tried_again(quick: None, caplog: pytest.LogCaptureFixture) -> None:
    async def steps() -> None:
        manager = QueueManagerProcess("QM1", lambda _name: ["/no/such/program"])
        manager.start()
        await until(lambda: manager.restarts == 1)
        await manager.stop()

    run(steps)
    assert any(getattr(record, "status", "") == "No such file or directory" for record in caplog.records)


def test_output_that_is_no_report_is_told_and_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    async def steps() -> None:
        manager = running(f"print('hello', flush=True)\n{READY}\n{UNTIL_TOLD}")
        manager.start()
        await manager.settled()
        assert manager.state is State.RUNNING
        await manager.stop()

    run(steps)
    assert "unexpected output of a queue manager" in caplog.text
