"""Processes that are asked to end, and killed if they do not."""

import signal
import subprocess
import sys

from heliograph.common.process_end import end_process

WAITS = "import sys; print(flush=True); sys.stdin.read()"
IGNORES = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + WAITS


def started(program: str) -> "subprocess.Popen[bytes]":
    process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"\n"  # so it has done all it does before it waits
    return process


def test_a_process_ends_when_it_is_asked_to() -> None:
    with started(WAITS) as process:
        assert end_process(process, 30) == -signal.SIGTERM


def test_one_that_does_not_is_killed() -> None:
    with started(IGNORES) as process:
        assert end_process(process, 0.05) == -signal.SIGKILL


def test_one_that_has_been_asked_otherwise_gets_its_time() -> None:
    with started(IGNORES) as process:
        assert process.stdin is not None
        process.stdin.close()
        assert end_process(process, 30, ask=False) == 0


def test_one_that_has_ended_is_no_trouble() -> None:
    with started(WAITS) as process:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(30)
        assert end_process(process, 30) == 0
