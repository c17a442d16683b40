"""Write a report of what the lab measured: one HTML page that needs nothing else, and CSV, Markdown and JSON files.

New runs are scored first, with Spark; then DIR/report has the report, and DIR/scores the tables it is made from.
"""

import argparse
from pathlib import Path

from heliograph.cli.pipeline.options import add_spark
from heliograph.cli.shared.waiting import showing
from heliograph.errors import Problem
from heliograph.lab.report import FORMATS, write_report
from heliograph.pipeline.running import is_sparks, sentence

EXAMPLES = """\
  helio lab report
  helio lab report lab-results --format html
  helio lab report results --format csv,json --master spark://host:7077
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio lab report`."""
    parser.add_argument(
        "directory", nargs="?", type=Path, default=Path("lab-results"), metavar="DIR", help="results (lab-results)"
    )
    parser.add_argument(
        "--format",
        type=formats,
        default=FORMATS,
        metavar="FORMATS",
        help=f"which files, with commas between them ({','.join(FORMATS)})",
    )
    add_spark(parser)


def formats(text: str) -> tuple[str, ...]:
    """`html,csv` ..."""
    named = tuple(name.strip() for name in text.split(",") if name.strip())
    unknown = [name for name in named if name not in FORMATS]
    if unknown or not named:
        raise argparse.ArgumentTypeError(f"expected any of {', '.join(FORMATS)}, found {(unknown or [text])[0]!r}")
    return named


def run(args: argparse.Namespace) -> int:
    """Score what is new, then write; prints where the report is."""
    if not (args.directory / "runs").is_dir():
        raise Problem(f"{args.directory}: expected a folder with runs, found none; `helio lab run` makes them")
    with showing("scoring new runs with Spark"):
        score(args)
    with showing("writing the report"):
        files = list(write_report(args.directory, args.format))
    for file in files:
        print(file)
    return 0


def score(args: argparse.Namespace) -> None:
    """Turn raw data of new runs into tables."""
    from heliograph.pipeline.scoring import score_runs  # noqa: PLC0415 - Spark is not needed to read a help text

    try:
        score_runs(args.directory, master=args.master or None, conf=dict(args.conf))
    except Exception as error:
        if is_sparks(error):
            raise Problem(sentence(error)) from error
        raise
