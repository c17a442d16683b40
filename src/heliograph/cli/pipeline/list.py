"""List the pipelines of a server: those of its configuration, and others that have their folder beside its log."""

import argparse
import json

from heliograph.cli.pipeline.figures import lag_text, number
from heliograph.cli.shared.amqp import add_url, management
from heliograph.cli.shared.tables import table

EXAMPLES = """\
  helio pipeline list
  helio pipeline list --url amqp://admin:secret@broker.example.com --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio pipeline list`."""
    add_url(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Ask the server, and print."""
    with management(args.url) as ask:
        pipelines = ask("pipeline-list", {})
    if args.json:
        print(json.dumps(pipelines, indent=2))
        return 0
    rows = [
        (
            one["name"],
            one["state"],
            one["pid"] or "-",
            one["runs"],
            one["source"],
            number(one["batch"]),
            one["rows"],
            round(one["rows_per_second"]),
            number(one["lag_messages"]),
            lag_text(one["lag_seconds"]),
            one["restarts"],
        )
        for one in pipelines
    ]
    headings = ("NAME", "STATE", "PID", "RUNS", "SOURCE", "BATCH", "ROWS", "ROWS/S", "LAG", "LAG TIME", "RESTARTS")
    for line in table(headings, rows):
        print(line)
    return 0
