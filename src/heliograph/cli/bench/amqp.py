"""Measure what a message costs in the AMQP engine alone, in memory, step by step."""

import argparse

from heliograph.lab.bench import measure_engine

EXAMPLES = """\
  helio bench amqp
"""


def add_arguments(_parser: argparse.ArgumentParser) -> None:
    """It has none."""


def run(_args: argparse.Namespace) -> int:
    """Measure and print."""
    measure_engine()
    return 0
