"""A process that the server starts beside itself, watches, and starts again when it dies.

Theory of operation
1. A `SupervisedProcess` owns one child process at a time, and the task `_keeping` that runs it again and again.
   `wanted` is what operators and the configuration ask for; `state` is what the process does.
2. States: stopped -> starting -> running (with the first report) -> waiting (it has died) -> starting, and so on.
   `stop` leads to stopping -> stopped, from waiting directly to stopped.
3. `start` during `stopping` only sets `wanted`; `_has_stopped` then starts the process again. So there are never two of
   one name.
4. The pause before a restart grows while the process keeps dying, and is reset once it has lived for `_WELL` seconds.
5. The child ends when its standard input does, so it never outlives the server, not even if that is killed.
"""

import asyncio
import contextlib
import json
import logging
import os
import signal
import time
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any

from heliograph.common.backoff import Backoff

log = logging.getLogger(__name__)

Command = Callable[[str], Sequence[str]]
"""The command line of the process for this name."""

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
# Seconds of life after which earlier failures no longer count: the next restart has a short pause again.
_WELL = 60.0
# Variables that systemd set for the server: with them, a child would report to systemd in the server's place.
_NOT_INHERITED = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")


class State(StrEnum):
    """What a supervised process does."""

    STARTING = "starting"
    RUNNING = "running"
    WAITING = "waiting"
    """It has died, and will be started again in a moment."""
    STOPPING = "stopping"
    STOPPED = "stopped"


class SupervisedProcess:
    """Keeps one process running until it is told to stop.

    The process reports on its standard output, one JSON object per line, and ends when its standard input does.
    """

    what = "process"
    """The kind of process, for log lines."""
    patience = 15.0
    """Seconds that it may take to stop before it is killed."""
    errors: int | None = None
    """Where its standard error goes; None: to that of the server."""

    def __init__(self, name: str, command: Command) -> None:
        self.name = name
        self.state = State.STOPPED
        self.restarts = 0
        self.report: dict[str, Any] = {}
        """The latest report of the process."""
        self._command = command
        self._process: asyncio.subprocess.Process | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._settled = asyncio.Event()
        self.wanted = False
        """Whether the process is meant to run."""

    @property
    def pid(self) -> int | None:
        """The process, if there is one."""
        return None if self._process is None else self._process.pid

    @property
    def _marked(self) -> dict[str, Any]:
        """The field of a line in the log that says which process it is about."""
        return {self.what.replace(" ", "_"): self.name}

    def start(self) -> None:
        """Run the process from now on. If it is being stopped, it is started again once it has stopped."""
        self.wanted = True
        if self._keeping is None or self._keeping.done():
            self._begin()

    def _begin(self) -> None:
        self.state = State.STARTING
        self._settled.clear()
        self._keeping = asyncio.ensure_future(self._keep())

    def _has_stopped(self) -> None:
        """Note that the process has stopped, and start it again if that was asked for meanwhile."""
        self.state = State.STOPPED
        if self.wanted:
            self._begin()

    async def settled(self) -> None:
        """Wait until it is ready, or has failed to start once."""
        await self._settled.wait()

    async def stop(self) -> None:
        """Stop the process, and wait until it has ended; kill it after `patience` seconds."""
        self.wanted = False
        keeping = self._keeping
        if keeping is None or keeping.done():
            return
        process = self._process
        if process is None:  # it has died, and the pause before its restart is under way
            keeping.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await keeping
            if self._keeping is keeping:  # no other call of `stop` that waited here has started it again
                self._has_stopped()
            return
        self.state = State.STOPPING
        self._signal(process, signal.SIGTERM)
        if not (await asyncio.wait({keeping}, timeout=self.patience))[0]:
            log.error("a %s did not stop in time; killing it", self.what, extra=self._marked)
            self._signal(process, signal.SIGKILL)
            await asyncio.wait({keeping})

    def reload(self) -> None:
        """Tell the process to read the configuration again."""
        if self.state is State.RUNNING and self._process is not None:
            self._signal(self._process, signal.SIGHUP)

    @staticmethod
    def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(number)

    def _is_done(self, code: int | None) -> bool:
        """Whether a process that ended by itself with this status need not be started again."""
        return False

    async def _keep(self) -> None:
        """Run the process until it is stopped or done; pause longer between runs if it keeps dying."""
        backoff = Backoff(FIRST_PAUSE, LONGEST_PAUSE)
        while True:
            began = time.monotonic()
            code, status = await self._run_once()
            self._settled.set()
            if self.state is State.STOPPING:
                self._has_stopped()
                return
            if not self.wanted or self._is_done(code):
                break
            lived = time.monotonic() - began
            if lived >= _WELL:
                backoff.succeeded()
            pause = backoff.pause()
            log.error(
                "a %s has ended; restarting it",
                self.what,
                extra={**self._marked, "status": status, "lived": round(lived, 1), "pause": pause},
            )
            self.state = State.WAITING
            await asyncio.sleep(pause)
            self.restarts += 1
            self.state = State.STARTING
        self.state = State.STOPPED

    async def _run_once(self) -> tuple[int | None, str]:
        """Run the process once; returns its exit status (None if it did not start) and a text about how it ended."""
        environment = {key: value for key, value in os.environ.items() if key not in _NOT_INHERITED}
        try:
            process = self._process = await asyncio.create_subprocess_exec(
                *self._command(self.name),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=self.errors,
                env=environment,
                start_new_session=True,  # Ctrl-C is for the server, which then stops its processes in good order
            )
        except OSError as error:
            return None, error.strerror or str(error)
        reading = asyncio.ensure_future(self._read_errors(process))
        assert process.stdout is not None
        try:
            while line := await process.stdout.readline():
                self._take_report(line)
            code = await process.wait()
            await reading
        finally:
            reading.cancel()
            self._process = None
            self.report = {}
        return code, f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"

    async def _read_errors(self, process: asyncio.subprocess.Process) -> None:
        """Read the standard error of the process, if `errors` is a pipe."""

    def _take_report(self, line: bytes) -> None:
        try:
            report = json.loads(line)
        except ValueError:
            log.warning("unexpected output of a %s", self.what, extra={**self._marked, "line": line[:200]})
            return
        self.report = report
        if self.state is State.STARTING:
            self.state = State.RUNNING
            self._settled.set()
            log.info("a %s is ready", self.what, extra={**self._marked, "pid": self.pid})
