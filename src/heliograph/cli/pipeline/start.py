"""Start a pipeline of a server's configuration that was stopped, and wait until it runs."""

import argparse

from heliograph.cli.pipeline.changing import add_name, change

EXAMPLES = """\
  helio pipeline start telemetry
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio pipeline start`."""
    add_name(parser)


def run(args: argparse.Namespace) -> int:
    """Start it."""
    return change(args, "pipeline-start", {"running", "finished"}, {"waiting"})
