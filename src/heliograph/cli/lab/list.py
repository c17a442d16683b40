"""List the scenarios of the catalogue, and the systems that they can be run on."""

import argparse

from heliograph.cli.shared.tables import table
from heliograph.lab.scenarios import SOURCES, all_scenarios
from heliograph.lab.targets import choose_systems, system_names

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
    rows = [(one.name, one.document, one.type, one.title) for one in all_scenarios(args.document)]
    for line in table(("NAME", "DOCUMENT", "TYPE", "TITLE"), rows):
        print(line)
    print()
    names = [name for name in system_names() if name != "external"]
    systems = [
        (one.name, one.version() or f"not installed; {one.install_hint}")
        for one in choose_systems(names, [], None, verify=True)
    ]
    for line in table(("TARGET", "VERSION"), [*systems, ("external", "wherever --url says")]):
        print(line)
    return 0
