"""Flows in processes of their own, for tests that kill them; and their files.

python flow_process.py FOLDER STATE SERVER     runs a flow until SIGTERM
"""

import importlib
import logging
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from running import Lines, environment

_READY = "the flow is ready"


def write_flow(folder: Path, nodes: str, connections: str, settings: str, files: dict[str, str]) -> Path:
    """A flow's folder, which gives it its name: `nodes` and `connections` have one in each line."""
    folder.mkdir(parents=True, exist_ok=True)
    indented = "".join(f"  {line.strip()}\n" for line in nodes.strip().splitlines())
    wires = "".join(f"  - {line.strip()}\n" for line in connections.strip().splitlines())
    text = f"flow: {folder.name}\n{settings.strip()}\nnodes:\n{indented}connections:\n{wires}"
    (folder / "flow.yaml").write_text(text)
    for name, content in files.items():
        (folder / name).write_text(content)
    return folder


class FlowProcess:
    """A flow that runs in a process."""

    def __init__(self, folder: Path, state: Path, url: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, __file__, str(folder), str(state), url],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
        )
        self.out, self.log = Lines(self.process.stdout), Lines(self.process.stderr)

    def wait_until_ready(self) -> None:
        self.out.wait_for(_READY)

    def terminate(self) -> int:
        """Ask it to stop, and wait until it has; its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self._gone()

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self._gone()

    def _gone(self) -> int:
        status = self.process.wait(20)
        self.out.close()
        self.log.close()
        return status


def _die_at(function: str, moment: str) -> None:
    """Kill this process before or after the first call of a method."""
    path, _, name = function.rpartition(".")
    module, _, kind = path.rpartition(".")
    owner = getattr(importlib.import_module(module), kind)
    original = getattr(owner, name)

    def dying(*words: Any, **options: Any) -> None:
        if moment == "after":
            original(*words, **options)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(owner, name, dying)


def main() -> None:
    from heliograph.flow.inline.execution_groups import run_execution_groups
    from heliograph.flow.loading.flow_loading import load_flow

    folder, state, server = sys.argv[1:]
    logging.basicConfig(level=logging.INFO)
    if "FLOW_DIES" in os.environ:
        _die_at(*os.environ["FLOW_DIES"].split())
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    statistics = run_execution_groups(
        load_flow(folder),
        state=Path(state),
        stop=stop,
        server=server,
        on_ready=lambda _: print(_READY, flush=True),
    )
    print(statistics.table(), flush=True)


if __name__ == "__main__":
    main()
