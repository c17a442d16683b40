"""Draw a flow: its nodes, their connections, and the nodes of its subflows.

Connections of failure and catch terminals are red. Dotted ones lead to labels, which are chosen at run time.
"""

import argparse
from pathlib import Path

from heliograph.cli.flow.options import add_flow, load
from heliograph.errors import StorageError
from heliograph.flow.drawing import draw_mermaid, draw_svg, draw_text, graph_of

EXAMPLES = """\
  helio flow show orders
  helio flow show orders --format svg --output orders.svg
  helio flow show orders --format mermaid >> README.md
"""

_FORMATS = {"text": draw_text, "svg": draw_svg, "mermaid": draw_mermaid}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio flow show`."""
    add_flow(parser)
    parser.add_argument(
        "--format", choices=_FORMATS, help="what to make (default: what the name of the file says, else text)"
    )
    parser.add_argument("--output", "-o", type=Path, metavar="FILE", help="file to write to (default: standard output)")


def run(args: argparse.Namespace) -> int:
    """Draw it."""
    picture = _FORMATS[args.format or _by_name(args.output)](graph_of(load(args)))
    if args.output is None:
        print(picture, end="")
        return 0
    try:
        args.output.write_text(picture, "utf-8")
    except OSError as error:
        raise StorageError(f"{args.output} cannot be written: {error.strerror}") from error
    return 0


def _by_name(output: Path | None) -> str:
    endings = {".svg": "svg", ".mmd": "mermaid", ".mermaid": "mermaid"}
    return endings.get(output.suffix, "text") if output is not None else "text"
