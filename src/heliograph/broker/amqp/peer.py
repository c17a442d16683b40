"""The state of a connected AMQP client, shared by its links.

Links work on this: those on which the client sends (`incoming`, `coordination`) and receives (`outgoing`), and what
they are attached to. `connection` has the bytes, the order of events, and the beginning and end of it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from heliograph.amqp import Connection as Engine
from heliograph.amqp import Link, Sender
from heliograph.broker.amqp.host import AmqpHost
from heliograph.broker.amqp.transactions import Transactions
from heliograph.broker.core.outlet import Outlet
from heliograph.broker.queues.queue import Queue
from heliograph.broker.queues.refusal import Put, PutSteps

BYTES_AT_ONCE = 1 << 20
"""Bytes of messages that may be waiting to be written before it has to be seen whether the client reads them."""

Answers = list[tuple[Link, int, int, Any]]
"""Links, the first and last delivery on each, and the state that they are settled with."""


class StalledLink(Protocol):
    """A link on which a client receives, and that waits for its session's window."""

    @property
    def link(self) -> Sender:
        """What the engine knows of it."""

    def serve(self) -> None:
        """Send what there is."""


class AmqpPeer(ABC):
    """One client of AMQP."""

    __slots__ = (
        "_answers",
        "_stalled",
        "_talking",
        "account",
        "broker",
        "container_id",
        "ended",
        "engine",
        "host",
        "links",
        "outlet",
        "transactions",
        "writable_bytes",
    )

    def __init__(self, host: AmqpHost, outlet: Outlet, engine: Engine) -> None:
        self.host = host
        self.broker = host.broker
        self.outlet = outlet
        self.engine = engine
        self.container_id = ""
        self.ended = False
        self.writable_bytes = 0
        """Bytes of messages that can be sent before it has to be seen whether the client reads them."""
        self.links: dict[Link, None] = {}
        """Those that lead somewhere: their context is what they lead to."""
        self.account = outlet.account = self.broker.memory.strangers
        """Who pays for what is kept of the connection."""
        self.transactions = Transactions(self.broker.queues)
        self._answers: Answers | None = None
        self._talking = False
        self._stalled: set[StalledLink] = set()

    @abstractmethod
    def in_order(self, action: Callable[[], None]) -> None:
        """Do this when all that the client has sent before has been done."""

    @abstractmethod
    def put_in_steps(self, steps: PutSteps, done: Callable[[Put], None]) -> None:
        """Messages of this client are put while others have their turns; `done` gets the result."""

    @abstractmethod
    def flush(self) -> None:
        """At the end of the turn: move pending frames to the outlet."""

    @abstractmethod
    def go_on(self) -> None:
        """All that there was room for was sent: if it has been written, there is room for more."""

    # Links

    def connect(self, link: Link, context: Any) -> None:
        """Set the handler of events on this link."""
        link.context = context
        self.links[link] = None

    def forget(self, link: Link) -> None:
        """The server has ended a link: later events on it are ignored."""
        link.context = None
        self.links.pop(link, None)

    def made(self, queue: Queue) -> bool:
        """Whether a temporary queue is this client's: it goes with one of its links."""
        return isinstance(queue.creator, Link) and queue.creator.session.connection is self.engine

    # Bytes out

    def talk(self) -> None:
        """There may be something to write at the end of this turn."""
        if not self._talking:
            self._talking = True
            self.host.talk(self)
            outlet = self.outlet
            if outlet.open and not outlet.chunks:  # all that was sent before has been written
                self.writable_bytes = BYTES_AT_ONCE

    def answer_when_safe(self, link: Link, first: int, last: int, state: Any) -> None:
        """Settle these deliveries when this turn is safe."""
        store = self.broker.store
        if store is None:
            link.settle(first, last, state)
            return
        if self._answers is None:
            self._answers = []
            self.broker.turn.held.when_safe(partial(self._answer, self._answers))
        self._answers.append((link, first, last, state))

    def _answer(self, answers: Answers) -> None:
        if self.ended:
            return
        self.talk()
        for link, first, last, state in answers:
            link.settle(first, last, state)

    def sent(self, count: int, size: int) -> None:
        """Messages were sent to the client."""
        self.broker.stats.messages_sent += count
        self.talk()
        self.writable_bytes -= size
        if self.writable_bytes <= 0:
            self.writable_bytes = 0
            self.host.note_full(self)

    def stall(self, link: StalledLink) -> None:
        """A link waits for its session's window."""
        self._stalled.add(link)
