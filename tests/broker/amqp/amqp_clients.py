"""AMQP clients of a broker without a network: the engine in the client's role, wired to the broker's connection."""

import itertools

from broker.clients import WALL, DurableScene, OpenAuthenticator
from heliograph.amqp import (
    Attached,
    Closed,
    Connection,
    Coordinator,
    Credentials,
    Declare,
    Declared,
    Detached,
    Discharge,
    Options,
    Settled,
    Source,
    Target,
    TransactionalState,
    Transfers,
)
from heliograph.amqp.messages.message import Message, Value, decode_message, encode_message
from heliograph.broker.amqp.connection import AmqpConnection
from heliograph.broker.amqp.host import AmqpHost
from heliograph.broker.core.outlet import Outlet
from heliograph.broker.core.queue_definition import QueueDefinition

ANONYMOUS = Credentials("ANONYMOUS")


def text(content, **fields):
    """A message with this body, encoded."""
    return encode_message(Message(Value(content), **fields))


def body(payload):
    """What is in a message."""
    message = decode_message(payload)
    return message.body.value if isinstance(message.body, Value) else message.body.content


class AmqpScene(DurableScene):
    """A broker that AMQP clients can come to."""

    def __init__(self, directory, **limits):
        self.clients = []
        super().__init__(directory, **limits)

    def _start(self, directory):
        super()._start(directory)
        self.clients = []
        self.host = AmqpHost(self.broker, "server", lambda: self.now + WALL)

    def queue(self, name="q", **attributes):
        """A new queue."""
        queue = self.broker.queues.define(QueueDefinition(name, **attributes))
        self.turn_ends()
        return queue

    def amqp(self, container_id="client", **options):
        """A client with an open connection and a session."""
        client = self.amqp_stranger(container_id, **options)
        client.engine.open()
        client.session = client.engine.begin()
        self.run()
        return client

    def amqp_stranger(self, container_id="client", *, authenticator=None, credentials=ANONYMOUS, **options):
        """A client that has a network connection, and nothing else."""
        client = AmqpClient(
            self, authenticator or OpenAuthenticator(), Options(container_id, credentials=credentials, **options)
        )
        self.clients.append(client)
        return client

    def pass_time(self, seconds):
        super().pass_time(seconds)
        self.run()

    def run(self):
        """Let everybody say what they have to, until nobody has anything to say."""
        while sum(client.exchange() for client in self.clients):
            pass


class AmqpClient:
    """One end of a connection; the broker has the other."""

    def __init__(self, scene, authenticator, options):
        self.scene = scene
        self.engine = Connection(options, server=False)
        self.outlet = Outlet()
        self.connection = AmqpConnection(scene.host, self.outlet, authenticator)
        self.events = []
        self.session = None
        self.reads = True
        self._names = itertools.count(1)

    def exchange(self):
        """Send and receive what there is; whether there was something."""
        self.engine.flush()
        sent, self.engine.output = b"".join(self.engine.output), []
        if sent and not self.outlet.finished:
            self.connection.receive(sent)
        self.scene.turn_ends()
        if not self.reads:
            return bool(sent)
        got, self.outlet.chunks = b"".join(self.outlet.chunks), []
        if self.outlet in self.scene.broker.turn.dirty:
            self.scene.broker.turn.dirty.remove(self.outlet)
        if got:
            self.events += self.engine.receive(got, self.scene.now)
        self.scene.turn_ends()
        return bool(sent or got)

    def take(self, kind):
        """The events of one kind that have come."""
        self.scene.run()
        found = [event for event in self.events if isinstance(event, kind)]
        self.events = [event for event in self.events if not isinstance(event, kind)]
        return found

    def lose(self):
        """The network connection breaks."""
        self.connection.lost()
        self.scene.clients.remove(self)
        self.scene.turn_ends()
        self.scene.run()

    @property
    def error(self):
        """Why the connection was closed."""
        return self.take(Closed)[-1].error

    # Links

    def _name(self):
        return f"link-{next(self._names)}"

    def sender(self, address="q", name=None, *, session=None, capabilities=(), **options):
        """A link on which this client sends."""
        target = address if not isinstance(address, str | None) else Target(address, capabilities=capabilities)
        link = (session or self.session).attach_sender(name or self._name(), target, **options)
        self.scene.run()
        return link

    def receiver(self, address="q", name=None, *, credit=1000, session=None, **options):
        """A link on which this client receives."""
        source = Source(address) if isinstance(address, str) else address
        link = (session or self.session).attach_receiver(name or self._name(), source, **options)
        if credit:
            link.flow(credit)
        self.scene.run()
        return link

    def refusal(self, link):
        """The error with which a link was refused or detached."""
        (detached,) = [event for event in self.take(Detached) if event.link is link]
        return detached.error

    def attached(self, link):
        """Whether a link is there and nobody has complained."""
        return not link.gone and any(event.link is link for event in self.take(Attached))

    # Messages

    def send(self, link, *payloads, **options):
        """Send, and the outcomes of all that were answered."""
        numbers = link.send(payloads, **options)
        return self.outcomes(link, numbers)

    def outcomes(self, link, numbers):
        """What the broker says of these deliveries, in order; those it says nothing of are left out."""
        said = {}
        for event in self.take(Settled):
            if event.link is link:
                said |= dict.fromkeys(range(event.first, event.last + 1), event.state)
        return [said[number] for number in numbers if number in said]

    def messages(self, link):
        """The deliveries that have come on a link."""
        events = self.take(Transfers)
        self.events += [event for event in events if event.link is not link]
        return [delivery for event in events if event.link is link for delivery in event.deliveries]

    def bodies(self, link):
        """What was in the messages that have come on a link."""
        return [body(delivery.payload) for delivery in self.messages(link)]

    # Transactions

    def coordinator(self, **options):
        """A link to the coordinator."""
        return self.sender(Coordinator(), **options)

    def declare(self, link):
        """Begin a transaction; its id."""
        (state,) = self.send(link, encode_message(Message(Value(Declare()))))
        assert isinstance(state, Declared)
        return state.txn_id

    def discharge(self, link, txn_id, *, fail=False):
        """End a transaction; what the coordinator says."""
        (state,) = self.send(link, encode_message(Message(Value(Discharge(txn_id, fail)))))
        return state


def within(txn_id, outcome=None):
    """The state of a delivery, or its outcome, in a transaction."""
    return TransactionalState(txn_id, outcome)
