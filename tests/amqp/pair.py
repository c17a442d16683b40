"""Two engines connected in memory, and owners that agree to everything unless a test says otherwise."""

from collections.abc import Callable
from typing import Any, TypeVar

from heliograph.amqp import (
    Attached,
    Authenticate,
    Connection,
    Credentials,
    Detached,
    Event,
    Opened,
    Options,
    Receiver,
    Sender,
    Session,
    Source,
    Target,
    Transfers,
)

E = TypeVar("E")


class Side:
    """An engine, what happened to it, and how its owner answers."""

    def __init__(self, options: Options, *, server: bool) -> None:
        self.connection = Connection(options, server=server)
        self.events: list[Event] = []
        self.answers: dict[type, Callable[[Any], None]] = {
            Authenticate: lambda _: self.handle(self.connection.authenticated(True)),
            Opened: lambda _: self.connection.open(),
            Attached: self._accept,
            Detached: lambda event: event.link.detach(closed=event.closed),
        }

    def _accept(self, event: Attached) -> None:
        event.link.accept()

    def handle(self, events: list[Event]) -> None:
        for event in events:
            self.events.append(event)
            answer = self.answers.get(type(event))
            if answer:
                answer(event)

    def take_output(self) -> bytes:
        self.connection.flush()
        output = b"".join(self.connection.output)
        self.connection.output = []
        return output

    def of(self, kind: type[E]) -> list[E]:
        """The events of one kind so far."""
        return [event for event in self.events if isinstance(event, kind)]

    def last(self, kind: type[E]) -> E:
        return self.of(kind)[-1]

    def payloads(self) -> list[bytes]:
        """Those of all messages that came so far."""
        return [one.payload for event in self.of(Transfers) for one in event.deliveries]


class Pair:
    """A client and a server; `run` carries bytes until both are quiet."""

    def __init__(
        self,
        client: Options | None = None,
        server: Options | None = None,
        cut: Callable[[bytes], list[bytes]] = lambda data: [data],
    ) -> None:
        self.client = Side(client or Options("client", credentials=Credentials("ANONYMOUS")), server=False)
        self.server = Side(server or Options("server"), server=True)
        self.cut = cut

    def run(self) -> None:
        while self._carry(self.client, self.server) | self._carry(self.server, self.client):
            pass

    def _carry(self, giver: Side, taker: Side) -> bool:
        data = giver.take_output()
        for piece in self.cut(data) if data else ():
            taker.handle(taker.connection.receive(piece, 0.0))
        return bool(data)


class Linked(Pair):
    """A pair with a session and a link each way."""

    session: Session
    sender: Sender  # the client's
    receiver: Receiver  # the server's end of it
    consumer: Receiver  # the client's
    producer: Sender  # the server's end of it

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.client.connection.open()
        self.session = self.client.connection.begin()
        self.sender = self.session.attach_sender("to", Target("q"))
        self.consumer = self.session.attach_receiver("from", Source("q"))
        self.run()
        receiver, producer = (event.link for event in self.server.of(Attached))
        assert isinstance(receiver, Receiver)
        assert isinstance(producer, Sender)
        self.receiver, self.producer = receiver, producer

    def give_credit(self, credit: int) -> None:
        """Both ways."""
        self.receiver.flow(credit)
        self.consumer.flow(credit)
        self.run()
