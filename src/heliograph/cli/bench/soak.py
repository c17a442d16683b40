"""Put a steady durable load on a server for a long time: it must lose nothing, and memory and disk must stop growing.

A run of a few minutes shows that the load works, but no slow leak.
"""

import argparse
import sys
import time
from pathlib import Path

from heliograph.lab.bench import SoakPlan, run_soak
from heliograph.lab.targets import Heliograph


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio soak`."""
    parser.add_argument("--minutes", type=_positive, default=30.0, metavar="N", help="how long (30)")
    parser.add_argument("--rate", type=int, default=2000, metavar="N", help="QoS 1 messages per second (2000)")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="where samples go (bench-results/soak-TIME.csv)")


def run(args: argparse.Namespace) -> int:
    """Run it; 1 when anything was lost or doubled, or the server grew."""
    results = args.csv or Path("bench-results") / time.strftime("soak-%Y%m%dT%H%M%S.csv")
    try:
        return run_soak(SoakPlan(args.minutes * 60, args.rate), results, Heliograph())
    except KeyboardInterrupt:
        print(f"broken off; samples so far: {results}", file=sys.stderr)
        return 130


def _positive(text: str) -> float:
    minutes = float(text)
    if minutes <= 0:
        raise argparse.ArgumentTypeError("expected more than 0 minutes")
    return minutes
