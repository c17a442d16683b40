"""One pipeline: the process that runs it on Spark, started again when it dies."""

import asyncio
import logging
import re
import sys
from collections.abc import Callable

from heliograph.server.processes.supervision import Command, State, SupervisedProcess

log = logging.getLogger("heliograph.pipeline")

_LONGEST = 4000
_LEVEL = re.compile(r"(?:\d\d:\d\d:\d\d )?(DEBUG|INFO|WARNING|WARN|ERROR|FATAL) (.*)")
_LEVELS = {
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARNING": logging.WARNING,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.ERROR,
}


def running(config_file: str, pages: Callable[[], str]) -> Command:
    """Run pipelines of this configuration file with this Python and these sources; `pages` is the server's URL."""
    return lambda name: [
        *(sys.executable, "-m", "heliograph.cli.main", "pipeline", "run"),
        *("--config", config_file, name, "--supervised", *(("--server", pages()) if pages() else ())),
    ]


class PipelineProcess(SupervisedProcess):
    """Keeps one pipeline running. What it, Java and Spark's workers write becomes lines of the server's log."""

    what = "pipeline"
    patience = 45.0  # the batch in hand is finished, then Java ends
    errors = asyncio.subprocess.PIPE

    def __init__(self, name: str, command: Command) -> None:
        super().__init__(name, command)
        self._end = ""

    @property
    def told(self) -> str:
        """How it is doing, as it says itself while it runs; nothing if it has not been started yet."""
        if self.state is State.RUNNING:
            return str(self.report.get("state", State.STARTING))
        return self._end if self.state is State.STOPPED else str(self.state)

    def start(self) -> None:
        """Have it run from now on."""
        self._end = str(State.STOPPED)
        super().start()

    def _take_report(self, line: bytes) -> None:
        super()._take_report(line)
        self._end = str(self.report.get("state", State.STOPPED))

    def _is_done(self, code: int | None) -> bool:
        return code == 0  # a job may come to an end

    async def _read_errors(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None
        rest = b""
        while data := await process.stderr.read(1 << 16):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._tell(line)
            if len(rest) > _LONGEST:
                self._tell(rest)
                rest = b""
        self._tell(rest)

    def _tell(self, line: bytes) -> None:
        text = line[:_LONGEST].decode(errors="replace").rstrip()
        if text:
            found = _LEVEL.fullmatch(text)
            level, text = (_LEVELS[found[1]], found[2]) if found else (logging.INFO, text)
            log.log(level, "%s", text, extra=self._marked)
