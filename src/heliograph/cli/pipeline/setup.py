"""Prepare this machine for pipelines: find Java, and keep Spark's classes so that it starts sooner."""

import argparse

EXAMPLES = """\
  helio pipeline setup
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """There is nothing to say."""


def run(args: argparse.Namespace) -> int:
    """Do it, and say what was done."""
    from heliograph.pipeline.session import set_up  # noqa: PLC0415 - Spark is not needed to read a help text

    set_up(lambda line: print(line, flush=True))
    return 0
