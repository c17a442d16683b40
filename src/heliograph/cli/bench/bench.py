"""Measure this server beside other brokers with the same load: CPU per message, losses, memory, latency.

Every load stays on 127.0.0.1 and is bounded in time. Brokers are started fresh for every measurement. Without an
action the cases of --list are measured; actions measure something else.
"""

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path

from heliograph.lab import bench


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `helio bench`."""
    parser.add_argument(
        "--quick", action="store_true", help="a short measurement, about ten minutes; figures are rougher"
    )
    parser.add_argument("--case", action="append", default=[], metavar="NAME", help="only these cases (globs work)")
    parser.add_argument("--target", action="append", default=[], metavar="NAME", help="only these brokers")
    parser.add_argument(
        "--repeat", type=_rounds, metavar="N", help="rounds per case and broker; the median one is shown"
    )
    parser.add_argument("--list", action="store_true", help="list the cases and brokers, measure nothing")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown, when all is done")
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write all figures to this file (default: bench-results/TIME.json)"
    )


def _rounds(text: str) -> int:
    rounds = int(text)
    if rounds < 1:
        raise argparse.ArgumentTypeError("at least one round is needed")
    return rounds


def run(args: argparse.Namespace) -> int:
    """Measure; 1 if our own server failed, or lost or repeated messages."""
    cases = bench.choose_cases(args.case)
    if args.list:
        bench.list_choices(cases)
        return 0
    effort = bench.QUICK if args.quick else bench.FULL
    if args.repeat:
        effort = replace(effort, rounds=args.repeat)
    if not args.target:
        for line in bench.missing_targets(cases):
            print(line, file=sys.stderr)
    results = args.json or Path("bench-results") / time.strftime("%Y%m%dT%H%M%S.json")
    return bench.run_bench(cases, bench.choose_targets(args.target), effort, results, args.markdown)
