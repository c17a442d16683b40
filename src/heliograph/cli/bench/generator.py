"""Measure what one process of the load generator can do: there is no broker, so the figures are its own."""

import argparse

from heliograph.lab.bench import measure_generator

EXAMPLES = """\
  helio bench generator
  helio bench generator --seconds 1
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio bench generator`."""
    parser.add_argument("--seconds", type=float, default=5.0, help="measured time of each case (default: 5)")


def run(args: argparse.Namespace) -> int:
    """Measure and print."""
    measure_generator(args.seconds)
    return 0
