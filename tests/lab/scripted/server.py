"""What small servers in a thread share that do with every message what a script says: for testing those who count."""

import selectors
import socket
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Self

Script = Callable[[int, bytes], list[bytes]]
"""Given the number of a message at this server and its packet or payload: what to deliver instead."""


def faithful(_number: int, message: bytes) -> list[bytes]:
    """Deliver what came."""
    return [message]


def swapping(first: int) -> Script:
    """Deliver this message behind the next one."""
    held: list[bytes] = []

    def swap(number: int, message: bytes) -> list[bytes]:
        if number == first:
            held.append(message)
            return []
        return [message, held.pop()] if held else [message]

    return swap


class ScriptedServer(ABC):
    """Accepts connections and reads from them, one after the other, in a thread of its own."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._stop, self._stopped = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        self._thread = threading.Thread(target=self._serve)
        self._clients: set[socket.socket] = set()

    def __enter__(self) -> Self:
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._stopped, selectors.EVENT_READ)
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.close()
        self._thread.join()
        for sock in (*self._clients, self._listener, self._stopped):
            sock.close()
        self._selector.close()

    def _serve(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._stopped:
                    return
                if key.fileobj is self._listener:
                    client, _address = self._listener.accept()
                    self._clients.add(client)
                    self._selector.register(client, selectors.EVENT_READ)
                    self.accepted(client)
                else:
                    self._read(key.fileobj)
            self.end_turn()

    def _read(self, client: socket.socket) -> None:
        try:
            data = client.recv(1 << 20)
        except ConnectionError:
            data = b""
        if data:
            self.received(client, data)
        else:
            self.forget(client)

    def forget(self, client: socket.socket) -> None:
        """Close this connection."""
        self._selector.unregister(client)
        self._clients.discard(client)
        client.close()

    @abstractmethod
    def accepted(self, client: socket.socket) -> None:
        """A client has connected."""

    @abstractmethod
    def received(self, client: socket.socket, data: bytes) -> None:
        """A client has sent these bytes."""

    def end_turn(self) -> None:  # noqa: B027  (most answer at once)
        """All that was there to be read has been read."""
