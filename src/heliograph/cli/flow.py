"""Write, check, draw, test, run and measure message flows: folders with a flow.yaml, ESQL, models and test cases."""

import argparse
import importlib
from collections.abc import Sequence
from typing import Any

# Each is a module heliograph.cli.flow_NAME with EXAMPLES, add_arguments(parser) and run(args) -> exit status; only the
# one that is called gets imported: a picture needs no databases, and a test no server.
_ACTIONS = {
    "new": "begin a flow: a small one that is complete, with test cases",
    "lint": "check flows, without running anything",
    "show": "draw a flow",
    "test": "run the test cases of a flow, without a server",
    "compile": "show the Python that ESQL, mappings and models become",
    "run": "run a flow beside a server",
    "trace": "send messages through a flow, without a server, and print every step",
    "profile": "print the time that each node takes",
}


class _ActionParser(argparse.ArgumentParser):
    """The parser of one action, which learns its arguments when it is called."""

    def __init__(self, *, action: str, **options: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **options)
        self._action = action

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        module = _module(self._action)
        self.description, self.epilog = module.__doc__, f"examples:\n{module.EXAMPLES}"
        module.add_arguments(self)
        return super().parse_known_args(args, namespace)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio flow`."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION", parser_class=_ActionParser)
    for name, text in _ACTIONS.items():
        actions.add_parser(name, help=text, action=name)


def run(args: argparse.Namespace) -> int:
    """Do what the arguments ask for."""
    status: int = _module(args.action).run(args)
    return status


def _module(action: str) -> Any:
    return importlib.import_module(f"heliograph.cli.flow_{action}")
