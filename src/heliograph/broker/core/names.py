"""Names and topic filters that may be written to the log.

Whatever is in the log is read by every server that starts with it. So it is checked before it is written, wherever it
comes from: the configuration, the pages, a management message, a client's link. Each function returns what is wrong, as
`expected ..., found ...`, or an empty text.
"""

import re
import secrets
from typing import Any

from heliograph.mqtt import ProtocolError, check_topic_filter, split_share
from heliograph.objects import shown_value

LONGEST_PLAIN_NAME = 200
"""Streams, pipelines and queue managers have folders of their name, and a file name has 255 bytes at most."""
MOST_LEVELS = 1024
"""Levels of a topic filter, whatever the limits of a server are."""
LONGEST_DESCRIPTION = 1024
LONGEST_SELECTOR = 65_535
"""Characters in the selector of a subscription."""

_PLAIN_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{LONGEST_PLAIN_NAME - 1}}}")


def is_plain_name(name: str) -> bool:
    """Whether this is a name that can be a file's name as well."""
    return bool(_PLAIN_NAME.fullmatch(name))


def plain_name_mistake(name: Any) -> str:
    """What is wrong with the name of something that has a folder of that name."""
    if isinstance(name, str) and is_plain_name(name):
        return ""
    return (
        f'expected letters, digits, "-", "_" and ".", a letter or digit first, at most {LONGEST_PLAIN_NAME}, '
        f"found {shown_value(name)}"
    )


def filter_mistake(topic_filter: Any, most_levels: int = MOST_LEVELS) -> str:
    """What is wrong with the topic filter of a stream or binding."""
    if not isinstance(topic_filter, str):
        return f"expected a topic filter, found {shown_value(topic_filter)}"
    try:
        check_topic_filter(topic_filter)
        group, _ = split_share(topic_filter)
    except ProtocolError as error:
        return f"expected a topic filter: {error}"
    if group is not None:
        return f"expected a topic filter that is not shared, found {shown_value(topic_filter)}"
    levels = topic_filter.count("/") + 1
    if levels > most_levels:
        return f"expected a topic filter of at most {most_levels} levels, found {levels}: {shown_value(topic_filter)}"
    return ""


def random_name() -> str:
    """Sixteen hexadecimal digits."""
    return secrets.token_hex(8)
