"""What the attributes of everything durable may be: names, texts, topic filters and numbers.

Whatever is written to the log is read by every server that starts with it. So it is checked here before it gets there,
wherever it comes from: the configuration, the pages, a management message, a client's link. Each function tells what is
wrong as `expected ..., found ...`, or nothing.
"""

import json
import re
from functools import cache
from typing import Any, get_type_hints

from heliograph.mqtt.errors import ProtocolError
from heliograph.mqtt.strings import check_topic_filter, split_share
from heliograph.objects.bounds import bounds_of

LONGEST_PLAIN_NAME = 200
"""Streams, pipelines and queue managers have folders of their name, and a file name has 255 bytes at most."""
MOST_LEVELS = 1024
"""Levels of a topic filter, whatever the limits of a server are."""
LONGEST_DESCRIPTION = 1024
LONGEST_SELECTOR = 65_535
"""Characters in the selector of a subscription."""

_PLAIN_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{LONGEST_PLAIN_NAME - 1}}}")
_SHOWN = 60


def is_plain_name(name: str) -> bool:
    """Whether this is a name that can be a file's name as well."""
    return bool(_PLAIN_NAME.fullmatch(name))


def plain_name_mistake(name: Any) -> str:
    """What is wrong with the name of something that has a folder of that name."""
    if isinstance(name, str) and is_plain_name(name):
        return ""
    return (
        f'expected letters, digits, "-", "_" and ".", a letter or digit first, at most {LONGEST_PLAIN_NAME}, '
        f"found {shown(name)}"
    )


def text_mistake(text: Any, longest: int) -> str:
    """What is wrong with a text, which is empty or of any characters that UTF-8 has."""
    if not isinstance(text, str):
        return f"expected a string, found {shown(text)}"
    if len(text) > longest:
        return f"expected at most {longest} characters, found {len(text)}: {shown(text)}"
    if "\0" in text or not _has_utf8(text):
        return f"expected text that UTF-8 has, without U+0000, found {shown(text)}"
    return ""


def filter_mistake(topic_filter: Any, most_levels: int = MOST_LEVELS) -> str:
    """What is wrong with a topic filter that messages are collected by."""
    if not isinstance(topic_filter, str):
        return f"expected a topic filter, found {shown(topic_filter)}"
    try:
        check_topic_filter(topic_filter)
        group, _ = split_share(topic_filter)
    except ProtocolError as error:
        return f"expected a topic filter: {error}"
    if group is not None:
        return f"expected a topic filter that is not shared, found {shown(topic_filter)}"
    levels = topic_filter.count("/") + 1
    if levels > most_levels:
        return f"expected a topic filter of at most {most_levels} levels, found {levels}: {shown(topic_filter)}"
    return ""


def number_mistakes(instance: Any) -> list[tuple[str, str]]:
    """Fields of an object that do not hold a number within the bounds that its class declares, and what is wrong."""
    cls: type = type(instance)
    kinds = _types_of(cls)
    return [
        (field, f"expected {'an integer' if kinds[field] is int else 'a number'} {bounds}, found {shown(found)}")
        for field, bounds in bounds_of(cls).items()
        if not is_number(found := getattr(instance, field), kinds[field]) or found not in bounds
    ]


@cache
def _types_of(cls: type) -> dict[str, Any]:
    return get_type_hints(cls)


def is_number(value: Any, kind: type) -> bool:
    """Whether this is a number of a kind; a float may be given as an integer, and true and false are no numbers."""
    return isinstance(value, int if kind is int else int | float) and not isinstance(value, bool)


def shown(value: Any) -> str:
    """A value as an error tells it: not too long, and always printable."""
    if isinstance(value, str):
        text = json.dumps(value[:_SHOWN], ensure_ascii=False) + ("..." if len(value) > _SHOWN else "")
        return text.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, int) and value.bit_length() > 256:
        return "a number with too many digits to show"
    return repr(value)[:_SHOWN]


def _has_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can write
        return False
    return True
