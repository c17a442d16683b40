"""The attributes of objects as options of a command: their keys with dashes, described and checked as declared."""

import argparse
from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from heliograph.errors import InvalidInput
from heliograph.objects import Attribute, without_markdown


def add_option(parser: argparse._ActionsContainer, attribute: Attribute, metavar: str = "") -> None:
    """Declare the option for an attribute; without it, nothing is said of the attribute."""
    flag, text = _flag(attribute), _help(attribute)
    if attribute.type is bool:
        parser.add_argument(flag, dest=attribute.field, action=argparse.BooleanOptionalAction, default=None, help=text)
    elif issubclass(attribute.type, StrEnum):
        parser.add_argument(flag, dest=attribute.field, choices=[str(choice) for choice in attribute.type], help=text)
    elif attribute.type is str:
        parser.add_argument(flag, dest=attribute.field, metavar=metavar or _metavar(attribute), help=text)
    else:
        parser.add_argument(
            flag, dest=attribute.field, type=attribute.type, metavar=metavar or _metavar(attribute), help=text
        )


def given(args: argparse.Namespace, attributes: Iterable[Attribute]) -> dict[str, Any]:
    """The attributes that options gave values to, by key; a Problem if one may not have its value."""
    found = {}
    for attribute in attributes:
        value = getattr(args, attribute.field, None)
        if value is None:
            continue
        if mistake := attribute.mistake(value):
            raise InvalidInput(f"{_flag(attribute)}: {mistake}")
        found[attribute.key] = value
    return found


def _flag(attribute: Attribute) -> str:
    return f"--{attribute.key.replace('_', '-')}"


def _metavar(attribute: Attribute) -> str:
    if attribute.type is str:
        return "NAME" if "queue" in attribute.key else "TEXT"
    return "SECONDS" if attribute.about.unit == "seconds" else "N"


def _help(attribute: Attribute) -> str:
    about = attribute.about
    number = attribute.type in {int, float}
    parts = [about.unit, attribute.narrowed if number else ""]
    limits = ", ".join(part for part in parts if part)
    text = without_markdown(about.description).removesuffix(".") + (f" ({limits})" if limits else "")
    first = text.partition(" ")[0]
    text = text if first.isupper() else text[0].lower() + text[1:]  # MQTT stays as it is
    return text.replace("%", "%%")
