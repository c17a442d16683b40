"""Streams made and deleted while the server runs: PUT and DELETE /streams/NAME on the operators' pages."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, unquote

from heliograph.broker import Broker, Store, StreamConflict, StreamKept, StreamOptions, TooManyStreams, filter_mistake
from heliograph.errors import Problem, StorageError
from heliograph.log.streams import unknown_stream
from heliograph.objects import InvalidObject, read_object, shown_value
from heliograph.server.http.server import Answer, refusal
from heliograph.server.http.stream_pages import StreamPages

_PATIENCE = 10.0
"""Seconds that the disk may take until the stream is safe, or gone for good."""


class _Refused(Exception):
    """The request cannot be met: the status of the answer, and why."""

    def __init__(self, status: HTTPStatus, why: str) -> None:
        super().__init__(why)
        self.status = status


def _bad(why: str) -> _Refused:
    return _Refused(HTTPStatus.BAD_REQUEST, why)


class StreamMaking:
    """Answers to PUT and DELETE below /streams."""

    def __init__(
        self, broker: Broker, soon: Callable[[], None], pages: StreamPages, allowed: Callable[[], bool]
    ) -> None:
        """`soon` has the broker's turn ended soon; `allowed` says whether streams can be made and deleted."""
        self._broker = broker
        self._soon = soon
        self._pages = pages
        self._allowed = allowed

    async def make(self, path: str, _query: str, body: bytes) -> Answer:
        """Make a stream, and answer when it is safe and readers find it."""
        try:
            name = self._name(path)
            is_new = await self._make(_options(name, body, self._broker.limits.topic_levels))
        except Exception as error:
            return self._refusal(error)
        shown_value = await self._pages(path, "")
        return replace(shown_value, status=HTTPStatus.CREATED) if is_new else shown_value

    async def delete(self, path: str, query: str, _body: bytes) -> Answer:
        """Delete a stream, and answer when it is gone for good and readers do not find it any more."""
        try:
            name, purge = self._name(path), _purge(query)
            messages = await self._delete(name, purge=purge)
        except Exception as error:
            return self._refusal(error)
        told = json.dumps({"name": name, "messages": messages}).encode() + b"\n"
        return Answer(HTTPStatus.OK, "application/json", told)

    def _name(self, path: str) -> str:
        words = [unquote(word) for word in path.split("/")[2:]]
        if len(words) != 1:
            raise _Refused(HTTPStatus.NOT_FOUND, f"expected /streams/NAME, found {path}")
        if not self._allowed():
            raise _Refused(
                HTTPStatus.FORBIDDEN,
                "streams cannot be made or deleted here: "
                "expected [http] make_streams = true in the server's configuration",
            )
        return words[0]

    def _refusal(self, error: Exception) -> Answer:
        """The answer for a known error; other exceptions are raised again."""
        match error:
            case _Refused():
                return refusal(error.status, str(error))
            case StreamConflict() | StreamKept():
                return refusal(HTTPStatus.CONFLICT, str(error))
            case TooManyStreams():
                return refusal(HTTPStatus.INSUFFICIENT_STORAGE, str(error))
            case Problem() | TimeoutError():
                store = self._broker.store
                trouble = str(error) or (store and store.trouble) or "the disk does not answer"
                return refusal(HTTPStatus.SERVICE_UNAVAILABLE, f"this cannot be stored: {trouble}")
        raise error

    async def _make(self, options: StreamOptions) -> bool:
        store = self._store()
        stream, is_new = store.make_stream(options)
        if is_new:
            self._broker.feed(stream)
        await self._when_safe(store.streams.index_of_new(stream))
        return is_new

    async def _delete(self, name: str, *, purge: bool) -> int:
        store = self._store()
        if name not in store.streams.by_name:
            raise _Refused(HTTPStatus.NOT_FOUND, str(unknown_stream(store.ledger.log.directory, name)))
        if store.trouble:
            raise StorageError(store.trouble)
        stream, messages = store.delete_stream(name, purge=purge)
        self._broker.feed_no_more(stream)
        await self._when_safe(lambda: store.streams.forget_index(stream))
        return messages

    def _store(self) -> Store:
        assert self._broker.store is not None
        return self._broker.store

    async def _when_safe(self, action: Callable[[], None]) -> None:
        """Run an action when everything stored so far is safe, and wait for that."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def act() -> None:
            try:
                action()
            except Problem as problem:
                if not done.done():  # the client may have gone
                    done.set_exception(problem)
            else:
                if not done.done():
                    done.set_result(None)

        self._broker.turn.held.when_safe(act)
        self._soon()
        async with asyncio.timeout(_PATIENCE):
            await done


def _purge(query: str) -> bool:
    """Whether messages are to be deleted, too."""
    asked = dict(parse_qsl(query, keep_blank_values=True))
    purge = asked.pop("purge", "false")
    if asked or purge not in {"true", "false"}:
        raise _bad(f"expected purge=true or purge=false, found {shown_value(query)}")
    return purge == "true"


def _options(name: str, body: bytes, most_levels: int) -> StreamOptions:
    try:
        asked: Any = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise _bad(f'expected JSON, as in {{"filter": "plant/#"}}: {error}') from None
    if not isinstance(asked, dict):
        raise _bad(f'expected an object, as in {{"filter": "plant/#"}}, found {json.dumps(asked)[:100]}')
    if asked.setdefault("name", name) != name:
        raise _bad(f"name: expected {shown_value(name)}, as in the path, found {shown_value(asked['name'])}")
    try:
        options = read_object(StreamOptions, asked)
    except InvalidObject as invalid:
        raise _bad("; ".join(f"{key}: {mistake}" for key, mistake in invalid.mistakes)) from None
    if mistake := filter_mistake(options.filter, most_levels):
        raise _bad(f"filter: {mistake}")
    return options
