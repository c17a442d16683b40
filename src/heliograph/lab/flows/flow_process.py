"""A process that runs flows, one after the other, as it is told on its standard input.

A line of JSON is a flow to run: `{"folder": ..., "state": ..., "server": ..., "parameters": {...}}`. It answers `ready`
for each process that takes messages. An empty line stops the flow; it answers `stopped`, or `failed` and why.
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
