"""Measure how fast Spark scores runs of the lab, on a hundred million made-up samples."""

import argparse

from heliograph.pipeline.scoring import SAMPLES, bench_scores

EXAMPLES = """\
  helio bench scores
  helio bench scores --samples 1000000
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio bench scores`."""
    parser.add_argument("--samples", type=int, default=SAMPLES, metavar="N", help=f"how many samples ({SAMPLES:,})")
    parser.add_argument("--folder", metavar="DIR", help="where raw samples are kept meanwhile (a temporary folder)")


def run(args: argparse.Namespace) -> int:
    """Measure; 1 if a percentile is off by more than half a per cent."""
    return bench_scores(args.samples, args.folder)
