"""A broker in memory, just large enough for a client to be tested against: it does what it is told and keeps a record.

It knows queues (by address, made on first use), topics (subscriptions by link name), temporary nodes, transactions and
drains. It does not know selectors: it says that it accepted them.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from heliograph.amqp import (
    ANONYMOUS,
    PLAIN,
    Accepted,
    Attached,
    Authenticate,
    Begun,
    Closed,
    Connection,
    Coordinator,
    Declare,
    Declared,
    Delivery,
    Detached,
    Ended,
    Error,
    Flowed,
    Link,
    Modified,
    Opened,
    Options,
    Receiver,
    Rejected,
    Released,
    Sender,
    Settled,
    Source,
    Target,
    TransactionalState,
    Transfers,
)
from heliograph.amqp.messages.message import decode_message, transaction_request
from heliograph.amqp.messages.message_peek import peek, with_header

CAPABILITIES = ("ANONYMOUS-RELAY", "DELAYED_DELIVERY", "SHARED-SUBS")


@dataclass
class Broker:
    """What outlives connections, and what a test tells it to do."""

    capabilities: tuple[str, ...] = CAPABILITIES
    properties: dict[str, Any] = field(default_factory=dict)
    users: dict[str, str] | None = None
    close_with: Error | None = None
    """Close every connection with this as soon as it is open."""
    refuse: dict[str, Error] = field(default_factory=dict)
    """Attaches to these addresses are refused."""
    end_session: dict[str, Error] = field(default_factory=dict)
    """Attaches to these addresses, and what closes links to them, end the session, as RabbitMQ has it."""
    outcomes: dict[str, Any] = field(default_factory=dict)
    """Messages to these addresses get another outcome than accepted; `None` is none at all."""
    refuse_commit: Error | None = None
    accept_filters: bool = True
    credit: int = 100
    answers: bool = True
    """Whether commits are answered."""

    queues: dict[str, deque[bytes]] = field(default_factory=lambda: defaultdict(deque))
    subscriptions: dict[str, Source] = field(default_factory=dict)
    peers: list["Peer"] = field(default_factory=list)
    attached: list[Link] = field(default_factory=list)
    settlements: list[tuple[int, Any]] = field(default_factory=list)
    """How many deliveries were settled at once, and how, in order."""
    drains: int = 0
    runs: list[int] = field(default_factory=list)
    """How many messages came in one go."""
    names: Any = field(default_factory=lambda: count(1))

    def bodies(self, address: str) -> list[Any]:
        return [decode_message(payload).body.value for payload in self.queues[address]]  # type: ignore[union-attr]

    def put(self, address: str, payload: bytes) -> None:
        self.queues[address].append(payload)
        for name, source in self.subscriptions.items():
            if source.address == address:
                self.queues[f"subscription:{name}"].append(payload)

    def deliver(self) -> None:
        for peer in self.peers:
            peer.deliver()


@dataclass
class _Work:
    """A transaction: what was sent, and what was acknowledged."""

    puts: list[tuple[str, bytes]] = field(default_factory=list)
    gets: list[tuple[str, bytes]] = field(default_factory=list)


class Peer:
    """The broker's end of one connection."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.open: Any = None
        self.gone = False
        mechanisms = (ANONYMOUS, PLAIN) if broker.users is None else (PLAIN,)
        options = Options("small-broker", mechanisms=mechanisms)
        self.engine = Connection(options, server=True)
        self._senders: dict[Sender, str] = {}
        self._held: dict[tuple[Sender, int], bytes] = {}
        self._works: dict[bytes, _Work] = {}
        broker.peers.append(self)

    def receive(self, data: bytes) -> None:
        for event in self.engine.receive(data, 0.0):
            self._handle(event)
        self.broker.deliver()

    def take(self) -> bytes:
        self.engine.flush()
        output, self.engine.output = self.engine.output, []
        return b"".join(output)

    def lose(self) -> None:
        """The network connection is gone: what was not settled goes back, first come first."""
        if self.gone:
            return
        self.gone = True
        self.broker.peers.remove(self)
        for (sender, _), payload in reversed(self._held.items()):
            self._give_back(self._senders[sender], payload, failed=True)
        for work in self._works.values():
            for address, payload in reversed(work.gets):
                self._give_back(address, payload, failed=True)

    def _handle(self, event: Any) -> None:
        match event:
            case Authenticate(_, user, password):
                users = self.broker.users
                self.engine.authenticated(users is None or users.get(user) == password, "wrong password")
            case Opened(opened):
                self.open = opened
                self.engine.open(properties=self.broker.properties, offered_capabilities=self.broker.capabilities)
                if self.broker.close_with is not None:
                    self.engine.close(self.broker.close_with)
            case Attached(link) if not link.accepted:
                self._attach(link)
            case Transfers(link, deliveries):
                self._transfers(link, deliveries)
            case Settled(link, first, last, state, _):
                self._settled(link, first, last, state)
            case Detached(link, closed):
                if not self._ends(link):
                    self._detached(link, closed)
            case Ended() | Begun() | Flowed():
                pass
            case Closed():
                self.lose()

    # Links.

    def _ends(self, link: Link) -> bool:
        place = link.source if isinstance(link, Sender) else link.target
        error = self.broker.end_session.get(getattr(place, "address", None) or "")
        if error is not None:
            link.session.end(error)
        return error is not None

    def _attach(self, link: Link) -> None:
        if self._ends(link):
            return
        self.broker.attached.append(link)
        if isinstance(link, Sender):
            self._attach_consumer(link)
        else:
            self._attach_producer(link)

    def _attach_producer(self, link: Link) -> None:
        target = link.target
        assert target is not None
        if isinstance(target, Target) and target.dynamic:
            target = Target(address=f"temporary-{next(self.broker.names)}", capabilities=target.capabilities)
            self.broker.queues[str(target.address)].clear()
        error = self.broker.refuse.get(getattr(target, "address", None) or "")
        if error is not None:
            link.refuse(error)
            return
        link.accept(target=target)
        assert isinstance(link, Receiver)
        link.flow(self.broker.credit)

    def _attach_consumer(self, link: Sender) -> None:
        source = link.source
        name = link.name.partition("|")[0]
        if source is None:
            source = self.broker.subscriptions.get(name)
            if source is None:
                link.refuse(Error("amqp:not-found", f"no subscription {name}"))
                return
        error = self.broker.refuse.get(source.address or "")
        if error is not None:
            link.refuse(error)
            return
        if not self.broker.accept_filters:
            source = Source(address=source.address, capabilities=source.capabilities)
        link.accept(source=source)
        place = str(source.address)
        if "topic" in source.capabilities:
            self.broker.subscriptions.setdefault(name, source)
            place = f"subscription:{name}"
        self._senders[link] = place

    def _detached(self, link: Link, closed: bool) -> None:
        link.detach(closed=closed)
        if isinstance(link, Sender) and link in self._senders:
            for (sender, number), payload in reversed(list(self._held.items())):
                if sender is link:
                    del self._held[sender, number]
                    self._give_back(self._senders[link], payload, failed=False)
            place = self._senders.pop(link)
            if closed and place.startswith("subscription:"):
                self.broker.subscriptions.pop(place.removeprefix("subscription:"), None)
                self.broker.queues.pop(place, None)

    # Messages.

    def deliver(self) -> None:
        for link, place in list(self._senders.items()):
            queue = self.broker.queues[place]
            browsing = (
                link.source is not None
                and link.source.distribution_mode == "copy"
                and "queue" in (link.source.capabilities)
            )
            if browsing:
                self._browse(link, queue)
                continue
            run = [queue.popleft() for _ in range(min(link.credit, len(queue)))]
            if run:
                settled = link.snd_settle_mode == 1
                numbers = link.send(run, settled=settled)
                if not settled:
                    self._held.update(((link, number), payload) for number, payload in zip(numbers, run, strict=True))
            if link.drain:
                self.broker.drains += 1
                link.drained()

    def _browse(self, link: Sender, queue: deque[bytes]) -> None:
        seen = link.context or 0
        run = list(queue)[seen : seen + link.credit]
        link.context = seen + len(run)
        if run:
            link.send(run, settled=True)
        if link.drain:
            self.broker.drains += 1
            link.drained()

    def _transfers(self, link: Receiver, deliveries: list[Delivery]) -> None:
        self.broker.runs.append(len(deliveries))
        if isinstance(link.target, Coordinator):
            for delivery in deliveries:
                self._coordinate(link, delivery)
        else:
            for delivery in deliveries:
                self._put(link, delivery)
        link.flow(self.broker.credit)

    def _put(self, link: Receiver, delivery: Delivery) -> None:
        assert isinstance(link.target, Target)
        address = link.target.address or decode_message(delivery.payload).to
        assert address is not None
        outcome = self.broker.outcomes.get(address, Accepted())
        if outcome is None:
            return
        state = delivery.state
        if isinstance(outcome, Accepted):
            if isinstance(state, TransactionalState):
                self._works[state.txn_id].puts.append((address, delivery.payload))
            else:
                self.broker.put(address, delivery.payload)
        if not delivery.settled:
            if isinstance(state, TransactionalState):
                outcome = TransactionalState(state.txn_id, outcome)
            link.settle(delivery.number, delivery.number, outcome)

    def _settled(self, link: Link, first: int, last: int, state: Any) -> None:
        if not isinstance(link, Sender):
            return
        self.broker.settlements.append((last - first + 1, state))
        work = None
        if isinstance(state, TransactionalState):
            work, state = self._works[state.txn_id], state.outcome
        # What is given back goes to the front one by one, so the last goes first.
        for number in range(first, last + 1) if work is not None else range(last, first - 1, -1):
            payload = self._held.pop((link, number), None)
            if payload is None:
                continue
            if work is not None:
                work.gets.append((self._senders[link], payload))
            elif isinstance(state, Released | Modified) and link in self._senders:
                self._give_back(self._senders[link], payload, failed=isinstance(state, Modified))

    def _give_back(self, place: str, payload: bytes, *, failed: bool) -> None:
        if failed:
            payload = with_header(payload, delivery_count=peek(payload).delivery_count + 1)
        self.broker.queues[place].appendleft(payload)

    # Transactions.

    def _coordinate(self, link: Receiver, delivery: Delivery) -> None:
        question = transaction_request(delivery.payload)
        if isinstance(question, Declare):
            txn_id = b"work-%d" % next(self.broker.names)
            self._works[txn_id] = _Work()
            link.settle(delivery.number, delivery.number, Declared(txn_id))
            return
        if not self.broker.answers:
            return
        work = self._works.pop(question.txn_id)
        state: Any = Accepted()
        if question.fail or self.broker.refuse_commit is not None:
            for address, payload in reversed(work.gets):
                self._give_back(address, payload, failed=True)
            if not question.fail:
                state = Rejected(self.broker.refuse_commit)
        else:
            for address, payload in work.puts:
                self.broker.put(address, payload)
        link.settle(delivery.number, delivery.number, state)


class _Served(asyncio.Protocol):
    """A peer on a socket."""

    def __init__(self, broker: Broker, served: set["_Served"]) -> None:
        self._broker = broker
        self._served = served
        self.transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.peer = Peer(self._broker)
        self._served.add(self)

    def data_received(self, data: bytes) -> None:
        self.peer.receive(data)
        for each in list(self._served):
            each.transport.write(each.peer.take())
        if self.peer.gone:
            self.transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        self._served.discard(self)
        self.peer.lose()


@asynccontextmanager
async def serving(broker: Broker, port: int = 0, **options: Any) -> AsyncIterator[int]:
    """Serve on a port of loopback (0: any), which comes back; at the end, all connections are cut."""
    served: set[_Served] = set()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Served(broker, served), "127.0.0.1", port, **options)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for each in list(served):
            each.transport.abort()
        await server.wait_closed()
