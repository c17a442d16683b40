"""Measure how long a server is away after kill -9 with very many persistent messages on its queues."""

import argparse

from heliograph.lab.bench import run_restart

EXAMPLES = """\
  helio bench restart
  helio bench restart --messages 50000 --size 256 --target rabbitmq
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio bench restart`."""
    parser.add_argument("--messages", type=int, default=500_000, metavar="N", help="in all (default: %(default)s)")
    parser.add_argument("--target", action="append", default=[], metavar="NAME", help="brokers (default: heliograph)")
    parser.add_argument(
        "--size", type=int, action="append", default=[], metavar="BYTES", help="of messages (default: 256, 2048)"
    )


def run(args: argparse.Namespace) -> int:
    """Measure every size on every broker."""
    run_restart(args.messages, args.target, args.size)
    return 0
