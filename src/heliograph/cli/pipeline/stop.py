"""Stop a pipeline of a server's configuration, when it has finished the batch in hand.

It is stopped until it is started again, or until the server is if its `start` is true. Nothing is lost: it goes on
where it was.
"""

import argparse

from heliograph.cli.pipeline.changing import add_name, change

EXAMPLES = """\
  helio pipeline stop telemetry
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio pipeline stop`."""
    add_name(parser)


def run(args: argparse.Namespace) -> int:
    """Stop it."""
    return change(args, "pipeline-stop", {"stopped", "finished", "failed", "dead"}, ())
