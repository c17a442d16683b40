"""A tiny AMQP broker in a thread that delivers messages as a script says."""

import socket
from collections import defaultdict
from contextlib import suppress

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
from lab.scripted.server import Script, ScriptedServer, faithful

CREDIT = 10_000


class QueueBroker(ScriptedServer):
    """Delivers messages to the consumers of their address: of a queue to one, of a topic to all.

    Messages of a unit of work are delivered with its commit. Numbers in `refuse` are rejected instead. A client that
    sends one of those in `cut` loses its connection without an answer.
    """

    def __init__(
        self, script: Script = faithful, refuse: frozenset[int] = frozenset(), cut: frozenset[int] = frozenset()
    ) -> None:
        super().__init__()
        self._script = script
        self._refuse = refuse
        self._cut = cut
        self._connections: dict[socket.socket, Connection] = {}
        self._waiting: dict[Sender, list[bytes]] = {}  # of every consumer
        self._units: dict[bytes, list[tuple[str, bytes]]] = defaultdict(list)
        self._seen = 0
        self.committed = 0

    def accepted(self, client: socket.socket) -> None:
        options = Options("scripted", mechanisms=("ANONYMOUS",))
        self._connections[client] = Connection(options, server=True)

    def received(self, client: socket.socket, data: bytes) -> None:
        connection = self._connections[client]
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
                    self.forget(client)
                    return
            elif isinstance(event, Flowed):
                self._deliver(event.link)

    def forget(self, client: socket.socket) -> None:
        super().forget(client)
        del self._connections[client]

    def end_turn(self) -> None:
        for client, connection in self._connections.items():
            connection.flush()
            if data := b"".join(connection.output):
                connection.output.clear()
                with suppress(ConnectionError):  # the end of the connection is found when it is read
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
        self._deliver_all(messages)
        return Accepted()

    def _coordinate(self, delivery: Delivery) -> Accepted | Declared:
        asked = transaction_request(delivery.payload)
        if isinstance(asked, Declare):
            return Declared(delivery.tag)
        self._deliver_all(self._units.pop(asked.txn_id, []))
        self.committed += 1
        return Accepted()

    def _deliver_all(self, messages: list[tuple[str, bytes]]) -> None:
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
