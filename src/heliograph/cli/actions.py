"""Commands with actions (`helio flow lint`), each of which is a module that is imported only when it is called."""

import argparse
import importlib
from collections.abc import Mapping, Sequence
from typing import Any


class _ActionParser(argparse.ArgumentParser):
    """The parser of one action, which learns its arguments when it is called."""

    def __init__(self, *, module: str, **options: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **options)
        self._module = module

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        module = importlib.import_module(self._module)
        self.description, self.epilog = module.__doc__, f"examples:\n{module.EXAMPLES}"
        module.add_arguments(self)
        return super().parse_known_args(args, namespace)


def add_actions(
    parser: argparse.ArgumentParser, command: str, actions: Mapping[str, str], *, required: bool = True
) -> None:
    """Declare actions, each with its line of help; unless one is required, the command does something without, too.

    Each is a module heliograph.cli.COMMAND.ACTION with EXAMPLES, add_arguments(parser) and run(args) -> exit status.
    """
    found = parser.add_subparsers(
        dest="action", required=required, metavar="ACTION" if required else "[ACTION]", parser_class=_ActionParser
    )
    for name, text in actions.items():
        found.add_parser(name, help=text, module=f"heliograph.cli.{command}.{name}")


def run_action(command: str, args: argparse.Namespace) -> int:
    """Do what the arguments ask for; the exit status."""
    status: int = importlib.import_module(f"heliograph.cli.{command}.{args.action}").run(args)
    return status
