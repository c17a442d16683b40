"""Finding a stream: on a server's pages, or in the directory of its log."""

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote, urlsplit
from zlib import crc32

from heliograph.errors import Problem
from heliograph.log.streams import (
    RemoteStreamReader,
    ServerUnreachable,
    StreamReader,
    StreamSource,
    UnknownStream,
    request_page,
)
from heliograph.pipeline.errors import InvalidOption
from heliograph.pipeline.source.options import SourceOptions

PATIENCE = 60.0
"""Seconds that a server may be away, once it has been there: long enough to be started again."""
_PAUSE = 0.25
_THIS_MACHINE = {"localhost", "127.0.0.1", "::1"}

_T = TypeVar("_T")


def stream_name(options: SourceOptions) -> str:
    """The stream that is read. That of a topic filter has a name that follows from the filter."""
    if options.stream:
        return options.stream
    words = re.sub(r"[^A-Za-z0-9]+", "-", options.topic).strip("-")[:40]
    return (
        f"topic-{words}-{crc32(options.topic.encode()):08x}" if words else f"topic-{crc32(options.topic.encode()):08x}"
    )


def open_stream(options: SourceOptions) -> StreamSource:
    """A reader of the stream; a Problem says why there is none."""
    name = stream_name(options)
    if "://" in options.server:
        return RemoteStreamReader(options.server, name)
    directory = Path(options.server)
    if not directory.is_dir():
        raise InvalidOption(
            f'server: expected a URL or the directory of a log, found "{options.server}", which is neither'
        )
    try:
        return StreamReader(directory, name)
    except UnknownStream:
        if not options.topic:
            raise
        raise InvalidOption(
            f'topic "{options.topic}": there is no stream "{name}" in {directory}, and only a server can make one: '
            "expected its URL as option server"
        ) from None


def open_for_task(options: SourceOptions) -> StreamSource:
    """A reader of the stream that reads the files of a server on this machine itself: half the work for both.

    Who asks for the server by another name than that of the loopback gets what another machine would get.
    """
    reader = open_stream(options)
    if isinstance(reader, RemoteStreamReader) and urlsplit(options.server).hostname in _THIS_MACHINE:
        files = _files_of(reader)
        if files is not None:
            reader.close()
            return files
    return reader


def _files_of(remote: RemoteStreamReader) -> StreamReader | None:
    """The same stream in files that this process can read: a container may have another log in that place, or none."""
    if not (remote.directory and remote.identity):
        return None
    try:
        files = StreamReader(remote.directory, remote.name)
    except (OSError, Problem):
        return None
    if files.identity == remote.identity:
        return files
    files.close()
    return None


def make_stream(options: SourceOptions) -> None:
    """Have the server make the stream of a topic filter, unless it has it. Nothing if a stream is named."""
    if not options.topic or "://" not in options.server:
        return
    path = f"/streams/{quote(stream_name(options), safe='')}"
    try:
        request_page(options.server, path, "PUT", json.dumps({"filter": options.topic}))
    except ServerUnreachable:
        raise
    except Problem as problem:
        raise InvalidOption(f'topic "{options.topic}": {problem}') from None


def patiently(ask: Callable[[], _T]) -> _T:
    """Ask a server that may just be restarting; Unreachable if it does not come back in time."""
    give_up = time.monotonic() + PATIENCE
    while True:
        try:
            return ask()
        except ServerUnreachable as problem:
            if time.monotonic() > give_up:
                raise stayed_away(problem) from None
        time.sleep(_PAUSE)


def stayed_away(problem: ServerUnreachable) -> ServerUnreachable:
    """The text of the error for a server that did not come back."""
    return ServerUnreachable(f"{problem}; it was waited for, {PATIENCE:g} seconds")
