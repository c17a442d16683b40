"""The pipelines of a server: one process each, restarted when it dies, stopped before the server, changed on reload.

`Pipelines` owns a `PipelineProcess` for each configured pipeline. Calls of management and reloads return at once:
stopping and restarting are tasks in `_changing`, which `stop` waits for. Figures come from status files and streams,
and are read in a thread once a second, because reading files would hold up messages.
"""

import asyncio
import contextlib
import logging
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from heliograph.broker import NOT_ALLOWED, NOT_FOUND, Refused
from heliograph.errors import Problem
from heliograph.server.config.loading import Config
from heliograph.server.config.schema import PipelineConfig
from heliograph.server.processes.pipeline_folder import (
    PIPELINES_FOLDER,
    STATE,
    Watched,
    figures,
    has_databases,
    remove_folder,
)
from heliograph.server.processes.supervision import Command, State, SupervisedProcess

log = logging.getLogger(__name__)
_output = logging.getLogger("heliograph.pipeline")
"""Gets what the processes of pipelines write."""

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
    """Keeps one pipeline running. Output of the process, of Java and of Spark's workers goes to the server's log."""

    what = "pipeline"
    patience = 45.0  # for the current batch, and then for Java, to end
    errors = asyncio.subprocess.PIPE

    def __init__(self, name: str, command: Command) -> None:
        super().__init__(name, command)
        self._end = ""

    @property
    def told(self) -> str:
        """The state that is shown: while it runs, the one it reports itself; empty if it was never started."""
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
            _output.log(level, "%s", text, extra=self._marked)


Facts = dict[str, Any]

_LOOK = 1.0
"""Seconds between two reads of the pipelines' figures."""


class Pipelines:
    """The pipelines that the server runs as processes, and figures of others that have a folder in its data."""

    def __init__(self, config: Config, pages: Callable[[], str]) -> None:
        """`pages` is the URL of the server's own pages, when they are there."""
        self._directory = Path(config.storage.directory)
        self._command = running(str(config.source), pages)
        self._configured = {one.name: one for one in config.pipelines}
        self._processes = {name: PipelineProcess(name, self._command) for name in self._configured}
        self._changing: set[asyncio.Task[None]] = set()
        self._looking: asyncio.Task[None] | None = None
        self._figures: list[Facts] = []

    def start(self) -> None:
        """Start the pipelines whose `start` is true. Called when the server's pages are up, as pipelines read them."""
        self._looking = asyncio.ensure_future(self._look())
        for name, process in self._processes.items():
            if self._configured[name].start:
                process.start()

    async def stop(self) -> None:
        """Stop all of them, and wait until they have."""
        if self._looking is not None:
            self._looking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._looking
        await asyncio.gather(*self._changing, return_exceptions=True)
        await asyncio.gather(*(process.stop() for process in self._processes.values()))

    def reload(self, config: Config) -> None:
        """Apply a new configuration: start new pipelines, restart changed ones, stop those that are gone."""
        old, new = self._configured, {one.name: one for one in config.pipelines}
        self._configured = new
        for name in old.keys() - new.keys():
            log.info("a pipeline is no longer configured; stopping it", extra={"pipeline": name})
            self._change(self._processes.pop(name).stop())
        for name in new.keys() - old.keys():
            self._processes[name] = PipelineProcess(name, self._command)
            if new[name].start:
                self._processes[name].start()
        for name in new.keys() & old.keys():
            if new[name] != old[name]:
                log.info("the configuration of a pipeline has changed; restarting it", extra={"pipeline": name})
                self._change(self._restart(self._processes[name], old[name], new[name]))

    @staticmethod
    async def _restart(process: PipelineProcess, old: PipelineConfig, new: PipelineConfig) -> None:
        """Restart with the new configuration. One that an operator has stopped stays so unless `start` has changed."""
        goes_on = process.wanted or (new.start and not old.start)
        await process.stop()
        if goes_on and new.start:
            process.start()

    def _change(self, steps: Any) -> None:
        task = asyncio.ensure_future(steps)
        self._changing.add(task)
        task.add_done_callback(self._changing.discard)

    # How they are doing

    async def _look(self) -> None:
        """Read figures once a second, in a thread, because reading files blocks."""
        while True:
            if self._processes or (self._directory / PIPELINES_FOLDER).exists():
                try:
                    self._figures = await asyncio.to_thread(figures, self._directory, self._watched())
                except Exception:
                    log.exception("internal error while checking pipelines")
            await asyncio.sleep(_LOOK)

    def _watched(self) -> list[Watched]:
        return [
            Watched(
                name=name,
                source=self._configured[name].source,
                runs=Path(self._configured[name].flow or self._configured[name].job).name,
                reads_here=not self._configured[name].server,
                state=process.told,
                restarts=process.restarts,
            )
            for name, process in self._processes.items()
        ]

    # What management asks for

    def list(self) -> list[Facts]:
        """Figures of each pipeline; the state is current, all else up to `_LOOK` seconds old."""
        return [{**one, "state": told} if (told := self._told(one["name"])) else one for one in self._figures]

    def _told(self, name: str) -> str:
        return self._processes[name].told if name in self._processes else ""

    def start_one(self, name: str) -> None:
        """Start a pipeline; it does not run at once. Refused if there is none of this name in the configuration."""
        self._find(name).start()

    def stop_one(self, name: str) -> None:
        """Stop a pipeline until it is started again or the server is; this takes a moment."""
        self._change(self._find(name).stop())

    def remove_one(self, name: str, *, purge: bool) -> Facts:
        """Forget one that is not in the configuration and does not run; this takes a moment. See `remove_folder`.

        The answer says where its databases are, if it has some and they stay.
        """
        if name in self._processes:
            raise Refused(NOT_ALLOWED, f"pipeline {name} is in the server's configuration; take it out there first")
        one = self._by_hand(name)
        if one is None:
            there = ", ".join(one["name"] for one in self._figures) or "none"
            raise Refused(NOT_FOUND, f"there is no pipeline {name}; pipelines are: {there}")
        if one["pid"]:
            raise Refused(NOT_ALLOWED, f"pipeline {name} runs (process {one['pid']}); stop it first")
        folder = self._directory / PIPELINES_FOLDER / name
        self._change(self._remove(name, folder, purge=purge))
        stays = not purge and has_databases(folder)
        return {"name": name, "databases": str((folder / STATE).absolute()) if stays else ""}

    async def _remove(self, name: str, folder: Path, *, purge: bool) -> None:
        try:
            await asyncio.to_thread(remove_folder, folder, purge=purge)
        except (OSError, Problem) as error:
            log.error("cannot remove a pipeline: %s", error, extra={"pipeline": name})
        else:
            log.info("pipeline removed", extra={"pipeline": name})

    def _by_hand(self, name: str) -> Facts | None:
        """The figures of a pipeline that is not in the configuration."""
        return next((one for one in self._figures if one["name"] == name), None)

    def _find(self, name: str) -> PipelineProcess:
        if name in self._processes:
            return self._processes[name]
        if (one := self._by_hand(name)) is not None:
            raise Refused(
                NOT_ALLOWED,
                f"pipeline {name} is not in the server's configuration; who started it by hand (process "
                f"{one['pid'] or 'gone'}) stops it",
            )
        there = ", ".join(self._processes) or "none"
        raise Refused(NOT_FOUND, f"there is no pipeline {name}; pipelines are: {there}")
