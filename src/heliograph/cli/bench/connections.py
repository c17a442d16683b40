"""Measure very many AMQP connections to one server: how fast they come in, and what each takes in memory."""

import argparse

from heliograph.lab.bench import most_connections, run_connections

EXAMPLES = """\
  helio bench connections
  helio bench connections --connections 10000 --target heliograph
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio bench connections`."""
    parser.add_argument(
        "--connections", type=int, default=most_connections(), metavar="N", help="how many (default: %(default)s)"
    )
    parser.add_argument("--target", action="append", default=[], metavar="NAME", help="only these brokers")


def run(args: argparse.Namespace) -> int:
    """Measure each broker."""
    run_connections(args.connections, args.target)
    return 0
