"""A process that runs flows one after the other: `FlowWorker` is the driver's side, `main` is the process.

They speak over standard input and output. A line of JSON is a flow to run: `{"folder": ..., "state": ..., "server":
..., "parameters": {...}}`. The process answers `ready` for each thread or process that takes messages. An empty line
stops the flow; the process answers `stopped`, or `failed` and the reason.
"""

import json
import logging
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from heliograph.errors import Problem
from heliograph.flow.inline import run_execution_groups
from heliograph.flow.loading import load_flow
from heliograph.lab.errors import MeasurementFailed
from heliograph.lab.worker_process import WorkerProcess

_PATIENCE = 20.0


def _say(word: str) -> None:
    print(word, flush=True)


def _run(order: Mapping[str, Any], stop: threading.Event) -> None:
    try:
        run_execution_groups(
            load_flow(order["folder"], parameters=order["parameters"]),
            state=Path(order["state"]),
            stop=stop,
            server=order["server"],
            on_ready=lambda _: _say("ready"),
        )
    except Problem as problem:
        _say(f"failed {json.dumps(str(problem))}")
    else:
        _say("stopped")


def main() -> None:
    """Until the standard input ends."""
    logging.basicConfig(level=logging.WARNING)
    stop, runner = threading.Event(), None
    for line in sys.stdin:
        if line.strip():
            stop = threading.Event()
            runner = threading.Thread(target=_run, args=(json.loads(line), stop))
            runner.start()
        elif runner is not None:
            stop.set()
            runner.join()
            runner = None
    stop.set()


if __name__ == "__main__":
    main()


class FlowWorker:
    """A process that runs one flow at a time, on a core of its own if one is named."""

    def __init__(self, log: Path, core: int | None) -> None:
        self._process = WorkerProcess("heliograph.lab.flows.flow_process", log=log, core=core, patience=_PATIENCE)
        self.pid = self._process.pid
        self.close = self._process.close

    def run(self, folder: Path, state: Path, server: str, parameters: Mapping[str, str], groups: int = 1) -> None:
        """Start a flow, and wait until it takes messages."""
        order = {"folder": str(folder), "state": str(state), "server": server, "parameters": dict(parameters)}
        self._tell(json.dumps(order))
        for _ in range(groups):
            self._expect("ready")

    def stop(self) -> None:
        """Let the flow finish the messages that it has taken."""
        self._tell("")
        self._expect("stopped")

    def _tell(self, line: str) -> None:
        if not self._process.tell(line):
            raise MeasurementFailed(f"the flow's process has ended: {self._process.last_words()}")

    def _expect(self, word: str) -> None:
        line = self._process.answer()
        if line != word:
            failed = line.startswith("failed ")
            why = json.loads(line.removeprefix("failed ")) if failed else self._process.last_words()
            raise MeasurementFailed(f"the flow is not {word}: {why}")
