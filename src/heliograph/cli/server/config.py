"""Check a configuration file, show the configuration in force as a file that loads again, or print what keys mean."""

import argparse
from pathlib import Path

from heliograph.cli.server.config_reference import reference, table
from heliograph.objects import document, with_tables
from heliograph.server import Config, PasswordFile, load, tls_context


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio config`."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    check = actions.add_parser("check", help="tell every mistake in the file and in the files that it names")
    show = actions.add_parser("show", help="print the configuration in force, defaults included, with explanations")
    reference = actions.add_parser("reference", help="print what every key means, as Markdown")
    reference.add_argument(
        "files",
        nargs="*",
        type=Path,
        metavar="FILE",
        help="write the tables into these files instead, after each line <!-- table: NAME -->",
    )
    for action in (check, show):
        action.add_argument("file", nargs="?", type=Path, metavar="FILE", help="the defaults when left out")


def run(args: argparse.Namespace) -> int:
    """Do what the arguments ask for; mistakes in the file are a Problem."""
    if args.action == "reference":
        _write_reference(args.files)
        return 0
    config = load(args.file)
    if args.action == "show":
        print(document(config), end="")
    else:
        _check_named_files(config)
        print(f"{args.file or 'defaults'}: ok")
        for warning in config.warnings:
            print(f"{args.file or 'defaults'}: warning: {warning}")
    return 0


def _write_reference(files: list[Path]) -> None:
    if not files:
        print(reference(), end="")
    for file in files:
        before = file.read_text("utf-8")
        after = with_tables(before, table)
        if after != before:
            file.write_text(after, "utf-8")


def _check_named_files(config: Config) -> None:
    """Read what the server would read when it starts: a Problem now is better than one then."""
    if config.access.password_file:
        PasswordFile.load(config.access.password_file)
    for listener in (*config.listeners, *(one for manager in config.queue_managers for one in manager.listeners)):
        if listener.encrypted:
            tls_context(listener)
