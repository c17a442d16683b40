"""The options of `format("heliograph")` for reading."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from heliograph.common.ports import PAGES_URL
from heliograph.common.suggestions import closest_name
from heliograph.pipeline.errors import InvalidOption
from heliograph.pipeline.source.positions import EARLIEST, LATEST, Position, position_of

FORMATS = ("binary", "text")
_NAMES = (
    "server",
    "stream",
    "topic",
    "startingOffsets",
    "endingOffsets",
    "maxMessagesPerTrigger",
    "minPartitions",
    "failOnDataLoss",
    "format",
)
_BY_LOWER = {name.lower(): name for name in _NAMES}
_STREAMING_ONLY = {"maxMessagesPerTrigger"}


@dataclass(frozen=True)
class SourceOptions:
    """The options of one read."""

    server: str = PAGES_URL
    """URL of the server's pages, or the directory of its log."""
    stream: str = ""
    topic: str = ""
    """A topic filter in place of the name of a stream."""
    start: Position = LATEST
    end: Position = LATEST
    """Where reading ends: at the latest message of the time for a batch, never for a query, unless said."""
    most: int | None = None
    """Messages in a micro-batch."""
    tasks: int = 1
    """Into about as many parts a batch is cut at least, if it is worth it."""
    fail_on_data_loss: bool = True
    format: str = "binary"


def source_options(options: Mapping[str, str], *, streaming: bool | None = None) -> SourceOptions:
    """Parse and check options; a Problem for unknown or invalid ones.

    `streaming` says what the read is for; None if that is not known yet.
    """
    given = _named(options, streaming)
    if bool(given.get("stream")) == bool(given.get("topic")):
        found = "both" if given.get("stream") else "neither"
        raise InvalidOption(f'expected option "stream" (the name of one) or "topic" (a topic filter), found {found}')
    default_start = LATEST if streaming else EARLIEST
    start = position_of("startingOffsets", given["startingOffsets"]) if "startingOffsets" in given else default_start
    end = position_of("endingOffsets", given["endingOffsets"]) if "endingOffsets" in given else LATEST
    if streaming is False and start == LATEST:
        raise InvalidOption('startingOffsets: "latest" leaves nothing to read in a batch; expected an earlier place')
    if end == EARLIEST:
        raise InvalidOption('endingOffsets: "earliest" leaves nothing to read; expected a later place')
    return SourceOptions(
        server=_server(given.get("server", PAGES_URL)),
        stream=given.get("stream", ""),
        topic=given.get("topic", ""),
        start=start,
        end=end,
        most=_number("maxMessagesPerTrigger", given),
        tasks=_number("minPartitions", given) or os.cpu_count() or 1,
        fail_on_data_loss=_choice("failOnDataLoss", given, ("true", "false")) == "true",
        format=_choice("format", given, FORMATS),
    )


def _named(options: Mapping[str, str], streaming: bool | None) -> dict[str, str]:
    """The options by their proper names: Spark ignores upper and lower case."""
    found: dict[str, str] = {}
    for key, value in options.items():
        name = _BY_LOWER.get(key.lower())
        if name is None:
            raise InvalidOption(f'unknown option "{key}"{_suggestion(key)}; options are: {", ".join(_NAMES)}')
        if streaming is False and name in _STREAMING_ONLY:
            raise InvalidOption(
                f'option "{name}" is for streaming reads (spark.readStream), found in a batch read (spark.read)'
            )
        found[name] = value
    return found


def _suggestion(key: str) -> str:
    if key.lower() == "path":
        return ', which is what load("...") means: expected load() without a path, and option "stream"'
    near = closest_name(key, _BY_LOWER.values())
    return f', did you mean "{near}"?' if near else ""


def _server(text: str) -> str:
    if "://" not in text:
        return text
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise InvalidOption(
            f"server: expected the URL of the server's pages, as in {PAGES_URL}, or the directory of its log, "
            f'found "{text}"'
        )
    return text


def _number(name: str, given: Mapping[str, str]) -> int | None:
    text = given.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise InvalidOption(f'{name}: expected a whole number of at least 1, found "{text}"')
    return int(text)


def _choice(name: str, given: Mapping[str, str], choices: tuple[str, ...]) -> str:
    """One of some words, the first unless said."""
    text = given.get(name, choices[0])
    if text.lower() not in choices:
        raise InvalidOption(f'{name}: expected {" or ".join(choices)}, found "{text}"')
    return text.lower()
