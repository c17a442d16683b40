"""Every known way to make a server keep things: each is told in few lines, and takes all that it is given."""

import select
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import count
from typing import Self

from faults.amqp_peer import GREETING, begin, frames, sender_to
from frames import BINARY, PING, frame, request
from heliograph.amqp import Closed, Connection, Coordinator, Credentials, Declare, Detached, Options, Source, Target
from heliograph.amqp.codec.performatives import Attach, Begin, Flow, Open, TransactionalState, Transfer
from heliograph.amqp.engine.sender import Sender
from heliograph.amqp.messages.message import Data, Message, Value, encode_message
from heliograph.mqtt import Connect, Publish, Subscribe, Subscription, Will, encode
from running import RunningServer

PILED = 200 << 20
"""Bytes that each way tries to pile up, many times the budget."""
LONG = 65_000
"""Bytes in a long name."""
MEGABYTE = 1 << 20
LARGE = 3_900_000
"""Bytes in a packet that is nearly as large as one may be."""
_STUCK = 0.3
"""Seconds after which a server that takes nothing more has slowed the attacker down for good."""
_numbers = count()


class Attacker:
    """One connection that sends what it is told, and reads nothing unless it has to."""

    def __init__(self, port: int, first: bytes = b"", *, deaf: bool = False) -> None:
        """`deaf`: the answers are never read."""
        self.socket = socket.socket()
        if deaf:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.connect(("127.0.0.1", port))
        self.socket.setblocking(False)
        self.deaf = deaf
        self.over = False
        """Whether the server has ended the connection, or takes nothing more from it."""
        self.send(first)

    def send(self, data: bytes) -> None:
        """Send as much as the server takes."""
        rest = memoryview(data)
        while rest and not self.over:
            event = self.wait(select.POLLOUT if self.deaf else select.POLLOUT | select.POLLIN)
            if event & select.POLLIN:
                self.read()
            elif event:
                try:
                    rest = rest[self.socket.send(rest) :]
                except OSError:
                    self.over = True
            else:
                self.over = True

    def wait(self, events: int) -> int:
        """Wait for one of these events, for a while; which has come."""
        poll = select.poll()
        poll.register(self.socket, events)
        return next((event for _, event in poll.poll(1000 * _STUCK)), 0)

    def read(self) -> None:
        """Take what has come from the server."""
        try:
            data = self.socket.recv(1 << 18)
        except OSError:
            data = b""
        if data:
            self.took(data)
        else:
            self.over = True

    def took(self, data: bytes) -> None:
        """These bytes have come from the server; nobody looks at them."""


Attack = Callable[[RunningServer], Iterator[Attacker]]
"""Yields attackers, all of whom stay connected, each when it has sent what it has to send."""


def _name(prefix: str = "attacker") -> str:
    return f"{prefix}-{next(_numbers)}"


def _long(prefix: str) -> str:
    return _name(prefix).ljust(LONG, "x")


def _hello(client_id: str = "", *, version: int = 5, will: Will | None = None, **properties: int) -> bytes:
    connect = Connect(client_id or _name(), version, will=will, properties={**properties}, keep_alive=0)
    return encode(connect, version)


def _mqtt(server: RunningServer, *first: bytes, deaf: bool = False, version: int = 5) -> Attacker:
    return Attacker(server.port, _hello(version=version) + b"".join(first), deaf=deaf)


def _subscribe(*filters: str, qos: int = 0) -> bytes:
    return encode(Subscribe(1, tuple(Subscription(one, qos) for one in filters)), 5)


def _until_over(attacker: Attacker, pieces: Iterable[bytes]) -> Attacker:
    sent = 0
    for piece in pieces:
        attacker.send(piece)
        sent += len(piece)
        if attacker.over or sent >= PILED:
            break
    return attacker


# MQTT


def properties_of_retained_messages(server: RunningServer) -> Iterator[Attacker]:
    """Small payloads with four megabytes of properties."""
    long = {"user_property": [("x" * 60_000, "y" * 60_000)] * 32}
    messages = (encode(Publish(_name("kept"), b"1", retain=True, properties=long), 5) for _ in range(100))
    yield _until_over(_mqtt(server), messages)


def topics_of_retained_messages(server: RunningServer) -> Iterator[Attacker]:
    """Topics that are much longer than what is in them."""
    yield _until_over(_mqtt(server), (encode(Publish(_long("kept"), b"1", retain=True), 5) for _ in range(3000)))


def small_retained_messages(server: RunningServer) -> Iterator[Attacker]:
    """So many that what is around them counts more than they do."""
    yield _until_over(_mqtt(server), (encode(Publish(_name("k"), b"1", retain=True), 5) for _ in range(120_000)))


def filters_of_subscriptions(server: RunningServer) -> Iterator[Attacker]:
    """Filters of 65 KB."""
    for _ in range(3):
        yield _until_over(_mqtt(server), (_subscribe(_long("filter")) for _ in range(500)))


def small_subscriptions(server: RunningServer) -> Iterator[Attacker]:
    """As many as each client may have."""
    for _ in range(200):
        yield _mqtt(server, _subscribe(*(_name("f") for _ in range(500))))


def wills(server: RunningServer) -> Iterator[Attacker]:
    """Wills of half a megabyte."""
    will = Will("will", bytes(65_000), properties={"user_property": [("x" * 60_000, "y" * 60_000)] * 3})
    for _ in range(400):
        yield Attacker(server.port, _hello(will=will))


def names_of_sessions(server: RunningServer) -> Iterator[Attacker]:
    """Sessions with long names that stay when their clients go."""
    for _ in range(1500):
        attacker = Attacker(server.port, _hello(_long("client"), session_expiry_interval=3600))
        attacker.wait(select.POLLIN)
        attacker.socket.close()
        yield attacker


def parts_of_packets(server: RunningServer) -> Iterator[Attacker]:
    """Packets of which the last byte never comes."""
    for _ in range(60):
        yield _mqtt(server, encode(Publish("part", bytes(LARGE)), 5)[:-1])


def parts_of_greetings(server: RunningServer) -> Iterator[Attacker]:
    """The same from clients that have not even said who they are."""
    will = Will("will", bytes(65_000), properties={"user_property": [("x" * 60_000, "y" * 60_000)] * 3})
    for _ in range(400):
        yield Attacker(server.port, _hello(will=will)[:-1])


def a_subscriber_that_does_not_read(server: RunningServer) -> Iterator[Attacker]:
    """Messages wait for it, large ones and small ones."""
    topic = _name("deaf")
    yield _mqtt(server, _subscribe(f"{topic}/#"), deaf=True)
    yield _until_over(_mqtt(server), (encode(Publish(f"{topic}/large", bytes(MEGABYTE)), 5) for _ in range(200)))
    small = (encode(Publish(f"{topic}/{number}", b"1"), 5) for number in range(20_000))
    yield _until_over(_mqtt(server), small)


def a_subscriber_that_does_not_acknowledge(server: RunningServer) -> Iterator[Attacker]:
    """What has been sent is kept until it has been acknowledged."""
    for _ in range(3):
        topic = _name("silent")
        yield _mqtt(server, _subscribe(topic, qos=1))
        messages = (encode(Publish(topic, bytes(MEGABYTE), 1, packet_id=n), 5) for n in range(1, 100))
        yield _until_over(_mqtt(server), messages)


def topic_aliases(server: RunningServer) -> Iterator[Attacker]:
    """Sixteen topics of 65 KB for each connection."""
    for _ in range(150):
        aliases = [encode(Publish(_long("alias"), b"", properties={"topic_alias": n}), 5) for n in range(1, 17)]
        yield _mqtt(server, *aliases)


def topics_that_never_come_again(server: RunningServer) -> Iterator[Attacker]:
    """Each of them is looked up, and remembered for the next time."""
    yield _until_over(_mqtt(server), (encode(Publish(_long("once"), b"1"), 5) for _ in range(3000)))


def unreleased_identifiers(server: RunningServer) -> Iterator[Attacker]:
    """QoS 2 messages of MQTT 3, which knows no limit for them, that are never released."""
    packets = b"".join(encode(Publish("qos/2", b"1", 2, packet_id=n), 4) for n in range(1, 65_536))
    for _ in range(30):
        yield _mqtt(server, packets, version=4)


# AMQP


class AmqpAttacker(Attacker):
    """A client that keeps to the protocol, and sends as long as the server gives it credit."""

    def __init__(self, server: RunningServer) -> None:
        self.engine = Connection(Options(_name("container"), credentials=Credentials("ANONYMOUS")), server=False)
        super().__init__(server.port_of("amqp"))
        self.engine.open()
        self.session = self.engine.begin()

    def sender(self, target: Target | Coordinator) -> Sender:
        """A link that the server has given credit for, unless it has refused it."""
        link = self.session.attach_sender(_name("link"), target)
        self.until(lambda: link.credit)
        return link

    def until(self, condition: Callable[[], object]) -> None:
        """Read and write until something is so, or the server does nothing more."""
        while not condition() and not self.over:
            self.engine.flush()
            data, self.engine.output = b"".join(self.engine.output), []
            self.send(data)
            if condition():
                return
            if not self.wait(select.POLLIN):
                self.over = True
                return
            self.read()

    def took(self, data: bytes) -> None:
        for event in self.engine.receive(data, time.monotonic()):
            if isinstance(event, Detached | Closed):
                self.over = True

    def pour(self, link: Sender, message: bytes, number: int, state: TransactionalState | None = None) -> Self:
        """Send so many messages, or as many as the server takes."""
        waiting = self.session.outgoing_unsettled
        while number > 0 and not self.over:
            run = min(number, link.credit, 1000)
            if run:
                link.send([message] * run, state=state)
                number -= run
            self.until(lambda: link.credit and not link.pending and not len(waiting))
        return self


def _message(size: int, *, durable: bool = False) -> bytes:
    return encode_message(Message(Data(bytes(size)), durable=durable))


def messages_in_a_queue(server: RunningServer) -> Iterator[Attacker]:
    """Messages that are not persistent, large ones."""
    attacker = AmqpAttacker(server)
    yield attacker.pour(attacker.sender(Target("q1")), _message(MEGABYTE), 150)


def small_messages_in_a_queue(server: RunningServer) -> Iterator[Attacker]:
    """Many of them, where what is around them counts more than they do."""
    attacker = AmqpAttacker(server)
    yield attacker.pour(attacker.sender(Target("q2")), _message(1), 120_000)


def small_persistent_messages(server: RunningServer) -> Iterator[Attacker]:
    """These are on the disk, but not all of what is known of them."""
    attacker = AmqpAttacker(server)
    yield attacker.pour(attacker.sender(Target("q3")), _message(1, durable=True), 120_000)


def a_subscriber_without_credit(server: RunningServer) -> Iterator[Attacker]:
    """Messages of a topic wait for it."""
    for _ in range(3):
        topic = _name("topic")
        attacker = AmqpAttacker(server)
        link = attacker.session.attach_receiver("r", Source(f"topic://{topic}"))
        attacker.until(lambda link=link: link.remote)
        yield attacker
        yield _until_over(_mqtt(server), (encode(Publish(topic, bytes(MEGABYTE)), 5) for _ in range(100)))


def units_of_work(server: RunningServer) -> Iterator[Attacker]:
    """Transactions that are begun and never end."""
    for _ in range(4):
        attacker = AmqpAttacker(server)
        yield attacker.pour(attacker.sender(Coordinator()), encode_message(Message(Value(Declare()))), 20_000)


def messages_in_a_unit_of_work(server: RunningServer) -> Iterator[Attacker]:
    """Persistent messages that wait for a commit."""
    for _ in range(3):
        attacker = AmqpAttacker(server)
        attacker.pour(attacker.sender(Coordinator()), encode_message(Message(Value(Declare()))), 1)
        state = TransactionalState((1).to_bytes(8, "big"))
        if not attacker.over:
            attacker.pour(attacker.sender(Target("q4")), _message(MEGABYTE, durable=True), 100, state)
        yield attacker


def parts_of_messages(server: RunningServer) -> Iterator[Attacker]:
    """Messages of which more is always to come."""
    part = frames(Transfer(0, 0, b"x", more=True), payload=bytes(60_000))
    for _ in range(5):
        yield _until_over(_amqp(server, sender_to("q1")), [part] * 900)


def tiny_parts_of_messages(server: RunningServer) -> Iterator[Attacker]:
    """The same, in parts of one byte."""
    part = frames(Transfer(0, 0, b"x", more=True), payload=b"x") * 1000
    yield _until_over(_amqp(server, sender_to("q1")), [part] * 200)


def _amqp(server: RunningServer, *attaches: Attach, deaf: bool = False) -> Attacker:
    greeting = GREETING + frames(Open(_name("container")), begin(), *attaches)
    return Attacker(server.port_of("amqp"), greeting, deaf=deaf)


def links(server: RunningServer) -> Iterator[Attacker]:
    """Links with long names."""
    for _ in range(20):
        attaches = (frames(_link(_long("link"), number)) for number in range(200))
        yield _until_over(_amqp(server), attaches)


def properties_of_links(server: RunningServer) -> Iterator[Attacker]:
    """Links with thousands of properties, each of which is an object."""
    properties = {f"p{number}": number for number in range(4000)}
    for _ in range(4):
        attaches = (frames(_link(_name("link"), number, properties)) for number in range(100))
        yield _until_over(_amqp(server), attaches)


def _link(name: str, handle: int, properties: dict[str, int] | None = None) -> Attach:
    target = Target("q1")
    return Attach(name, handle, False, source=Source(), target=target, initial_delivery_count=0, properties=properties)


def temporary_queues(server: RunningServer) -> Iterator[Attacker]:
    """A queue for each link."""
    for _ in range(10):
        attaches = [Attach(_name("link"), n, True, source=Source(dynamic=True), target=Target()) for n in range(1000)]
        yield _until_over(_amqp(server), [frames(*attaches)])


def sessions(server: RunningServer) -> Iterator[Attacker]:
    """AMQP sessions on many connections."""
    begun = b"".join(frames(Begin(None, 0, 100, 100), channel=n) for n in range(1, 256))
    for _ in range(100):
        yield _until_over(_amqp(server), [begun])


def answers_that_are_not_read(server: RunningServer) -> Iterator[Attacker]:
    """Requests to say how much credit there is, without end."""
    asked = frames(Flow(0, 1000, 0, 1000, echo=True)) * 1000
    for _ in range(5):
        yield _until_over(_amqp(server, deaf=True), [asked] * 300)


# WebSocket


def _websocket(server: RunningServer, *, deaf: bool = False) -> Attacker:
    port = server.port_of("ws")
    return Attacker(port, request(port) + frame(_hello()), deaf=deaf)


def pongs_that_are_not_read(server: RunningServer) -> Iterator[Attacker]:
    """Pings, the answers to which nobody reads."""
    pings = frame(bytes(125), PING) * 1000
    for _ in range(8):
        yield _until_over(_websocket(server, deaf=True), [pings] * 400)


def tiny_frames(server: RunningServer) -> Iterator[Attacker]:
    """Frames that carry nothing, or one byte."""
    empty, one = frame(b"", PING) * 100_000, frame(b"\xc0") * 1000
    for _ in range(2):
        yield _until_over(_websocket(server, deaf=True), [empty, one])


def parts_of_frames(server: RunningServer) -> Iterator[Attacker]:
    """Frames of which the last byte never comes, and headers without end."""
    large = (bytes([0x80 | BINARY, 0x80 | 127]) + (5_000_000).to_bytes(8, "big")).ljust(5_000_000, b"\0")
    for _ in range(40):
        yield _until_over(_websocket(server), [large])
    port = server.port_of("ws")
    for _ in range(40):
        yield Attacker(port, request(port)[:-2] + b"X-More: 1234567\r\n" * 100)


# The pages


def pages(server: RunningServer) -> Iterator[Attacker]:
    """Requests of which the end never comes."""
    head = b"PUT /streams/x HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 65536\r\n\r\n"
    for _ in range(400):
        with suppress(OSError):
            yield Attacker(server.port_of("http"), head + bytes(65_000))


ATTACKS: tuple[Attack, ...] = (
    properties_of_retained_messages,
    topics_of_retained_messages,
    small_retained_messages,
    filters_of_subscriptions,
    small_subscriptions,
    wills,
    names_of_sessions,
    parts_of_packets,
    parts_of_greetings,
    a_subscriber_that_does_not_read,
    a_subscriber_that_does_not_acknowledge,
    topic_aliases,
    topics_that_never_come_again,
    unreleased_identifiers,
    messages_in_a_queue,
    small_messages_in_a_queue,
    small_persistent_messages,
    a_subscriber_without_credit,
    units_of_work,
    messages_in_a_unit_of_work,
    parts_of_messages,
    tiny_parts_of_messages,
    links,
    properties_of_links,
    temporary_queues,
    sessions,
    answers_that_are_not_read,
    pongs_that_are_not_read,
    tiny_frames,
    parts_of_frames,
    pages,
)
