"""Draw what a message costs at each size, from what `helio bench --case 'growth*' --json RESULTS` has written."""

import argparse
from pathlib import Path

from heliograph.lab.bench import write_chart

EXAMPLES = """\
  helio bench --case 'growth*' --json growth.json
  helio bench chart growth.json growth.svg
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio bench chart`."""
    parser.add_argument("results", type=Path, metavar="RESULTS")
    parser.add_argument("chart", type=Path, metavar="CHART.svg")


def run(args: argparse.Namespace) -> int:
    """Read results, draw."""
    write_chart(args.results, args.chart)
    return 0
