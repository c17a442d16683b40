"""Check a configuration file, or show the configuration in force with all its defaults, as a file that loads again."""

import argparse
from pathlib import Path

from heliograph.objects.toml import document
from heliograph.server.certificates import tls_context
from heliograph.server.config import Config, load
from heliograph.server.passwords import PasswordFile


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio config`."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    check = actions.add_parser("check", help="tell every mistake in the file and in the files that it names")
    show = actions.add_parser("show", help="print the configuration in force, defaults included, with explanations")
    for action in (check, show):
        action.add_argument("file", nargs="?", type=Path, metavar="FILE", help="the defaults when left out")


def run(args: argparse.Namespace) -> int:
    """Do what the arguments ask for; mistakes in the file are a Problem."""
    config = load(args.file)
    if args.action == "show":
        print(document(config), end="")
    else:
        _check_named_files(config)
        print(f"{args.file or 'defaults'}: ok")
        for warning in config.warnings:
            print(f"{args.file or 'defaults'}: warning: {warning}")
    return 0


def _check_named_files(config: Config) -> None:
    """Read what the server would read when it starts: a Problem now is better than one then."""
    if config.access.password_file:
        PasswordFile.load(config.access.password_file)
    for listener in (*config.listeners, *(one for manager in config.queue_managers for one in manager.listeners)):
        if listener.encrypted:
            tls_context(listener)
