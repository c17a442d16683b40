"""`helio`: picks the sub-command's module and runs it; errors a user can mend become one line and exit status 1."""

import argparse
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from heliograph import __version__
from heliograph.cli.commands import COMMANDS, Action, Command
from heliograph.common import terminal
from heliograph.errors import Problem

_PACKAGE = "heliograph.cli"
_INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it."""


class _ActionParser(argparse.ArgumentParser):
    """The parser of one action, whose module is imported when the action is called."""

    def __init__(self, *, action: str, command: Command, **options: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **options)
        self._action, self._command = action, command

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        action = _load_action(self._action, self._command)
        self.description, self.epilog = action.description, f"examples:\n{action.examples}"
        action.add_arguments(self)
        return super().parse_known_args(args, namespace)


def main(argv: Sequence[str] | None = None) -> int:
    """Run `helio` with these arguments (the process's own by default) and return the exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    terminal.guard()
    try:
        try:
            return _no_command(words) if not words or words[0] not in COMMANDS else _command(words[0], words[1:])
        finally:
            sys.stdout.flush()  # a reader that has gone must be noticed here, not when Python ends
    except BrokenPipeError:  # the reader of our output has gone, as in `helio sub ... | head`
        _drop_output()
        return 0


def _drop_output() -> None:
    """Let what is left in the buffers go nowhere, so that Python does not fail to write it when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _command(name: str, rest: Sequence[str]) -> int:
    command = COMMANDS[name]
    try:
        return _run(name, command, rest)
    except ModuleNotFoundError as missing:
        if not command.extra or str(missing.name).startswith("heliograph"):
            raise
        action = command.actions.get(rest[0]) if rest else None
        extra = action.extra if action is not None and action.extra else command.extra
        print(
            f"helio {name}: the package {str(missing.name).partition('.')[0]} is missing; install the extra: "
            f"pip install 'heliograph[{extra}]' (in a checkout: pip install -e '.[{extra}]')",
            file=sys.stderr,
        )
        return 1
    except Problem as problem:
        print(f"helio {name}: {problem}", file=sys.stderr)
        return 1
    except OSError as error:
        if not error.filename:
            raise
        print(f"helio {name}: cannot use {error.filename}: {(error.strerror or str(error)).lower()}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return _INTERRUPTED


def _run(name: str, command: Command, words: Sequence[str]) -> int:
    module = importlib.import_module(f"{_PACKAGE}.{command.module}")
    # pub and sub follow mosquitto's tools, where -h means the host: there only --help asks for help.
    plain_help = name not in {"pub", "sub"}
    parser = argparse.ArgumentParser(prog=f"helio {name}", description=module.__doc__, add_help=plain_help)
    if not plain_help:
        parser.add_argument("--help", action="help", help="show this help and exit")
    alone = "." in command.module  # a package has only actions
    if command.actions:
        _add_actions(parser, command.actions, required=not alone)
    if alone:
        module.add_arguments(parser)
    args = parser.parse_args(words)
    if command.actions and args.action is not None:
        return _load_action(args.action, command.actions[args.action]).run(args)
    status: int = module.run(args)
    return status


def _add_actions(parser: argparse.ArgumentParser, actions: Mapping[str, Command], *, required: bool) -> None:
    found = parser.add_subparsers(
        dest="action", required=required, metavar="ACTION" if required else "[ACTION]", parser_class=_ActionParser
    )
    for name, command in actions.items():
        found.add_parser(name, help=command.help, action=name, command=command)


def _load_action(name: str, command: Command) -> Action:
    module = importlib.import_module(f"{_PACKAGE}.{command.module}")
    if actions := getattr(module, "ACTIONS", None):
        action: Action = actions[name]
        return action
    return Action(module.__doc__ or "", module.EXAMPLES, module.add_arguments, module.run)


def _no_command(words: Sequence[str]) -> int:
    if words and words[0] in {"-V", "--version"}:
        print(f"helio {__version__}")
        return 0
    asked = not words or words[0] in {"-h", "--help", "help"}
    out = sys.stdout if asked else sys.stderr
    if not asked:
        print(f"helio: unknown command '{words[0]}'\n", file=out)
    print("usage: helio COMMAND [options]   (helio COMMAND --help for one command)\n", file=out)
    for name, command in COMMANDS.items():
        print(f"  {name:8} {command.help}", file=out)
    return 0 if asked else 2


if __name__ == "__main__":
    sys.exit(main())
