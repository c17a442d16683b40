"""Write, check, draw, test, run and measure message flows: folders with a flow.yaml, ESQL, models and test cases."""

import argparse

from heliograph.cli import (
    flow_compile,
    flow_lint,
    flow_new,
    flow_profile,
    flow_run,
    flow_show,
    flow_test,
    flow_trace,
)

_ACTIONS = {
    "new": flow_new,
    "lint": flow_lint,
    "show": flow_show,
    "test": flow_test,
    "compile": flow_compile,
    "run": flow_run,
    "trace": flow_trace,
    "profile": flow_profile,
}
"""Each has `HELP` (one line), `EXAMPLES`, add_arguments(parser) and run(args) -> exit status."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio flow`."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, module in _ACTIONS.items():
        made = actions.add_parser(
            name,
            help=module.HELP,
            description=module.__doc__,
            epilog=f"examples:\n{module.EXAMPLES}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(made)


def run(args: argparse.Namespace) -> int:
    """Do what the arguments ask for."""
    status: int = _ACTIONS[args.action].run(args)
    return status
