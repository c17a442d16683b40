"""Measure message flows beside published figures: in memory, and from queue to queue."""

import argparse
from pathlib import Path

from heliograph.lab.flows import PEER, compare_with_peer, list_cases, measure_flows

EXAMPLES = """\
  helio bench flows --quick
  helio bench flows --case '10.3.*' --markdown
  helio bench flows --target node-red
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio bench flows`."""
    parser.add_argument("--quick", action="store_true", help="the smallest messages only, and less of them")
    parser.add_argument("--case", metavar="GLOB", action="append", default=[], help="sections or names, such as 10.3.*")
    parser.add_argument("--list", action="store_true", help="show the cases and measure nothing")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write everything there, too")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown at the end")
    parser.add_argument("--target", choices=[PEER], help="measure only this other system, and ours with the same flows")


def run(args: argparse.Namespace) -> int:
    """Measure; 1 if a row failed."""
    if args.list:
        list_cases(args.case, quick=args.quick)
        return 0
    if args.target:
        return compare_with_peer(quick=args.quick)
    return measure_flows(args.case, args.json, quick=args.quick, markdown=args.markdown)
