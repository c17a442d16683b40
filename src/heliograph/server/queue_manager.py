"""One queue manager: the process that serves it, started again when it dies."""

import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any

log = logging.getLogger(__name__)

Command = Callable[[str], Sequence[str]]
"""The command line that serves the queue manager of this name."""

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
# A process that has lived so long was well: the next end is a new story.
_WELL = 60.0
# How long one that is to stop may take before it is killed.
_STOPPING = 15.0
# What systemd told the server is not for its children: they must not report to it in the server's place.
_NOT_INHERITED = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")


def serving(config_file: str) -> Command:
    """Serve queue managers of this configuration file with this Python and these sources."""
    return lambda name: [
        *(sys.executable, "-m", "heliograph.cli.main", "serve"),
        *("--config", config_file, "--queue-manager", name, "--supervised"),
    ]


class State(StrEnum):
    """How a queue manager is doing."""

    STARTING = "starting"
    RUNNING = "running"
    WAITING = "waiting"
    """It has died, and will be started again in a moment."""
    STOPPING = "stopping"
    STOPPED = "stopped"


class QueueManagerProcess:
    """Keeps one queue manager running until it is told to stop.

    The process writes what it has to report to its standard output, a JSON object a line, and ends when its standard
    input does: so it never outlives the server that started it, however that went.
    """

    def __init__(self, name: str, command: Command) -> None:
        self.name = name
        self.state = State.STOPPED
        self.restarts = 0
        self.report: dict[str, Any] = {}
        """What the process said last: its addresses, queues and messages."""
        self._command = command
        self._process: asyncio.subprocess.Process | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._settled = asyncio.Event()
        self._wanted = False

    @property
    def pid(self) -> int | None:
        """The process, if there is one."""
        return None if self._process is None else self._process.pid

    @property
    def addresses(self) -> list[str]:
        """Where it is, as URLs; nowhere while it does not run."""
        return list(self.report.get("addresses", ()))

    def start(self) -> None:
        """Have it run from now on."""
        self._wanted = True
        if self._keeping is None or self._keeping.done():
            self.state = State.STARTING
            self._settled.clear()
            self._keeping = asyncio.ensure_future(self._keep())

    async def settled(self) -> None:
        """Wait until it is ready, or has failed to start once."""
        await self._settled.wait()

    async def stop(self) -> None:
        """Have it stop, and wait until it has."""
        self._wanted = False
        keeping = self._keeping
        if keeping is None or keeping.done():
            return
        process = self._process
        if process is None:  # it was about to be started again
            keeping.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await keeping
            self.state = State.STOPPED
            return
        self.state = State.STOPPING
        self._signal(process, signal.SIGTERM)
        if not (await asyncio.wait({keeping}, timeout=_STOPPING))[0]:
            log.error("a queue manager does not stop; it is killed", extra={"queue_manager": self.name})
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

    async def _keep(self) -> None:
        """Run the process again and again; longer pauses between if it keeps dying."""
        pause = FIRST_PAUSE
        while True:
            began = time.monotonic()
            status = await self._run_once()
            self._settled.set()
            if not self._wanted:
                break
            lived = time.monotonic() - began
            pause = FIRST_PAUSE if lived >= _WELL else pause
            log.error(
                "a queue manager has ended; it is started again",
                extra={"queue_manager": self.name, "status": status, "lived": round(lived, 1), "pause": pause},
            )
            self.state = State.WAITING
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
            self.restarts += 1
            self.state = State.STARTING
        self.state = State.STOPPED

    async def _run_once(self) -> str:
        """Run the process to its end; how that was, for people."""
        environment = {key: value for key, value in os.environ.items() if key not in _NOT_INHERITED}
        try:
            process = self._process = await asyncio.create_subprocess_exec(
                *self._command(self.name),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                env=environment,
                start_new_session=True,  # Ctrl-C is for the server, which then stops its queue managers in good order
            )
        except OSError as error:
            return error.strerror or str(error)
        assert process.stdout is not None
        try:
            while line := await process.stdout.readline():
                self._take_report(line)
            code = await process.wait()
        finally:
            self._process = None
            self.report = {}
        return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"

    def _take_report(self, line: bytes) -> None:
        try:
            report = json.loads(line)
        except ValueError:
            log.warning("unexpected output of a queue manager", extra={"queue_manager": self.name, "line": line[:200]})
            return
        self.report = report
        if self.state is State.STARTING:
            self.state = State.RUNNING
            self._settled.set()
            log.info("a queue manager is ready", extra={"queue_manager": self.name, "pid": self.pid})
