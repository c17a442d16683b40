"""Show how far behind pipelines are: messages that wait, and how long the oldest of them has waited."""

import argparse
import json
import time
from typing import Any

from heliograph.cli.pipeline.figures import find, lag_text, number
from heliograph.cli.queues.mqsc_commands import Ask
from heliograph.cli.shared.amqp import add_url, management
from heliograph.cli.shared.tables import table

EXAMPLES = """\
  helio pipeline lag
  helio pipeline lag telemetry --watch
  helio pipeline lag telemetry --json
"""

_PAUSE = 2.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio pipeline lag`."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="the pipeline (default: all)")
    add_url(parser)
    parser.add_argument("--json", action="store_true", help="print JSON, a line each time")
    parser.add_argument("--watch", action="store_true", help="look again every 2 seconds, until Ctrl-C")


def run(args: argparse.Namespace) -> int:
    """Ask the server, and print, once or again and again."""
    with management(args.url) as ask:
        while True:
            pipelines = _asked(ask, args.name)
            if args.json:
                print(json.dumps([_figures(one) for one in pipelines]), flush=True)
            else:
                _print(pipelines)
            if not args.watch:
                return 0
            time.sleep(_PAUSE)


def _asked(ask: Ask, name: str | None) -> list[dict[str, Any]]:
    if name is not None:
        return [find(ask, name)]
    pipelines: list[dict[str, Any]] = ask("pipeline-list", {})
    return pipelines


def _figures(one: dict[str, Any]) -> dict[str, Any]:
    return {key: one[key] for key in ("name", "state", "lag_messages", "lag_seconds", "rows_per_second")}


def _print(pipelines: list[dict[str, Any]]) -> None:
    rows = [
        (
            one["name"],
            one["state"],
            number(one["lag_messages"]),
            lag_text(one["lag_seconds"]),
            round(one["rows_per_second"]),
        )
        for one in pipelines
    ]
    print(*table(("NAME", "STATE", "MESSAGES", "TIME", "ROWS/S"), rows), sep="\n", flush=True)
