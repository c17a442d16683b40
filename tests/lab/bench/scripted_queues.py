"""A tiny AMQP broker in a thread that does as it is told with every message: for testing those who count."""

import selectors
import socket
import threading
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from typing import Self

from heliograph.amqp import (
    Accepted,
    Attached,
    Authenticate,
    Connection,
    Coordinator,
    Declare,
    Declared,
    Delivery,
    Error,
    Flowed,
    Opened,
    Options,
    Rejected,
    Sender,
    TransactionalState,
    Transfers,
)
from heliograph.amqp.messages.message import transaction_request

# Given the number of a message at this broker and its payload: the payloads to deliver instead.
Script = Callable[[int, bytes], list[bytes]]
CREDIT = 10_000


def faithful(_number: int, payload: bytes) -> list[bytes]:
    """Deliver what came."""
    return [payload]


class ScriptedQueues:
    """Hands messages to the consumers of their address: of a queue to one, of a topic to all.

    Messages of a unit of work are delivered with its commit. Numbers in `refuse` are rejected instead. Who sends one of
    those in `cut` loses its connection, and hears nothing of that message.
    """

    def __init__(
        self, script: Script = faithful, refuse: frozenset[int] = frozenset(), cut: frozenset[int] = frozenset()
    ) -> None:
        self._script = script
        self._refuse = refuse
        self._cut = cut
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._stop, self._stopped = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        self._thread = threading.Thread(target=self._serve)
        self._connections: dict[socket.socket, Connection] = {}
        self._waiting: dict[Sender, list[bytes]] = {}  # of every consumer
        self._units: dict[bytes, list[tuple[str, bytes]]] = defaultdict(list)
        self._seen = 0
        self.committed = 0

    def __enter__(self) -> Self:
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._stopped, selectors.EVENT_READ)
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.close()
        self._thread.join()
        for sock in (*self._connections, self._listener, self._stopped):
            sock.close()
        self._selector.close()

    def _serve(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._stopped:
                    return
                if key.fileobj is self._listener:
                    client, _address = self._listener.accept()
                    options = Options("scripted", mechanisms=("ANONYMOUS",))
                    self._connections[client] = Connection(options, server=True)
                    self._selector.register(client, selectors.EVENT_READ)
                else:
                    self._read(key.fileobj)
            self._write()

    def _read(self, client: socket.socket) -> None:
        connection = self._connections[client]
        try:
            data = client.recv(1 << 20)
        except ConnectionError:
            data = b""
        if not data:
            self._forget(client)
            return
        events = connection.receive(data, 0.0)
        while events:
            event = events.pop(0)
            if isinstance(event, Authenticate):
                events = connection.authenticated(True) + events
            elif isinstance(event, Opened):
                connection.open()
            elif isinstance(event, Attached):
                self._attach(event.link)
            elif isinstance(event, Transfers):
                self._take(event)
                if any(number < self._seen for number in self._cut):
                    self._cut = frozenset(number for number in self._cut if number >= self._seen)
                    self._forget(client)
                    return
            elif isinstance(event, Flowed):
                self._deliver(event.link)

    def _forget(self, client: socket.socket) -> None:
        self._selector.unregister(client)
        del self._connections[client]
        client.close()

    def _write(self) -> None:
        for client, connection in self._connections.items():
            connection.flush()
            if data := b"".join(connection.output):
                connection.output.clear()
                with suppress(ConnectionError):  # who has gone meanwhile, is noticed when it is read
                    client.sendall(data)

    def _attach(self, link) -> None:
        link.accept()
        if isinstance(link, Sender):
            self._waiting[link] = []
        else:
            link.flow(CREDIT)

    def _take(self, event: Transfers) -> None:
        for delivery in event.deliveries:
            if isinstance(event.link.target, Coordinator):
                outcome = self._coordinate(delivery)
            elif self._seen in self._refuse:
                self._seen += 1
                outcome = Rejected(Error("lab:refused", ""))
            else:
                outcome = self._put(event.link.target.address, delivery)
            event.link.settle(delivery.number, delivery.number, outcome)
        event.link.flow(CREDIT)

    def _put(self, address: str, delivery: Delivery) -> Accepted | TransactionalState:
        messages = [(address, payload) for payload in self._script(self._seen, delivery.payload)]
        self._seen += 1
        if isinstance(delivery.state, TransactionalState):
            self._units[delivery.state.txn_id] += messages
            return TransactionalState(delivery.state.txn_id, Accepted())
        self._hand_out(messages)
        return Accepted()

    def _coordinate(self, delivery: Delivery) -> Accepted | Declared:
        asked = transaction_request(delivery.payload)
        if isinstance(asked, Declare):
            return Declared(delivery.tag)
        self._hand_out(self._units.pop(asked.txn_id, []))
        self.committed += 1
        return Accepted()

    def _hand_out(self, messages: list[tuple[str, bytes]]) -> None:
        for address, payload in messages:
            consumers = [link for link in self._waiting if link.source.address == address and not link.gone]
            for link in consumers if address.startswith("topic:") else consumers[:1]:
                self._waiting[link].append(payload)
        for link in self._waiting:
            self._deliver(link)

    def _deliver(self, link) -> None:
        if isinstance(link, Sender) and not link.gone:
            waiting = self._waiting[link]
            now, self._waiting[link] = waiting[: link.credit], waiting[link.credit :]
            if now:
                link.send(now)
