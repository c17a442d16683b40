"""Measure pipelines on Spark: source, flow, filters in Spark, latency of alerts, sink."""

import argparse
from pathlib import Path

from heliograph.lab.spark import CASES, measure_pipelines

EXAMPLES = """\
  helio bench spark --quick
  helio bench spark --case alerts
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio bench spark`."""
    parser.add_argument("--quick", action="store_true", help="less of everything")
    parser.add_argument("--case", metavar="NAME", action="append", choices=CASES, help=f"one of {', '.join(CASES)}")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write everything there, too")


def run(args: argparse.Namespace) -> int:
    """Measure; 1 if a case failed."""
    return measure_pipelines(args.case or (), args.json, quick=args.quick)
