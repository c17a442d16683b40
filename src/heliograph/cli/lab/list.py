"""List the scenarios of the catalogue, and the systems that they can be run on."""

import argparse

from heliograph.cli.shared.tables import table
from heliograph.lab.scenarios import SOURCES, catalogue
from heliograph.lab.targets import chosen, known_names

EXAMPLES = """\
  helio lab list
  helio lab list --document mq-appliance
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio lab list`."""
    parser.add_argument(
        "--document", default="", metavar="D", help=f"only those of {', '.join(one.name for one in SOURCES)}"
    )


def run(args: argparse.Namespace) -> int:
    """Print."""
    rows = [(one.name, one.document, one.type, one.title) for one in catalogue(args.document)]
    for line in table(("NAME", "DOCUMENT", "TYPE", "TITLE"), rows):
        print(line)
    print()
    names = [name for name in known_names() if name != "external"]
    systems = [
        (one.name, one.version() or f"not installed; {one.remedy}") for one in chosen(names, [], None, verify=True)
    ]
    for line in table(("TARGET", "VERSION"), [*systems, ("external", "wherever --url says")]):
        print(line)
    return 0
