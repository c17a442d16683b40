"""A process that the server starts beside itself, watches, and starts again when it dies."""

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
# A process that has lived so long was well: the next end is a new story.
_WELL = 60.0
# What systemd told the server is not for its children: they must not report to it in the server's place.
_NOT_INHERITED = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")


class State(StrEnum):
    """How a process is doing."""

    STARTING = "starting"
    RUNNING = "running"
    WAITING = "waiting"
    """It has died, and will be started again in a moment."""
    STOPPING = "stopping"
    STOPPED = "stopped"


class SupervisedProcess:
    """Keeps one process running until it is told to stop.

    The process writes what it has to report to its standard output, a JSON object a line, and ends when its standard
    input does: so it never outlives the server that started it, however that went.
    """

    what = "process"
    """What it is, in the log."""
    patience = 15.0
    """Seconds that it may take to stop before it is killed."""
    errors: int | None = None
    """Where its standard error goes; None is where the server's own goes."""

    def __init__(self, name: str, command: Command) -> None:
        self.name = name
        self.state = State.STOPPED
        self.restarts = 0
        self.report: dict[str, Any] = {}
        """What the process said last."""
        self._command = command
        self._process: asyncio.subprocess.Process | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._settled = asyncio.Event()
        self.wanted = False
        """Whether it is to run."""

    @property
    def pid(self) -> int | None:
        """The process, if there is one."""
        return None if self._process is None else self._process.pid

    @property
    def _marked(self) -> dict[str, Any]:
        """The field of a line in the log that says which process it is about."""
        return {self.what.replace(" ", "_"): self.name}

    def start(self) -> None:
        """Have it run from now on. One that is about to stop does so, and is then started again."""
        self.wanted = True
        if self._keeping is None or self._keeping.done():
            self._begin()

    def _begin(self) -> None:
        self.state = State.STARTING
        self._settled.clear()
        self._keeping = asyncio.ensure_future(self._keep())

    def _has_stopped(self) -> None:
        """It was told to stop, and has; meanwhile somebody may have told it to start."""
        self.state = State.STOPPED
        if self.wanted:
            self._begin()

    async def settled(self) -> None:
        """Wait until it is ready, or has failed to start once."""
        await self._settled.wait()

    async def stop(self) -> None:
        """Have it stop, and wait until it has."""
        self.wanted = False
        keeping = self._keeping
        if keeping is None or keeping.done():
            return
        process = self._process
        if process is None:  # it was about to be started again
            keeping.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await keeping
            if self._keeping is keeping:  # nobody else who waited for the same has started it again
                self._has_stopped()
            return
        self.state = State.STOPPING
        self._signal(process, signal.SIGTERM)
        if not (await asyncio.wait({keeping}, timeout=self.patience))[0]:
            log.error("a %s did not stop in time; killing it", self.what, extra=self._marked)
            self._signal(process, signal.SIGKILL)
            await asyncio.wait({keeping})

    def reload(self) -> None:
        """Have it read the configuration again."""
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
        """Run the process again and again; longer pauses between if it keeps dying."""
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
        """Run the process to its end: its exit status if it got so far, and how that was, for people."""
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
        """Take what the process writes to its standard error, if that does not go elsewhere."""

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
