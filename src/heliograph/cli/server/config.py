"""Check a configuration file, show the configuration in force as a file that loads again, or print what keys mean."""

import argparse
from pathlib import Path

from heliograph.cli.queues.mqsc_attributes import ATTRIBUTES, FLAGS, SYNONYMS, values_text
from heliograph.errors import InvalidInput
from heliograph.objects import Attribute, attribute_table, attributes_by_key, markdown_table, toml_document, with_tables
from heliograph.server import Config, PasswordFile, load_config, tls_context


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio config`."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    check = actions.add_parser("check", help="report all mistakes in the file, and in files that it names")
    show = actions.add_parser("show", help="print the configuration with all defaults and explanations")
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
    config = load_config(args.file)
    if args.action == "show":
        print(toml_document(config), end="")
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


MQSC = "mqsc"
NAMES = (*attributes_by_key(Config), MQSC)
"""Tables of the configuration by their keys, and the attributes of queues in MQSC."""


def table(name: str) -> str:
    """The table of this name, in Markdown."""
    if name == MQSC:
        return _mqsc_table()
    if name not in attributes_by_key(Config):
        raise InvalidInput(f"expected the name of a table ({', '.join(NAMES)}), found {name}")
    return attribute_table(attributes_by_key(Config)[name].type)


def reference() -> str:
    """All tables of the configuration, each with its heading."""
    return "\n".join(
        f"## {_heading(attribute)}\n\n{attribute.about.description}\n\n{table(key)}\n"
        for key, attribute in attributes_by_key(Config).items()
    )


def _heading(attribute: Attribute) -> str:
    return f"[[{attribute.key}]]" if attribute.many else f"[{attribute.key}]"


def _mqsc_table() -> str:
    rows = [(_keywords(keyword), f"`{one.key}`", values_text(one), _kinds(one)) for keyword, one in ATTRIBUTES.items()]
    alone: dict[str, list[str]] = {}
    for word, (attribute, _) in FLAGS.items():
        alone.setdefault(attribute.key, []).append(f"`{word}`")
    attributes = {attribute.key: attribute for attribute, _ in FLAGS.values()}
    rows += [(", ".join(words), f"`{key}`", "none", _kinds(attributes[key])) for key, words in alone.items()]
    return markdown_table(("attribute", "key of `[[queue]]`", "values", "queues"), rows)


def _keywords(keyword: str) -> str:
    return ", ".join(f"`{one}`" for one in (keyword, *(other for other, is_ in SYNONYMS.items() if is_ == keyword)))


def _kinds(attribute: Attribute) -> str:
    return ", ".join(attribute.about.only_for) or "all"
