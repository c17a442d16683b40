"""The attributes of a queue as options of a command: the keys of `[[queue]]` in the configuration, with dashes."""

import argparse
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from heliograph.errors import Problem
from heliograph.objects.attributes import Setting, settings
from heliograph.server.config_tables import QUEUE_RANGES, QueueConfig

# The name is an argument; topics are bound by the configuration alone.
_NOT_OPTIONS = {"name", "topics"}


def _options() -> Iterator[Setting]:
    return (setting for setting in settings(QueueConfig, QUEUE_RANGES) if setting.key not in _NOT_OPTIONS)


def add_attributes(parser: argparse.ArgumentParser, *, without: frozenset[str] = frozenset()) -> None:
    """Declare an option for each attribute."""
    group = parser.add_argument_group("attributes")
    for setting in _options():
        if setting.key in without:
            continue
        flag = f"--{setting.key.replace('_', '-')}"
        text = setting.help.removesuffix(".").replace("%", "%%")
        if setting.kind is bool:
            group.add_argument(flag, action=argparse.BooleanOptionalAction, default=None, help=text)
        elif issubclass(setting.kind, StrEnum):
            group.add_argument(flag, choices=[str(choice) for choice in setting.kind], help=text)
        elif setting.kind is str:
            group.add_argument(flag, metavar="NAME" if "queue" in setting.key else "TEXT", help=text)
        else:
            metavar = "SECONDS" if setting.kind is float else "N"
            group.add_argument(flag, type=setting.kind, metavar=metavar, help=text)


def given_attributes(args: argparse.Namespace) -> dict[str, Any]:
    """The attributes that were given, by their names in the configuration."""
    found: dict[str, Any] = {}
    for setting in _options():
        value = getattr(args, setting.key, None)
        if value is None:
            continue
        if setting.kind in {int, float} and value not in setting.range:
            flag = f"--{setting.key.replace('_', '-')}"
            raise Problem(f"{flag}: expected {setting.expected}, found {value}")
        found[setting.key] = value
    return found
