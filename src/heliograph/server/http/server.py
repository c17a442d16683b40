"""A small HTTP/1.1 server for the operators' pages: GET and HEAD on some paths and folders, PUT and DELETE on a few.

Theory of operation
1. Each connection is a task: read a request, make the answer, send it, repeat. h11 parses and frames.
2. The number of connections is limited. A connection is *idle* while it waits for (the rest of) a request. When there
   are too many, the one that has been idle longest is closed for a new one; if none is idle, the new one gets 503.
3. A client has `timeout` seconds for each request, and to take each answer.
4. Small pieces of an answer go through asyncio's transport. From the first large piece on, bytes go directly to the
   socket, and parts of files with `sendfile`, `WRITE_SIZE` bytes per turn of the event loop, so that a large answer
   does not hold up messages. The transport's buffer is drained before that, so the order is kept.
5. A connection ends as in `network.closing`: the writing side is shut down, and what still arrives is dropped.
"""

import asyncio
import contextlib
import html
import json
import logging
import os
import socket
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from email.utils import formatdate
from functools import partial
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import h11

from heliograph.log.streams import BodyPiece, FilePart
from heliograph.server.errors import Unavailable
from heliograph.server.logs import RepeatedWarnings
from heliograph.server.network.accepting import Acceptor, tcp_sockets
from heliograph.server.network.closing import LINGER, MOST_BYTES
from heliograph.server.watchdog import Watchdog

log = logging.getLogger(__name__)
warnings = RepeatedWarnings(log)

Page = Callable[[], tuple[str, bytes] | Awaitable[tuple[str, bytes]]]
"""Makes a page on request: its content type and its bytes. A page that takes long is awaitable, and made in slices."""


IDLE_TIMEOUT = 10.0
MAX_REQUEST_HEAD = 16 * 1024
MAX_REQUEST_BODY = 64 * 1024
READ_SIZE = 16 * 1024
WRITE_SIZE = 256 * 1024
MOST_CONNECTIONS = 64
# Connections that give way close in the next turn only: accepting more at once could use up all file descriptors.
_ACCEPTED_AT_ONCE = 4
_BUSY = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\nRetry-After: 1\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a request."""

    status: HTTPStatus
    content_type: str
    body: bytes | Sequence[BodyPiece]
    """One piece, or several that are sent one after the other; their files are closed when the answer has been sent."""
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def pieces(self) -> Sequence[BodyPiece]:
        """The body, as pieces."""
        return [self.body] if isinstance(self.body, bytes) else self.body

    def close(self) -> None:
        """Close the files of the body."""
        for descriptor in {piece.descriptor for piece in self.pieces if isinstance(piece, FilePart)}:
            os.close(descriptor)


def refusal(status: HTTPStatus, message: str, *headers: tuple[str, str], **more: object) -> Answer:
    """An error answer as JSON: a message for people, and fields for programs (`more`)."""
    body = json.dumps({"error": message, **more}).encode() + b"\n"
    return Answer(status, "application/json", body, headers)


Folder = Callable[[str, str], Awaitable[Answer]]
"""Answers for all paths below one: gets the path and the query, both as they are in the URL."""


Taker = Callable[[str, str, bytes], Awaitable[Answer]]
"""Does what a PUT or DELETE below a path asks for: gets path and query as they are in the URL, and the body."""
_LOOKS = ("GET", "HEAD")
_METHODS = {b"GET", b"HEAD", b"PUT", b"DELETE"}


class HttpServer:
    """Serves pages by path, folders by the start of it, and at `/` a list of them unless there is a page for it."""

    def __init__(
        self,
        pages: Mapping[str, Page],
        timeout: float = IDLE_TIMEOUT,
        folders: Mapping[str, Folder] | None = None,
        takers: Mapping[str, Mapping[str, Taker]] | None = None,
        on_error: Callable[[str], None] = log.exception,
        most: Callable[[], int] = lambda: MOST_CONNECTIONS,
        is_own_host: Callable[[str], bool] = lambda _: True,
        watchdog: Watchdog | None = None,
    ) -> None:
        """`timeout` is the time in seconds that a client has for each request, and to take each answer.

        `takers` are by the first part of the path and by method. `on_error` is called in the exception handler when a
        page fails. `is_own_host` tells whether a Host header names this server; other requests are refused. `most`
        returns the limit of connections.
        """
        self._most = most
        self._on_error = on_error
        self._is_own_host = is_own_host
        self._folders = dict(folders or {})
        self._takers = dict(takers or {})
        self._pages: dict[str, Page] = {"/": self._list_of_pages, **pages}
        self._timeout = timeout
        self._watchdog = watchdog or Watchdog()
        self._acceptors: list[Acceptor] = []
        self._connections: set[asyncio.Task[None]] = set()
        self._idle: dict[asyncio.Task[None], None] = {}
        """Connections that wait for a request or the rest of one, longest first."""

    async def start(self, host: str, port: int) -> None:
        """Listen; hosts are as in the configuration file, port 0 is any free one. OSError if it cannot be had."""
        loop = asyncio.get_running_loop()
        self._acceptors = [
            Acceptor(sock, "http", self._take, loop, _ACCEPTED_AT_ONCE) for sock in await tcp_sockets(host, port)
        ]

    def _take(self, fd: int, _address: object) -> None:
        """Serve a new client. At the limit, close the connection that has been idle longest, or answer 503."""
        sock = socket.socket(fileno=fd)
        if len(self._connections) >= self._most():
            silent = next(iter(self._idle), None)
            if silent is None:
                with sock, contextlib.suppress(OSError):
                    sock.send(_BUSY)
                return
            del self._idle[silent]
            self._connections.discard(silent)  # it ends in the next turn
            silent.cancel()
        task = asyncio.ensure_future(self._serve(sock))
        self._connections.add(task)
        self._idle[task] = None
        task.add_done_callback(partial(self._forget, sock))

    def _forget(self, sock: socket.socket, task: asyncio.Task[None]) -> None:
        self._connections.discard(task)
        self._idle.pop(task, None)
        sock.close()  # not closed yet if the task was cancelled before it began

    @property
    def addresses(self) -> list[tuple[str, int]]:
        """Host and port of each socket that is listened on."""
        return [acceptor.socket.getsockname()[:2] for acceptor in self._acceptors]

    def count(self) -> int:
        """How many connections there are at present."""
        return len(self._connections)

    async def close(self) -> None:
        """Stop listening and end all connections."""
        for acceptor in self._acceptors:
            acceptor.close()
        self._acceptors = []
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _serve(self, sock: socket.socket) -> None:
        try:
            reader, writer = await asyncio.open_connection(sock=sock)
        except OSError:  # gone already
            sock.close()
            return
        try:
            await self._converse(reader, writer, sock)
            await _let_client_close(reader, writer)
            writer.close()
            async with asyncio.timeout(self._timeout):
                await writer.wait_closed()
        except OSError:  # a timeout, too
            pass  # the client has gone, or does not respond
        finally:
            writer.transport.abort()  # does nothing where all went well

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, sock: socket.socket) -> None:
        """Answer one request after the other for as long as both sides want to."""
        http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_REQUEST_HEAD)
        writer.transport.set_write_buffer_limits(0)  # `drain` empties the buffer: later pieces may bypass it
        while True:
            wants_body = True
            try:
                async with self._patience():
                    request = await _next_head(http, reader)
                    if request is None:
                        return
                    wants_body = request.method != b"HEAD"
                    body = await _body_of(request, http, reader)
                answer = await self._answer(request, body)
            except h11.RemoteProtocolError as error:
                answer = refusal(HTTPStatus(error.error_status_hint), str(error), ("Connection", "close"))
            try:
                async with asyncio.timeout(self._timeout):
                    await _write(writer, sock, _encode(http, answer, wants_body))
            finally:
                answer.close()
            if http.our_state is not h11.DONE or http.their_state is not h11.DONE:
                return
            http.start_next_cycle()

    @contextlib.asynccontextmanager
    async def _patience(self) -> AsyncIterator[None]:
        """Limit the time for a request; the connection counts as idle until it is complete."""
        task = asyncio.current_task()
        assert task is not None
        self._idle[task] = None
        try:
            async with asyncio.timeout(self._timeout):
                yield
        finally:
            self._idle.pop(task, None)

    async def _answer(self, request: h11.Request, body: bytes) -> Answer:
        host = next((value.decode("latin-1") for name, value in request.headers if name == b"host"), None)
        if host is not None and not self._is_own_host(host):
            warnings.warning("host", "request refused: its Host header is not a name of this server", host=host)
            text = f"{host} is not a known name of this server; if it should be, list it in hosts of [http]"
            return refusal(HTTPStatus.MISDIRECTED_REQUEST, text, ("Connection", "close"))
        try:
            url = urlsplit(request.target.decode())
        except ValueError:
            return refusal(HTTPStatus.BAD_REQUEST, "expected a path, found something else")
        path, start = url.path, "/" + url.path[1:].partition("/")[0]
        takers, method = self._takers.get(start, {}), request.method.decode()
        if method not in (allowed := [*_LOOKS, *takers]):
            # Such a request may have a body, which nobody here will read: the connection cannot be used again.
            headers = (("Allow", ", ".join(allowed)), ("Connection", "close"))
            expected = f"{', '.join(allowed[:-1])} or {allowed[-1]}"
            return refusal(HTTPStatus.METHOD_NOT_ALLOWED, f"expected {expected}, found {method}", *headers)
        self._watchdog.mark(lambda: {"what": f"page {path}"})
        page, folder = self._pages.get(path), self._folders.get(start)
        try:
            if method in takers:
                return await takers[method](path, url.query, body)
            if page is not None:
                made = page()
                return Answer(HTTPStatus.OK, *(await made if isinstance(made, Awaitable) else made))
            if folder is not None:
                return await folder(path, url.query)
            there = ", ".join([*self._pages, *self._folders])
            return refusal(HTTPStatus.NOT_FOUND, f"expected one of {there}, found {path}")
        except Unavailable as why:
            return refusal(HTTPStatus.SERVICE_UNAVAILABLE, str(why))
        except Exception:
            self._on_error(f"the page {path[:200]} could not be made")
            return refusal(HTTPStatus.INTERNAL_SERVER_ERROR, "this page could not be made; the server's log says why")

    def _list_of_pages(self) -> tuple[str, bytes]:
        paths = [html.escape(path) for path in [*self._pages, *self._folders] if path != "/"]
        items = "".join(f'<li><a href="{path}">{path}</a></li>' for path in paths)
        text = (
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>heliograph</title><h1>heliograph</h1>'
            f"<ul>{items}</ul></html>\n"
        )
        return "text/html; charset=utf-8", text.encode()


async def _let_client_close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Drop what the client still sends, such as a body that was too large: a reset might cost it the answer."""
    writer.write_eof()
    left = MOST_BYTES
    async with asyncio.timeout(LINGER):
        while left > 0 and (dropped := await reader.read(READ_SIZE)):
            left -= len(dropped)


async def _next_event(http: h11.Connection, reader: asyncio.StreamReader) -> Any:
    while (event := http.next_event()) is h11.NEED_DATA:
        http.receive_data(await reader.read(READ_SIZE))
    return event


async def _next_head(http: h11.Connection, reader: asyncio.StreamReader) -> h11.Request | None:
    """The head of the next request; None when the client has gone."""
    event = await _next_event(http, reader)
    return event if isinstance(event, h11.Request) else None


async def _body_of(request: h11.Request, http: h11.Connection, reader: asyncio.StreamReader) -> bytes:
    """The complete body of a request; that of an unknown method is not read."""
    body = b""
    while request.method in _METHODS and isinstance(event := await _next_event(http, reader), h11.Data):
        if request.method != b"PUT":
            raise h11.RemoteProtocolError("expected a request without a body")
        body += event.data
        if len(body) > MAX_REQUEST_BODY:
            status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
            raise h11.RemoteProtocolError(f"expected at most {MAX_REQUEST_BODY} bytes", error_status_hint=status)
    return body


async def _write(writer: asyncio.StreamWriter, sock: socket.socket, pieces: Sequence[BodyPiece]) -> None:
    """Write small pieces together; from the first large one on, bypass the transport, which would copy what waits."""
    large = next((number for number, piece in enumerate(pieces) if _is_large(piece)), len(pieces))
    writer.write(b"".join(piece for piece in pieces[:large] if not isinstance(piece, FilePart)))
    await writer.drain()
    if large < len(pieces):
        await _send(sock, pieces[large:])


def _is_large(piece: BodyPiece) -> bool:
    return isinstance(piece, FilePart) or len(piece) > WRITE_SIZE


async def _send(sock: socket.socket, pieces: Sequence[BodyPiece]) -> None:
    """Send whenever the socket has room, a limited number of bytes per turn of the event loop."""
    loop, done = asyncio.get_running_loop(), asyncio.Event()
    failed: list[OSError] = []

    def more() -> None:
        try:
            sending.some()
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            failed.append(error)
        if failed or not sending.left:
            done.set()

    with sock.dup() as own:  # asyncio refuses `add_writer` for a descriptor that a transport uses
        sending = _Sending(own, pieces)
        loop.add_writer(own, more)
        try:
            await done.wait()
        finally:
            loop.remove_writer(own)
    if failed:
        raise ConnectionError(str(failed[0])) from failed[0]


class _Sending:
    """Pieces that are being sent; parts of files are not copied through this process."""

    def __init__(self, sock: socket.socket, pieces: Sequence[BodyPiece]) -> None:
        self._sock = sock
        self.left = deque(piece for piece in pieces if len(piece))
        self._at = 0
        """Bytes of the first piece that have been sent."""

    def some(self) -> None:
        """Send as much as one connection may in a turn; BlockingIOError if there is room for less."""
        room = WRITE_SIZE
        while self.left and room > 0:
            piece = self.left[0]
            size = min(room, len(piece) - self._at)
            if isinstance(piece, FilePart):
                sent = os.sendfile(self._sock.fileno(), piece.descriptor, piece.place + self._at, size)
                if not sent:  # the file was truncated
                    raise ConnectionAbortedError(f"{self._at} of {len(piece)} bytes could be read")
            else:
                sent = self._sock.send(memoryview(piece)[self._at : self._at + size])
            room -= sent
            self._at += sent
            if self._at == len(piece):
                self.left.popleft()
                self._at = 0


def _encode(http: h11.Connection, answer: Answer, wants_body: bool) -> list[BodyPiece]:
    # h11 looks at nothing but their length, so it need not be bytes.
    parts: Sequence[Any] = answer.pieces
    response = h11.Response(
        status_code=answer.status,
        reason=answer.status.phrase.encode(),
        headers=[
            ("Date", formatdate(usegmt=True)),
            ("Content-Type", answer.content_type),
            ("Content-Length", str(sum(map(len, parts)))),
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
            *answer.headers,
        ],
    )
    events: list[h11.Event] = [response, h11.EndOfMessage()]
    if wants_body:
        events[1:1] = [h11.Data(data=part) for part in parts]
    return [piece for event in events for piece in http.send_with_data_passthrough(event) or ()]
