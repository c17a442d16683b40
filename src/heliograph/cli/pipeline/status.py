"""Show all there is to know of a pipeline: what it runs, how much it has done, and what went wrong last."""

import argparse
import json
from typing import Any

from heliograph.cli.pipeline.figures import find, lag_text, number, when
from heliograph.cli.shared.amqp import add_url, management
from heliograph.cli.shared.tables import facts

EXAMPLES = """\
  helio pipeline status telemetry
  helio pipeline status telemetry --json | jq .offsets
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio pipeline status`."""
    parser.add_argument("name", metavar="NAME", help="the pipeline")
    add_url(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Ask the server, and print."""
    with management(args.url) as ask:
        pipeline = find(ask, args.name)
    for line in [json.dumps(pipeline, indent=2)] if args.json else facts(_for_people(pipeline)):
        print(line)
    return 0


def _for_people(pipeline: dict[str, Any]) -> dict[str, Any]:
    offsets = [
        f"{stream} {partition}: {offset}"
        for stream, partitions in pipeline["offsets"].items()
        for partition, offset in sorted(partitions.items(), key=lambda pair: int(pair[0]))
    ]
    return {
        "name": pipeline["name"],
        "state": pipeline["state"],
        "configured": pipeline["configured"],
        "runs": pipeline["runs"],
        "source": pipeline["source"],
        "pid": pipeline["pid"] or "-",
        "since": when(pipeline["since"]) or "-",
        "last news": when(pipeline["updated"]) or "-",
        "batch": number(pipeline["batch"]),
        "rows": pipeline["rows"],
        "rows a second": pipeline["rows_per_second"],
        "next offsets": offsets or "-",
        "lag, messages": number(pipeline["lag_messages"]),
        "lag, time": lag_text(pipeline["lag_seconds"]),
        "restarts": pipeline["restarts"],
        "last error": pipeline["error"] or "-",
    }
