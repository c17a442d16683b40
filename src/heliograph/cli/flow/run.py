"""Run a flow that reads from and writes to a server, until Ctrl-C or SIGTERM. Messages in flight are then completed.

The flow's file sets the number of threads (additional_instances) and processes (execution_groups), the server and the
databases. Use parameters for settings that differ between environments.
"""

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from heliograph.cli.flow.options import add_flow, load
from heliograph.cli.shared.signals import stopped_by_signals
from heliograph.flow.definition import FlowDefinition
from heliograph.flow.inline import (
    DEFAULT_SERVER,
    MOST_INSTANCES,
    FlowStatistics,
    read_flow_settings,
    run_execution_groups,
)
from heliograph.server import LogFormat, LogLevel, configure_logging

EXAMPLES = """\
  helio flow run orders
  helio flow run orders --server amqp://flows:secret@mq.example.com --env production
  helio flow run orders --instances 4 --set limit=500
  helio flow run orders --json >> orders.statistics
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio flow run`."""
    add_flow(parser)
    parser.add_argument(
        "--server", metavar="URL", help=f"the server (default: what the flow says, or {DEFAULT_SERVER})"
    )
    parser.add_argument(
        "--instances", type=_instances, metavar="N", help="threads for each input (default: what the flow says, or 1)"
    )
    parser.add_argument(
        "--state", type=Path, metavar="DIR", help="where aggregations and embedded databases are (default: DIR/state)"
    )
    parser.add_argument("--measure", action="store_true", help="count and time each node, too; this costs a little")
    parser.add_argument("--json", action="store_true", help="print statistics as lines of JSON on standard output")


def _instances(text: str) -> int:
    number = int(text)
    if not 1 <= number <= MOST_INSTANCES + 1:
        raise argparse.ArgumentTypeError(f"expected 1 to {MOST_INSTANCES + 1} instances, found {number}")
    return number


def run(args: argparse.Namespace) -> int:
    """Run the flow; print statistics every few seconds, and totals at the end."""
    definition = _with_instances(load(args), args.instances)
    settings = read_flow_settings(definition, args.server)
    home = args.folder.parent if args.folder.is_file() else args.folder
    configure_logging(LogLevel.INFO, LogFormat.TEXT)
    telling = _Telling(definition.name, settings.execution_groups, as_json=args.json)
    began = time.monotonic()
    with stopped_by_signals() as stop:
        total = run_execution_groups(
            definition,
            state=args.state or home / "state",
            stop=stop,
            server=args.server,
            measured=args.measure,
            report=telling.report,
            on_ready=telling.ready,
        )
    if not args.json:
        _print_total(total, time.monotonic() - began)
    return 0


def _with_instances(definition: FlowDefinition, instances: int | None) -> FlowDefinition:
    if instances is None:
        return definition
    return replace(definition, settings={**definition.settings, "additional_instances": instances - 1})


class _Telling:
    """What the operator sees while the flow runs."""

    def __init__(self, flow: str, groups: int, *, as_json: bool) -> None:
        self._flow = flow
        self._groups = groups
        self._as_json = as_json
        self._ready = 0
        self._last: dict[int, tuple[float, int]] = {}

    def ready(self, port: int) -> None:
        """A process takes messages now."""
        self._ready += 1
        if self._ready == self._groups:
            where = f", HTTP on port {port}" if port else ""
            print(f"flow {self._flow} is running{where}; stop it with Ctrl-C", file=sys.stderr, flush=True)

    def report(self, line: str) -> None:
        """What a process has done so far."""
        if self._as_json:
            print(line, flush=True)
            return
        figures: dict[str, Any] = json.loads(line)
        group, now, messages = figures["group"], time.monotonic(), figures["messages"]
        before, known = self._last.get(group, (now, 0))
        self._last[group] = now, messages
        if messages == known:
            return
        rate = f", {(messages - known) / (now - before):,.0f} a second" if now > before else ""
        odd = ", ".join(
            f"{figures[name]} {name.replace('_', ' ')}"
            for name in ("dead_letters", "discarded", "backed_out")
            if figures[name]
        )
        which = f" group {group}" if self._groups > 1 else ""
        told = f"{self._flow}{which}: {messages} messages{rate}{'; ' + odd if odd else ''}"
        print(told, file=sys.stderr, flush=True)


def _print_total(total: FlowStatistics, seconds: float) -> None:
    print(f"\n{'seconds':<14}{seconds:>12.1f}")
    print(total.table(), end="", flush=True)
