"""Execution groups: several processes with the same flow, watched over by one that starts them again when they die."""

import logging
import multiprocessing
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path
from typing import Any

from heliograph.common.backoff import Backoff
from heliograph.errors import Problem
from heliograph.flow.definition import FlowDefinition
from heliograph.flow.errors import FlowStopped
from heliograph.flow.inline.flow_process import Report, run_flow
from heliograph.flow.inline.flow_settings import read_flow_settings
from heliograph.flow.inline.flow_statistics import FlowStatistics

LOG = logging.getLogger("heliograph.flow")
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0
_STEADY = 60.0
"""Seconds after which a process counts as steady, so that its next pause is short again."""
_AT_ONCE = 15.0
_MOST_DEATHS = 8
"""The flow stops if a process dies this many times in a row, each time within `_AT_ONCE` seconds."""
_LOOK = 0.25


@dataclass
class _Group:
    number: int
    process: SpawnProcess | None = None
    pipe: "Connection[Any, Any] | None" = None
    began: float = 0.0
    due: float = 0.0
    backoff: Backoff = field(default_factory=lambda: Backoff(_FIRST_PAUSE, _LONGEST_PAUSE))
    deaths: int = 0
    """In a row, soon after it began."""


def run_execution_groups(
    definition: FlowDefinition,
    *,
    state: Path,
    stop: threading.Event,
    server: str | None = None,
    measured: bool = False,
    report: Report | None = None,
    on_ready: Callable[[int], None] | None = None,
) -> FlowStatistics:
    """Run a flow in as many processes as it says, until `stop` is set. With one, this process is that one.

    The others are as `run_flow` has them; `on_ready` is called once for each process that is ready.
    """
    settings = read_flow_settings(definition, server)
    if settings.execution_groups == 1:
        return run_flow(
            definition, state=state, stop=stop, server=server, measured=measured, report=report, on_ready=on_ready
        )
    groups = [_Group(number) for number in range(settings.execution_groups)]
    total = FlowStatistics()
    watcher = _Watcher(definition, state, server, measured, report, on_ready, total)
    try:
        while not stop.is_set():
            for group in groups:
                watcher.look_after(group)
            watcher.listen(groups, _LOOK)
    finally:
        watcher.end(groups)
    return total


@dataclass
class _Watcher:
    """Starts the processes of a flow, hears what they report, and starts those again that die."""

    definition: FlowDefinition
    state: Path
    server: str | None
    measured: bool
    report: Report | None
    on_ready: Callable[[int], None] | None
    total: FlowStatistics
    context: SpawnContext = field(default_factory=lambda: multiprocessing.get_context("spawn"))

    def look_after(self, group: _Group) -> None:
        """Start it, if it does not run and it is time."""
        now = time.monotonic()
        if group.process is not None and group.process.is_alive():
            return
        if group.process is not None:
            self._drain(group)
            if group.process.exitcode == _PROBLEM:
                raise FlowStopped(f"execution group {group.number} cannot run; its log says why")
            lived = now - group.began
            group.deaths = group.deaths + 1 if lived < _AT_ONCE else 0
            if group.deaths >= _MOST_DEATHS:
                raise FlowStopped(
                    f"execution group {group.number} died {group.deaths} times in a row, each time within {_AT_ONCE:g} "
                    f"seconds, at last with {_ending(group.process.exitcode)}; its log may say why"
                )
            if lived >= _STEADY:
                group.backoff.succeeded()
            LOG.error(
                "execution group %d ended (%s); it is started again", group.number, _ending(group.process.exitcode)
            )
            group.process, group.due = None, now + group.backoff.pause()
        if now >= group.due:
            self._start(group)

    def _start(self, group: _Group) -> None:
        ours, theirs = self.context.Pipe()
        group.process = self.context.Process(
            target=_group_main,
            args=(theirs, self.definition, self.state, self.server, group.number, self.measured),
            name=f"flow-{self.definition.name}-{group.number}",
        )
        group.process.start()
        theirs.close()
        group.pipe, group.began = ours, time.monotonic()

    def listen(self, groups: list[_Group], timeout: float) -> None:
        """Hear what they have to say."""
        by_pipe = {group.pipe: group for group in groups if group.pipe is not None}
        for pipe in wait(list(by_pipe), timeout):
            self._hear(by_pipe[pipe])  # type: ignore[index]

    def _hear(self, group: _Group) -> None:
        assert group.pipe is not None
        try:
            kind, what = group.pipe.recv()
        except (EOFError, OSError):
            group.pipe.close()
            group.pipe = None
            return
        if kind == "line" and self.report is not None:
            self.report(what)
        elif kind == "ready" and self.on_ready is not None:
            self.on_ready(what)
        elif kind == "total":
            self.total.add(what)

    def _drain(self, group: _Group) -> None:
        while group.pipe is not None and group.pipe.poll(0):
            self._hear(group)

    def end(self, groups: list[_Group]) -> None:
        """Ask all to finish what they have in hand, and wait for them."""
        alive = [group for group in groups if group.process is not None]
        for group in alive:
            if group.pipe is not None:
                _say_stop(group.pipe)
        for group in alive:
            while (
                group.pipe is not None
                and group.process is not None
                and (group.process.is_alive() or group.pipe.poll(0))
            ):
                self.listen([group], _LOOK)
            assert group.process is not None
            group.process.join()


_PROBLEM = 3


def _ending(status: int | None) -> str:
    """An exit status for people."""
    return f"signal {-status} ({signal.strsignal(-status)})" if status and status < 0 else f"exit status {status}"


def _say_stop(pipe: "Connection[Any, Any]") -> None:
    try:
        pipe.send("stop")
    except OSError:
        return


def _group_main(
    pipe: "Connection[Any, Any]",
    definition: FlowDefinition,
    state: Path,
    server: str | None,
    group: int,
    measured: bool,
) -> None:
    """The main function of a process. It ends with its parent, whose end of the pipe closes then."""
    # Ignored here: a terminal sends signals to all processes, but the parent decides when to stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    logging.basicConfig(format=f"%(asctime)s group {group} %(levelname)s %(message)s", level=logging.INFO)

    def obey() -> None:
        try:
            pipe.recv()
        except (EOFError, OSError):
            LOG.warning("the process that watches over the groups is gone")
        stop.set()

    threading.Thread(target=obey, name="flow-group", daemon=True).start()
    try:
        total = run_flow(
            definition,
            state=state,
            stop=stop,
            server=server,
            group=group,
            measured=measured,
            report=lambda line: pipe.send(("line", line)),
            on_ready=lambda port: pipe.send(("ready", port)),
        )
        pipe.send(("total", total))
    except Problem as problem:
        LOG.error("%s", problem)
        raise SystemExit(_PROBLEM) from None
    except OSError:
        LOG.warning("the process that watches over the groups does not listen any more")
