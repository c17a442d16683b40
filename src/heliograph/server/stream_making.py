"""Streams made while the server runs: PUT /streams/NAME on the operators' pages."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from heliograph.broker.attributes import filter_mistake, shown
from heliograph.broker.broker import Broker
from heliograph.broker.streams import StreamConflict, StreamOptions, TooManyStreams
from heliograph.errors import Problem
from heliograph.server.http import Answer, refusal
from heliograph.server.stream_pages import StreamPages
from heliograph.server.toml_reading import TableReader

_PATIENCE = 10.0
"""Seconds that the disk may take until the stream is safe."""


class BadStream(Problem):
    """The request does not describe a stream: why."""


class StreamMaking:
    """Answers to PUT below /streams."""

    def __init__(
        self, broker: Broker, soon: Callable[[], None], pages: StreamPages, allowed: Callable[[], bool]
    ) -> None:
        """`soon` has the broker's turn ended soon; `allowed` says whether streams can be made at all."""
        self._broker = broker
        self._soon = soon
        self._pages = pages
        self._allowed = allowed

    async def __call__(self, path: str, body: bytes) -> Answer:
        """Make a stream, and answer when it is safe and readers find it."""
        words = [unquote(word) for word in path.split("/")[2:]]
        if len(words) != 1:
            return refusal(HTTPStatus.NOT_FOUND, f"expected /streams/NAME, found {path}")
        if not self._allowed():
            return refusal(
                HTTPStatus.FORBIDDEN,
                "streams cannot be made here: expected [http] make_streams = true in the server's configuration",
            )
        try:
            is_new = await self._make(_options(words[0], body, self._broker.limits.topic_levels))
        except BadStream as why:
            return refusal(HTTPStatus.BAD_REQUEST, str(why))
        except StreamConflict as why:
            return refusal(HTTPStatus.CONFLICT, str(why))
        except TooManyStreams as why:
            return refusal(HTTPStatus.INSUFFICIENT_STORAGE, str(why))
        except (Problem, TimeoutError) as why:
            trouble = str(why) or (self._broker.store and self._broker.store.trouble) or "the disk does not answer"
            return refusal(HTTPStatus.SERVICE_UNAVAILABLE, f"the stream cannot be stored: {trouble}")
        shown = await self._pages(path, "")
        return replace(shown, status=HTTPStatus.CREATED) if is_new else shown

    async def _make(self, options: StreamOptions) -> bool:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        store = self._broker.store
        assert store is not None
        stream, is_new = store.make_stream(options)
        if is_new:
            self._broker.feed(stream)
        write_index = store.streams.index_of_new(stream)

        def show() -> None:
            try:
                write_index()
            except Problem as problem:
                if not done.done():  # whoever asked may have lost patience
                    done.set_exception(problem)
            else:
                if not done.done():
                    done.set_result(None)

        store.when_safe(show)
        self._soon()
        async with asyncio.timeout(_PATIENCE):
            await done
        return is_new


def _options(name: str, body: bytes, most_levels: int) -> StreamOptions:
    try:
        asked: Any = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadStream(f'expected JSON, as in {{"filter": "plant/#"}}: {error}') from None
    if not isinstance(asked, dict):
        raise BadStream(f'expected an object, as in {{"filter": "plant/#"}}, found {json.dumps(asked)[:100]}')
    if asked.setdefault("name", name) != name:
        raise BadStream(f"name: expected {shown(name)}, as in the path, found {shown(asked['name'])}")
    reader = TableReader(Path())  # there are no files in it
    options = reader.read(StreamOptions, asked)
    if options is None:
        raise BadStream("; ".join(reader.mistakes))
    if mistake := filter_mistake(options.filter, most_levels):
        raise BadStream(f"filter: {mistake}")
    return options
