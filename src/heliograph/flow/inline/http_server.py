"""A small HTTP server: one thread for each connection, which waits for the flow's answer."""

import logging
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress

import h11

from heliograph.flow.errors import FlowStopped
from heliograph.flow.inline.http_input import Answer, Request, plain

LOG = logging.getLogger("heliograph.flow")
MOST_CONNECTIONS = 200
LARGEST_BODY = 64 << 20
_IDLE = 30.0
_LONGEST_READ = 60.0
"""Seconds in which a request has to be there as a whole."""
_ROOM = 1 << 16
_LINGER = 5.0
"""Seconds that a client has to close its side after the last answer."""
_DROPPED = 64 << 20
"""Bytes that it may send meanwhile."""


_TOO_LARGE = h11.RemoteProtocolError(f"a body has at most {LARGEST_BODY >> 20} MB", error_status_hint=413)


class HttpServer:
    """Accepts connections and has each request answered by `handle`, which may take its time."""

    def __init__(self, address: str, port: int, handle: Callable[[Request], Answer], *, shared: bool = False) -> None:
        """`shared`: other processes listen on the same port."""
        self._handle = handle
        self._stopped = threading.Event()
        self._connections: set[socket.socket] = set()
        self._threads: set[threading.Thread] = set()
        self._lock = threading.Lock()
        try:
            self._socket = socket.create_server((address, port), reuse_port=shared, backlog=100)
        except OSError as error:
            raise FlowStopped(f"http: cannot listen on {address}:{port}: {error.strerror}") from error
        self.port: int = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, name="flow-http", daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        while not self._stopped.is_set():
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(connection,), name="flow-http-connection", daemon=True)
            with self._lock:
                if len(self._connections) >= MOST_CONNECTIONS or self._stopped.is_set():
                    connection.close()
                    continue
                self._connections.add(connection)
                self._threads.add(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._talk(connection)
                _let_client_close(connection)
        except (OSError, h11.RemoteProtocolError) as error:
            LOG.debug("a connection ended: %s", error)
        finally:
            with self._lock:
                self._connections.discard(connection)
                self._threads.discard(threading.current_thread())

    def _talk(self, connection: socket.socket) -> None:
        machine = h11.Connection(h11.SERVER)
        peer = str(connection.getpeername()[0])
        while not self._stopped.is_set():
            try:
                request = self._read(connection, machine, peer)
            except TimeoutError:
                if machine.our_state is h11.SEND_RESPONSE:
                    self._write(connection, machine, plain(408, "The request did not come in time."), close=True)
                return
            except h11.RemoteProtocolError as error:
                if machine.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
                    self._write(connection, machine, plain(error.error_status_hint, str(error)), close=True)
                return
            if request is None:
                return
            answer = self._answer(request)
            self._write(connection, machine, answer, close=self._stopped.is_set())
            if machine.our_state is not h11.DONE or machine.their_state is not h11.DONE:
                return
            machine.start_next_cycle()

    def _read(self, connection: socket.socket, machine: h11.Connection, peer: str) -> Request | None:
        head: h11.Request | None = None
        body: list[bytes] = []
        size = 0
        end = 0.0
        connection.settimeout(_IDLE)
        while True:
            event = machine.next_event()
            if event is h11.NEED_DATA:
                if end:
                    connection.settimeout(max(0.001, min(_IDLE, end - time.monotonic())))
                if machine.they_are_waiting_for_100_continue:
                    go_on = h11.InformationalResponse(status_code=100, headers=[])
                    connection.sendall(machine.send(go_on) or b"")
                machine.receive_data(connection.recv(_ROOM))
            elif isinstance(event, h11.Request):
                head = event
                end = time.monotonic() + _LONGEST_READ
                _check_length(event)
            elif isinstance(event, h11.Data):
                size += len(event.data)
                if size > LARGEST_BODY:
                    raise _TOO_LARGE
                body.append(bytes(event.data))
            elif isinstance(event, h11.EndOfMessage) and head is not None:
                return _request(head, b"".join(body), peer)
            else:
                return None

    def _answer(self, request: Request) -> Answer:
        try:
            return self._handle(request)
        except Exception:
            LOG.exception("a request could not be handled")
            return plain(500, "The request could not be handled.")

    @staticmethod
    def _write(connection: socket.socket, machine: h11.Connection, answer: Answer, *, close: bool) -> None:
        given = {name.lower() for name in answer.headers}
        headers = [(name, value) for name, value in answer.headers.items() if name.lower() != "content-length"]
        headers.append(("Content-Length", str(len(answer.body))))
        if "date" not in given:
            headers.append(("Date", time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime())))
        if close:
            headers.append(("Connection", "close"))
        data = machine.send(h11.Response(status_code=answer.status, headers=headers)) or b""
        if answer.body:
            data += machine.send(h11.Data(data=answer.body)) or b""
        connection.sendall(data + (machine.send(h11.EndOfMessage()) or b""))

    def stop(self) -> None:
        """Accept nothing more. What was asked may still be answered."""
        self._stopped.set()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(1.0)
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RD)

    def wait(self, seconds: float) -> None:
        """Wait for answers that are on their way."""
        end = time.monotonic() + seconds
        with self._lock:
            threads = list(self._threads)
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))


def _let_client_close(connection: socket.socket) -> None:
    """Drop what the client still sends, maybe a body that was too large: a reset might cost it the answer."""
    connection.shutdown(socket.SHUT_WR)
    end, left = time.monotonic() + _LINGER, _DROPPED
    while left > 0 and (seconds := end - time.monotonic()) > 0:
        connection.settimeout(seconds)
        dropped = len(connection.recv(_ROOM))
        if not dropped:
            return
        left -= dropped


def _check_length(head: h11.Request) -> None:
    for name, value in head.headers:
        if name == b"content-length" and int(value) > LARGEST_BODY:
            raise _TOO_LARGE


def _request(head: h11.Request, body: bytes, peer: str) -> Request:
    path, _, query = head.target.decode("latin-1").partition("?")
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}
    return Request(head.method.decode(), path, query, headers, body, peer)
