"""Qpid Proton, driven frame by frame: the engine that the clients in C, C++, Python and others have inside."""

import contextlib
import select
import socket
import time
from collections import deque
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from proton import (
    SSL,
    UNDESCRIBED,
    Array,
    Collector,
    Condition,
    Connection,
    Data,
    Delivery,
    Described,
    Event,
    Link,
    Message,
    SSLDomain,
    Transport,
    symbol,
    ulong,
)
from proton import Terminus as ProtonTerminus

from interop.amqp_letters import UNSUBSCRIBE, Letter, Outcome, Refused, Repeated, Terminus
from running import PATIENCE

SELECTOR = 0x0000468C00000004
NO_LOCAL = 0x0000468C00000003
DECLARE, DISCHARGE, DECLARED, TRANSACTIONAL = 0x31, 0x32, 0x33, 0x34
_OUTCOMES = {0x24: "accepted", 0x25: "rejected", 0x26: "released", 0x27: "modified", DECLARED: "declared"}
_CODES = {name: code for code, name in _OUTCOMES.items()}
_NAMES = {"message_id": "id", "to": "address"}
_numbers = count(1)


class Proton:
    """Makes connections with Proton's engine, which these tests give a socket."""

    name = "proton"

    def connect(self, port: int, **options: Any) -> "ProtonConnection":
        connection = ProtonConnection(port, **options)
        try:
            connection.await_open()
        except Refused:
            connection.cut()
            raise
        return connection

    def close(self) -> None:
        pass


class ProtonConnection:
    """A connection, and its first session. Nothing is read or written but while somebody waits for something."""

    def __init__(
        self,
        port: int,
        *,
        container: str | None = None,
        hostname: str | None = None,
        user: str | None = None,
        password: str | None = None,
        mechanisms: str | None = None,
        authority: Path | None = None,
        certificate: tuple[Path, Path] | None = None,
        idle: int | None = None,
        desired: Sequence[str] = (),
        frame_size: int | None = None,
    ) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.setblocking(False)
        self.transport, self.engine, self._collector = Transport(), Connection(), Collector()
        self._receivers: dict[str, ProtonReceiver] = {}
        self.detached: set[str] = set()
        """Names of links that the server has detached and not closed."""
        engine, transport = self.engine, self.transport
        engine.collect(self._collector)
        engine.container = container or f"proton-{next(_numbers)}"
        engine.hostname = hostname or ("localhost" if authority else None)
        engine.desired_capabilities = [symbol(name) for name in desired]
        if user is not None:
            engine.user, engine.password = user, password
        if user is not None or mechanisms or certificate:
            sasl = transport.sasl()
            sasl.allow_insecure_mechs = True
            sasl.allowed_mechs(mechanisms or ("EXTERNAL" if certificate else "PLAIN"))
        if idle is not None:
            transport.idle_timeout = idle / 1000
        if frame_size is not None:
            transport.max_frame_size = frame_size
        if authority is not None:
            self._tls = SSL(transport, _domain(authority, certificate))
            self._tls.peer_hostname = "localhost"
        transport.bind(engine)
        engine.open()
        self.main = engine.session()
        self.main.incoming_capacity = 1 << 24
        self.main.open()

    # The network

    def pump(self, until: Callable[[], Any], timeout: float = PATIENCE) -> bool:
        """Read and write until something is so; whether it is."""
        by = time.monotonic() + timeout
        self._work()
        while not until():
            left = by - time.monotonic()
            if left <= 0 or not self._connected:
                return bool(until())
            waiting = self.transport.pending() > 0
            select.select([self._socket], [self._socket] if waiting else [], [], min(left, 0.05))
            self._work()
        return True

    @property
    def _connected(self) -> bool:
        return self._socket.fileno() >= 0 and not self.transport.closed

    def _work(self) -> None:
        if not self._connected:
            self._dispatch()
            return
        with contextlib.suppress(BlockingIOError):
            self._read()
        self._dispatch()
        self.transport.tick(time.monotonic())
        with contextlib.suppress(BlockingIOError):
            self._write()
        self._dispatch()

    def _read(self) -> None:
        """Read once, as Proton's own drivers do: it has to see what was read before it sees the end."""
        room = self.transport.capacity()
        if room <= 0:
            return
        try:
            data = self._socket.recv(min(room, 1 << 20))
        except ConnectionResetError:
            data = b""
        if data:
            self.transport.push(data)
        else:
            self.transport.close_tail()

    def _write(self) -> None:
        while (pending := self.transport.pending()) > 0:
            try:
                written = self._socket.send(self.transport.peek(pending))
            except (BrokenPipeError, ConnectionResetError):
                self.transport.close_head()
                return
            self.transport.pop(written)

    def _dispatch(self) -> None:
        while (event := self._collector.peek()) is not None:
            if event.type is Event.DELIVERY and event.link.is_receiver:
                self._receivers[event.link.name].take(event.delivery)
            elif event.type is Event.LINK_REMOTE_DETACH:
                self.detached.add(event.link.name)
            self._collector.pop()

    # The connection

    def await_open(self) -> None:
        """Wait until the server has opened; Refused if it closes instead, or does not let this user in."""
        engine, transport = self.engine, self.transport
        answered = Connection.REMOTE_ACTIVE | Connection.REMOTE_CLOSED
        self.pump(lambda: engine.state & answered or transport.closed or transport.condition)
        properties = engine.remote_properties or {}
        if properties.get("amqp:connection-establishment-failed"):
            self.pump(lambda: engine.state & Connection.REMOTE_CLOSED)
        condition = engine.remote_condition or transport.condition
        if condition:
            raise Refused(condition.name, condition.description or "", condition.info)
        assert engine.state & Connection.REMOTE_ACTIVE, "the server has not opened"
        self.offered = [str(name) for name in engine.remote_offered_capabilities or ()]
        self.properties = properties

    def session(self) -> "ProtonSession":
        session = self.engine.session()
        session.open()
        return ProtonSession(self, session)

    def sender(self, *args: Any, **options: Any) -> "ProtonSender":
        return ProtonSession(self, self.main).sender(*args, **options)

    def receiver(self, *args: Any, **options: Any) -> "ProtonReceiver":
        return ProtonSession(self, self.main).receiver(*args, **options)

    def coordinator(self) -> "ProtonCoordinator":
        return ProtonSession(self, self.main).coordinator()

    def listen(self, receiver: "ProtonReceiver") -> None:
        """Messages on this link are for this receiver."""
        self._receivers[receiver.link.name] = receiver

    def ended(self, timeout: float = PATIENCE) -> str | None:
        """Why the server has closed the connection, once it has; None if it has not."""
        engine = self.engine
        if not self.pump(lambda: engine.state & Connection.REMOTE_CLOSED or self.transport.closed, timeout):
            return None
        condition = engine.remote_condition or self.transport.condition
        return condition.name if condition else ""

    def close(self) -> None:
        if self._connected:
            self.engine.close()
            self.pump(lambda: self.engine.state & Connection.REMOTE_CLOSED)
        self._socket.close()

    def cut(self) -> None:
        """Lose the connection."""
        self._socket.close()


class ProtonSession:
    """A session: what has links."""

    def __init__(self, connection: ProtonConnection, session: Any) -> None:
        self._connection = connection
        self._session = session

    def sender(
        self,
        target: str | Terminus | None,
        *,
        name: str | None = None,
        settled: bool = False,
    ) -> "ProtonSender":
        asked = target if isinstance(target, Terminus) else Terminus(target)
        link = self._session.sender(name or f"sender-{next(_numbers)}")
        _fill(link.target, asked)
        link.snd_settle_mode = Link.SND_SETTLED if settled else Link.SND_UNSETTLED
        link.open()
        return ProtonSender(self._connection, link)

    def receiver(
        self,
        source: str | Terminus,
        *,
        credit: int = 10,
        name: str | None = None,
        settled: bool = False,
        second: bool = False,
    ) -> "ProtonReceiver":
        asked = source if isinstance(source, Terminus) else Terminus(source)
        link = self._session.receiver(name or f"receiver-{next(_numbers)}")
        if asked is UNSUBSCRIBE:
            link.source.type = ProtonTerminus.UNSPECIFIED
        else:
            _fill(link.source, asked)
        if settled:
            link.snd_settle_mode = Link.SND_SETTLED
        if second:
            link.rcv_settle_mode = Link.RCV_SECOND
        link.open()
        return ProtonReceiver(self._connection, link, credit)

    def coordinator(self) -> "ProtonCoordinator":
        link = self._session.sender(f"coordinator-{next(_numbers)}")
        link.target.type = ProtonTerminus.COORDINATOR
        link.target.capabilities.put_object(symbol("amqp:local-transactions"))
        link.snd_settle_mode = Link.SND_UNSETTLED
        link.open()
        return ProtonCoordinator(self._connection, link)

    def end(self) -> None:
        self._session.close()
        self._connection.pump(lambda: self._session.state & Connection.REMOTE_CLOSED)


class ProtonLink:
    """A link that is open on both sides."""

    def __init__(self, connection: ProtonConnection, link: Any) -> None:
        self.connection = connection
        self.link = link
        connection.pump(lambda: link.state & Link.REMOTE_ACTIVE or link.state & Link.REMOTE_CLOSED)
        remote = link.remote_source if link.is_receiver else link.remote_target
        if remote.type == ProtonTerminus.UNSPECIFIED:  # a refusal: its reason follows
            connection.pump(lambda: link.state & Link.REMOTE_CLOSED)
        if link.state & Link.REMOTE_CLOSED:
            condition = link.remote_condition
            link.close()
            raise Refused(condition.name, condition.description or "", condition.info)
        assert link.state & Link.REMOTE_ACTIVE, "the server has not answered"
        self.address, self.longest = remote.address, link.remote_max_message_size
        self.capabilities = [str(name) for name in _items(remote.capabilities)]
        self.filters = [str(name) for entry in _items(remote.filter) for name in entry]

    def ended(self, timeout: float = PATIENCE) -> str | None:
        """Why the server has ended the link, once it has; None if it has not."""
        if not self.connection.pump(lambda: self.link.state & Link.REMOTE_CLOSED, timeout):
            return None
        return self.link.remote_condition.name if self.link.remote_condition else ""

    def close(self) -> None:
        self.link.close()
        assert self.connection.pump(lambda: self.link.state & Link.REMOTE_CLOSED)
        self.link.free()

    def detach(self) -> None:
        self.link.detach()
        assert self.connection.pump(lambda: self.link.name in self.connection.detached)
        self.connection.detached.discard(self.link.name)
        self.link.free()


class ProtonSender(ProtonLink):
    """A link to send on."""

    def send(self, letter: Letter, *, txn: bytes | None = None) -> Outcome:
        """Send, and wait until the server has said what became of it; at once if it is sent settled."""
        return self.outcome(self.give(encoded(letter), txn))

    def send_all(self, letters: Sequence[Letter]) -> list[str]:
        """Send several at once; what became of them."""
        deliveries = [self.give(encoded(letter)) for letter in letters]
        return [self.outcome(delivery).outcome for delivery in deliveries]

    def give(self, payload: bytes, txn: bytes | None = None) -> Delivery:
        """Send as soon as there is credit."""
        link = self.link
        self.connection.pump(lambda: link.credit > 0 or link.state & Link.REMOTE_CLOSED)
        delivery = link.delivery(str(next(_numbers)))
        if txn is not None:
            delivery.local.data = [txn]
            delivery.update(TRANSACTIONAL)
        link.stream(payload)
        link.advance()
        if link.snd_settle_mode == Link.SND_SETTLED:
            delivery.settle()
            self.connection.pump(lambda: self.connection.transport.pending() == 0)
        return delivery

    def outcome(self, delivery: Delivery) -> Outcome:
        """What the server says of a delivery, once it has settled it."""
        link = self.link
        if link.snd_settle_mode == Link.SND_SETTLED:
            return Outcome("")
        self.connection.pump(lambda: delivery.settled or link.state & Link.REMOTE_CLOSED)
        if not delivery.settled:
            condition = link.remote_condition
            return Outcome("", condition.name, condition.description or "")
        state, condition, data = delivery.remote_state, delivery.remote.condition, delivery.remote.data
        delivery.settle()
        if state == TRANSACTIONAL:
            assert data
            return Outcome(_OUTCOMES[int(data[1].descriptor)], txn=bytes(data[0]))
        if state == DECLARED:
            assert data
            return Outcome("declared", txn=bytes(data[0]))
        if condition:
            return Outcome(_OUTCOMES[int(state)], condition.name, condition.description or "")
        return Outcome(_OUTCOMES[int(state)])


class ProtonReceiver(ProtonLink):
    """A link to receive on."""

    def __init__(self, connection: ProtonConnection, link: Any, credit: int) -> None:
        self._inbox: deque[tuple[Delivery, bytes]] = deque()
        self._pieces: list[bytes] = []
        self.link = link
        connection.listen(self)
        super().__init__(connection, link)
        self.credit(credit)

    def take(self, delivery: Delivery) -> None:
        """Something of a message has come, or something about one."""
        link = self.link
        if not delivery.readable:
            return
        if delivery.pending:
            self._pieces.append(link.recv(delivery.pending) or b"")
        if not delivery.partial and not delivery.aborted:
            self._inbox.append((delivery, b"".join(self._pieces)))
            self._pieces = []
            link.advance()

    def get(self, timeout: float = PATIENCE) -> "ProtonDelivery | None":
        """The next message; None if there is none in time."""
        if not self.connection.pump(lambda: self._inbox, timeout):
            return None
        return ProtonDelivery(self, *self._inbox.popleft())

    def credit(self, number: int) -> None:
        self.link.flow(number)
        self.connection.pump(lambda: self.connection.transport.pending() == 0)

    def drain(self) -> None:
        """Wait until the server has sent what it has and taken back the credit."""
        self.link.drain(0)
        assert self.connection.pump(lambda: not self.link.draining())
        assert self.link.credit == self.link.queued
        self.link.drain_mode = False


class ProtonDelivery:
    """A message that has come."""

    def __init__(self, receiver: ProtonReceiver, delivery: Delivery, payload: bytes) -> None:
        self._receiver = receiver
        self._delivery = delivery
        self.settled = delivery.settled
        self.letter = decoded(payload)

    def settle(
        self,
        outcome: str = "accepted",
        *,
        settled: bool = True,
        txn: bytes | None = None,
        error: tuple[str, str] | None = None,
        failed: bool = False,
        undeliverable: bool = False,
        annotations: dict[str, Any] | None = None,
    ) -> None:
        """Say what becomes of it. Not settled: wait until the server has settled."""
        delivery, connection = self._delivery, self._receiver.connection
        if error:
            delivery.local.condition = Condition(*error)
        if annotations:
            delivery.local.annotations = {symbol(key): value for key, value in annotations.items()}
        delivery.local.failed, delivery.local.undeliverable = failed, undeliverable
        if txn is not None:
            delivery.local.data = [txn, Described(ulong(_CODES[outcome]), [])]
            delivery.update(TRANSACTIONAL)
        else:
            delivery.update(_CODES[outcome])
        if not settled:
            assert connection.pump(lambda: delivery.settled)
        delivery.settle()
        connection.pump(lambda: connection.transport.pending() == 0)


class ProtonCoordinator(ProtonSender):
    """A link to the server's coordinator."""

    def declare(self) -> bytes:
        """Begin a transaction."""
        outcome = self.outcome(self.ask(DECLARE, [None]))
        assert outcome.outcome == "declared"
        return outcome.txn

    def discharge(self, txn: bytes, *, fail: bool = False) -> Outcome:
        """Commit it, or roll it back."""
        return self.outcome(self.ask(DISCHARGE, [txn, fail]))

    def ask(self, what: int, fields: list[Any]) -> Delivery:
        """Send a request, and do not wait."""
        return self.give(Message(body=Described(ulong(what), fields)).encode())


def _items(data: Any) -> list[Any]:
    """What stands in a field: an array, a single value or a map."""
    data.rewind()
    if not data.next():
        return []
    found = data.get_object()
    if found is None:
        return []
    return list(found) if isinstance(found, list | tuple) or hasattr(found, "elements") else [found]


def _fill(terminus: Any, asked: Terminus) -> None:
    terminus.address = asked.address
    for_capabilities = [symbol(name) for name in asked.capabilities]
    if for_capabilities:
        terminus.capabilities.put_object(_array(for_capabilities))
    if asked.dynamic:
        terminus.dynamic = True
    if asked.lasting:
        terminus.durability = ProtonTerminus.DELIVERIES
        terminus.expiry_policy = ProtonTerminus.EXPIRE_NEVER
    if asked.copy:
        terminus.distribution_mode = ProtonTerminus.DIST_MODE_COPY
    filters: dict[Any, Any] = {}
    if asked.selector is not None:
        filters[symbol("jms-selector")] = Described(ulong(SELECTOR), asked.selector)
    if asked.no_local:
        filters[symbol("no-local")] = Described(ulong(NO_LOCAL), [])
    if filters:
        terminus.filter.put_object(filters)


def _array(symbols: list[Any]) -> Any:
    return Array(UNDESCRIBED, Data.SYMBOL, *symbols)


def _domain(authority: Path, certificate: tuple[Path, Path] | None) -> SSLDomain:
    domain = SSLDomain(SSLDomain.MODE_CLIENT)
    domain.set_trusted_ca_db(str(authority))
    domain.set_peer_authentication(SSLDomain.VERIFY_PEER_NAME, str(authority))
    if certificate is not None:
        domain.set_credentials(str(certificate[0]), str(certificate[1]), None)
    return domain


def encoded(letter: Letter) -> bytes:
    """A message as Proton writes it."""
    made = Message()
    for key, value in vars(letter).items():
        if key in ("body", "annotations") or value in (None, {}):
            continue
        setattr(made, _NAMES.get(key, key), value / 1000 if key == "ttl" else value)
    made.annotations = {symbol(key): value for key, value in letter.annotations.items()} or None
    made.body = letter.body.whole() if isinstance(letter.body, Repeated) else letter.body
    made.inferred = isinstance(made.body, bytes)
    return made.encode()


def decoded(payload: bytes) -> Letter:
    """A message as Proton reads it."""
    read = Message()
    read.decode(payload)
    letter = Letter(_plain(read.body), annotations={str(key): value for key, value in (read.annotations or {}).items()})
    for key in vars(letter):
        if key not in ("body", "annotations"):
            setattr(letter, key, _plain(getattr(read, _NAMES.get(key, key))))
    letter.ttl = round(read.ttl * 1000) or None
    letter.content_type = (
        None if read.content_type == "None" else read.content_type
    )  # as Proton writes what is not there
    letter.group_sequence = read.group_sequence or None
    letter.properties = dict(read.properties or {})
    return letter


def _plain(value: Any) -> Any:
    return bytes(value) if isinstance(value, memoryview) else value
