"""One client's connection: bytes in, broker calls and bytes out. No sockets here; the server feeds and empties it.

States: a connection is *new* until its CONNECT has come, *waiting* while somebody checks the credentials, *open* while
it has a session, and *ended* after that. Only an open one takes packets other than CONNECT.
"""

from enum import Enum
from functools import partial

from heliograph.broker.broker import Broker
from heliograph.broker.core.interfaces import Authenticator
from heliograph.broker.core.memory import Hold
from heliograph.broker.core.outlet import Outlet
from heliograph.broker.core.slices import SLICE, Steps
from heliograph.broker.core.timers import Timer
from heliograph.broker.mqtt import handshake, receipts
from heliograph.broker.mqtt.inbound import forward, note_received, take_span, take_straight
from heliograph.broker.mqtt.peer import QOS0, MqttPeer
from heliograph.broker.mqtt.subscribing import subscribe, unsubscribe
from heliograph.broker.routing.routes import Route
from heliograph.broker.sessions.session import Session
from heliograph.common.pieces import Pieces
from heliograph.mqtt import (
    PacketType,
    Properties,
    ProtocolError,
    Reason,
    check_flags,
    connack_code_v3,
    decode,
    maximum_packet_size,
    packet_bounds,
    packets,
)

# The largest CONNECT has five strings of 64 KB and properties; nobody needs near that before being admitted.
_CONNECT_SIZE = 512 * 1024
# What has come of a packet is charged from so many bytes on; less is part of what a connection takes.
_WORTH_CHARGING = 4096
_LARGE = 16384
"""A packet that comes in parts is large from so many bytes on."""
_PINGRESP = b"\xd0\x00"
_PUBREL = b"\x62\x02"
_ACK_SIZE = 4
_TOLD_TO_OLD_CLIENTS = (Reason.UNSUPPORTED_PROTOCOL_VERSION, Reason.CLIENT_IDENTIFIER_NOT_VALID)
# Reason strings quote what the client sent, which may be longer than a string on the wire can be.
_REASON_STRING_MOST = 200
_VERSIONS = {3: "3.1", 4: "3.1.1", 5: "5"}
_PROTOCOLS = {number: f"MQTT {name}" for number, name in _VERSIONS.items()}
_KINDS = {int(kind): kind.name for kind in PacketType}
_QOS2 = 0x34
_CONNECT, _PUBLISH, _FIRST_ACK, _LAST_ACK = 1, 3, 4, 7
_MANY = {PacketType.SUBSCRIBE: subscribe, PacketType.UNSUBSCRIBE: unsubscribe}
"""Packets that may name many things."""
_LOOK_AT_CLOCK_AFTER = 16
"""Runs of messages or acknowledgements after which it is time to see how long others have waited."""


class State(Enum):
    NEW = 1
    WAITING = 2
    OPEN = 3
    ENDED = 4


# Looking a member up in its enumeration takes as long as calling a function, and this is done for each read.
_NEW, _WAITING, _OPEN, _ENDED = State
_SUCCESS, _NORMAL_DISCONNECTION = Reason.SUCCESS, Reason.NORMAL_DISCONNECTION


class MqttConnection(MqttPeer):
    """The server's end of the conversation with one client."""

    __slots__ = (
        "_hold",
        "_kind",
        "_kind_at",
        "_need",
        "_parts",
        "_timer",
        "authenticator",
        "heard",
        "state",
    )

    def __init__(self, broker: Broker, outlet: Outlet, authenticator: Authenticator) -> None:
        limits = broker.limits
        super().__init__(broker, outlet, min(_CONNECT_SIZE, limits.packet_size))
        self.authenticator = authenticator
        self.state = _NEW
        self.heard = broker.now()
        # An incomplete packet waits here: its pieces, and the length at which looking again makes sense.
        self._parts: Pieces | None = None
        self._need: int
        self._hold: Hold | None = None
        outlet.account = broker.memory.strangers
        self._kind = _CONNECT
        """The last packet that was none of those that come in runs, and when it came."""
        self._kind_at = 0.0
        self._timer: Timer = broker.timers.at(self.heard + limits.connect_timeout, self._check, outlet)

    def describe(self) -> dict[str, str]:
        """Who the client is and what it has sent last, for people."""
        return {
            "client": self.session.client_id if self.session is not None else "",
            "protocol": _PROTOCOLS[self.version],
            "sent": _KINDS[self._kind] if self._kind_at == self.heard else "PUBLISH or acknowledgements",
        }

    # Bytes in

    def receive(self, data: bytes) -> None:
        """Bytes have come from the client."""
        broker = self.broker
        self.heard = broker.now()
        size = len(data)
        if (
            (usual := self._usual) is not None
            and data.startswith(usual, 2)
            and data[1] == size - 2 < 0x80
            and data[0] == self._usual_first
            and self._usual_generation == broker.routes.generation
            and self.batch is None
        ):
            route = self._usual_route
            if route is None:
                forward(broker, self._usual_receivers, data, 1)
                return
            if size >= self._usual_head and self._gather(data, route):
                return
        try:
            pos = 0
            if self._parts is not None:
                if self._completes_large(data):
                    pos = self._take_large(data)
                else:
                    whole = self._with_parts(self._parts, data)
                    if whole is None:
                        return
                    data = whole
            elif self.state is _OPEN:
                if data[0] == QOS0:
                    # What most devices send all the time, tried before anything else is looked at.
                    pos = take_straight(self, data, 0)
                    if pos == size:
                        return
                elif size == _ACK_SIZE and data.startswith(_PUBREL):
                    pos = receipts.released_alone(self, data)
            elif self.state is _ENDED:
                return
            if pos < len(data):
                self._take(data, pos)
        except ProtocolError as error:
            self._broke_rules(error)
        else:
            session = self.session
            if session is not None and (session.backlog or (session.window is not None and session.window.holds)):
                broker.delivery.pump(session)

    def _gather(self, packet: bytes, route: Route) -> bool:
        """Take a packet that is like the one before, but for identifier and payload; False if there is more to it."""
        name_end = self._usual_name_end
        packet_id = packet[name_end] << 8 | packet[name_end + 1]
        if (
            not packet_id
            or (self.version5 and packet[name_end + 2])
            or (self._usual_first == _QOS2 and not note_received(self, packet_id))
        ):
            return False
        batch = route.batches.get(self._usual_key)
        if batch is not None and batch.arrivals is None and len(batch.packets) < route.most_batched:
            # As `Batches.gather` does, whose call would cost as much as all of this.
            self.batch = batch
            batch.publishers.append(self)
            batch.packets.append(packet)
            batch.name_ends.append(name_end)
            batch.heads.append(self._usual_head)
        else:
            qos, head = self._usual_first >> 1 & 3, self._usual_head
            self.broker.batches.gather(self, route, self._usual_key, packet, name_end, head, qos)
        return True

    def _completes_large(self, data: bytes) -> bool:
        """Whether these bytes have the rest of a large packet, behind which there may be as much again."""
        parts = self._parts
        return (
            parts is not None
            and self._need >= _LARGE
            and parts.size + len(data) >= self._need
            and self.state is _OPEN
            and not self._is_working
        )

    def _take_large(self, data: bytes) -> int:
        """Take that packet, without a copy of what comes behind it; where that begins."""
        parts = self._parts
        assert parts is not None
        end = self._need - parts.size
        parts.add(memoryview(data)[:end])
        self._parts = self._hold = None
        self._take(parts.join(), 0)
        if self.state is _ENDED:
            return len(data)
        if self._is_working and end < len(data):
            self._keep(data, end, 0)
            return len(data)
        return end

    def _with_parts(self, parts: Pieces, data: bytes) -> bytes | None:
        """New bytes behind the ones that wait; None if it is no use looking at them yet."""
        parts.add(data)
        if self._is_working:
            self.outlet.stop_reading()  # whoever let it be read from did not know
            return None
        if self.state is _WAITING:
            if parts.size > _CONNECT_SIZE:
                raise ProtocolError(Reason.QUOTA_EXCEEDED, "too much sent before CONNACK")
            self._charge(parts.size)
            return None
        if parts.size < self._need:
            self._charge(parts.size)
            return None
        self._parts = self._hold = None
        return parts.join()

    def _take(self, data: bytes, pos: int) -> None:
        size = len(data)
        short = min(0x80, self.max_packet - 1)
        left = _LOOK_AT_CLOCK_AFTER
        while pos < size:
            # The usual short packet is measured right here; everything else is left to the codec.
            if size - pos > 1 and data[pos + 1] < short:
                body = pos + 2
                end = body + data[pos + 1]
            else:
                bounds = packet_bounds(data, pos, self.max_packet, self.version)
                if bounds is None:
                    self._keep(data, pos, size - pos + 1)
                    return
                body, end = bounds
            if end > size:
                self._keep(data, pos, end - pos)
                return
            kind = data[pos] >> 4
            if self.state is not _OPEN:
                self._note_kind(kind)
                if not self._take_first(data[pos], data[body:end]):
                    self._keep(data, end, 0)
                    return
                pos = end
            elif kind == _PUBLISH:
                straight = take_straight(self, data, pos) if data[pos] == QOS0 else pos
                pos = straight if straight > pos else take_span(self, data, pos, body, end)
                if self.took_long:
                    self.took_long = False
                    left = 0
            elif _FIRST_ACK <= kind <= _LAST_ACK and data[pos + 1] == 2:
                pos = receipts.take_acks(self, data, pos)
            elif kind in _MANY:
                if self.batch is not None:
                    self.broker.batches.publish()
                self._note_kind(kind)
                self._take_many(PacketType(kind), data[pos], data[body:end])
                pos = end
            else:
                if self.batch is not None:
                    self.broker.batches.publish()
                self._note_kind(kind)
                self._take_packet(decode(data[pos], data[body:end], self.version))
                pos = end
            if self.state is _ENDED:
                return
            # Others want their turn, too: what is not taken in time waits.
            left -= 1 if kind <= _LAST_ACK else _LOOK_AT_CLOCK_AFTER
            if left <= 0:
                left = _LOOK_AT_CLOCK_AFTER
                if pos < size and self.broker.now() - self.heard > SLICE and not self._is_working:
                    self.outlet.stop_reading()
                    self.broker.slices.later(self, self._go_on)
                if self._is_working:
                    self._keep(data, pos, 0)
                    return

    def _note_kind(self, kind: int) -> None:
        if kind:
            self._kind, self._kind_at = kind, self.heard

    @property
    def _is_working(self) -> bool:
        """Whether something that the client asked for is being done in slices: nothing else is taken meanwhile."""
        return self.publishing or self.broker.slices.is_working(self)

    def published(self) -> None:
        """What the client has published has reached all who want it."""
        self.publishing = False
        self._go_on()

    def _take_many(self, kind: PacketType, first: int, body: bytes) -> None:
        session = self.session
        assert session is not None
        check_flags(kind, first & 0x0F, self.version)
        steps = _MANY[kind](self, session, body)
        if not self.broker.slices.begin(self, self._within_rules(steps), self._go_on):
            self.outlet.stop_reading()

    def _within_rules(self, steps: Steps) -> Steps:
        try:
            yield from steps
        except ProtocolError as error:
            self._broke_rules(error)

    def _broke_rules(self, error: ProtocolError) -> None:
        self.broker.stats.protocol_errors += 1
        self.end(error.reason, str(error), publish_will=True)

    def _go_on(self) -> None:
        """What the client asked for is done, or its turn has come again: take what it has sent behind that."""
        self.outlet.go_on_reading()
        self.receive(b"")

    def _keep(self, data: bytes, pos: int, need: int) -> None:
        self._usual = None
        self._parts = Pieces()
        # Most of a large read need not be copied; of a small part, the rest of the read should not stay in memory.
        self._parts.add(memoryview(data)[pos:] if 2 * pos < len(data) and len(data) > _WORTH_CHARGING else data[pos:])
        self._need = need
        if not self._is_working:
            self._charge(len(data) - pos)

    def _charge(self, size: int) -> None:
        """So many bytes of a packet wait for the rest of it."""
        if size < _WORTH_CHARGING:
            return
        if self._hold is None:
            assert self.outlet.account is not None
            self._hold = Hold(self.outlet.account)
        if not self._hold.set(size):
            raise ProtocolError(Reason.QUOTA_EXCEEDED, "there is no memory for a packet that comes in parts")

    # The first packet

    def _take_first(self, first: int, body: bytes) -> bool:
        """Take CONNECT; False if what comes after it has to wait for the verdict on the credentials."""
        try:
            packet = decode(first, body, self.version)
        except ProtocolError as error:
            if first >> 4 == PacketType.CONNECT:
                # The protocol level stands after the name; a v5 client gets its refusal in v5 form.
                self.version5 = body[:7] == b"\x00\x04MQTT\x05"
                self.version = 5 if self.version5 else 4
                self.outlet.max_packet = maximum_packet_size(body)
                # An older one gets an answer only if there is a return code for what is wrong.
                if self.version5 or error.reason in _TOLD_TO_OLD_CLIENTS:
                    self.refuse(error.reason, str(error))
            raise
        if not isinstance(packet, packets.Connect):
            raise ProtocolError(Reason.PROTOCOL_ERROR, f"{type(packet).__name__} before CONNECT")
        self.version, self.version5, self.bridge = packet.version, packet.version == 5, packet.bridge
        if packet.properties:
            self.outlet.max_packet = packet.properties.get("maximum_packet_size", 0)
            packet.properties.pop("user_property", None)  # there may be a thousand, and nobody reads them
        problem = handshake.reason_to_refuse(self.broker, packet, self.heard)
        if problem is not None:
            self.refuse(*problem, packet)
            return True
        self.state = _WAITING
        holds: list[Hold] = []
        self.authenticator.check(self.outlet, packet.username, packet.password, partial(self._admit, packet, holds))
        if self.state is not _WAITING:
            return True
        holds.append(Hold(self.broker.memory.strangers, handshake.cost(packet)))
        return False

    def _admit(self, connect: packets.Connect, holds: list[Hold], reason: Reason, text: str, user: str | None) -> None:
        """The credentials have been looked at; `holds` is for what the CONNECT is charged for meanwhile."""
        if self.state is not _WAITING:  # the client has gone meanwhile
            return
        if reason is not _SUCCESS:
            self.refuse(reason, text, connect)
            return
        old = self.broker.sessions.get(connect.client_id)
        stored = old is not None and old.number > 0
        present = handshake.open_session(self, connect)
        store = self.broker.store
        if store is not None and (stored or (self.session is not None and self.session.number)):
            # CONNACK says that there is a session which outlives the connection, or that an old one is forgotten.
            self.broker.turn.held.when_safe(partial(self._welcome, connect, user, present))
        else:
            self._welcome(connect, user, present)

    def _welcome(self, connect: packets.Connect, user: str | None, present: bool) -> None:
        if self.state is not _WAITING or self.session is None:  # the client has gone meanwhile
            return
        connack = handshake.connack(self, connect, present=present)
        if not connack:
            text = "what the client has to know does not fit into its maximum packet size"
            self._leave(text, publish_will=False)
            self.refuse(Reason.PACKET_TOO_LARGE, text)
            return
        self.state = _OPEN
        self._write(connack)
        handshake.welcome(self, connect, present=present)
        self.broker.journal.admitted(
            self.outlet,
            self.session.client_id,
            mqtt=_VERSIONS[self.version],
            user=user,
            claimed_user=connect.username if connect.username != user else None,
            clean=connect.clean_start,
            keep_alive=self.keep_alive,
        )
        if self.keep_alive:
            due = self.heard + 1.5 * self.keep_alive
            # The timer for CONNECT is usually due before that, and then sees how far it is. Most clients that come and
            # go at once have gone by then.
            if not self.broker.timers.rings_by(due, self._timer):
                self._check_at(due)
        if self._parts is not None:
            self.receive(b"")

    def refuse(self, reason: Reason, text: str, connect: packets.Connect | None = None) -> None:
        """CONNACK with a reason why not, and the end. Without a CONNECT, it could not be read."""
        self.broker.stats.refused += 1
        client_id, user = (connect.client_id, connect.username) if connect else (None, None)
        self.broker.journal.refused(self.outlet, reason.name, text, client=client_id, claimed_user=user)
        properties = Properties(reason_string=text[:_REASON_STRING_MOST]) if self.version5 else Properties()
        code = reason if self.version5 else connack_code_v3(reason)
        self.send(packets.ConnAck(False, code, properties))
        self._finish()

    # Packets of an open connection

    def _take_packet(self, packet: packets.Packet) -> None:
        session = self.session
        assert session is not None
        match packet:
            case packets.PingReq():
                self.broker.turn.write_patiently(self.outlet, _PINGRESP)
            case packets.Disconnect():
                self._disconnect(session, packet)
            case packets.PubAck():
                if session.window is not None:
                    session.window.acknowledge(packet.packet_id, 1)
            case packets.PubRec():
                if packet.reason < Reason.UNSPECIFIED_ERROR:
                    receipts.received_one(self, session, packet.packet_id)
                elif session.window is not None:
                    session.window.refuse(packet.packet_id)
            case packets.PubRel():
                receipts.released(self, session, packet.packet_id, 1)
            case packets.PubComp():
                if session.window is not None:
                    receipts.completed(self, session, packet.packet_id, 1)
            case _:
                raise ProtocolError(Reason.PROTOCOL_ERROR, f"unexpected {type(packet).__name__}")

    def _disconnect(self, session: Session, packet: packets.Disconnect) -> None:
        expiry = packet.properties.get("session_expiry_interval")
        if expiry is not None:
            if expiry and not session.expiry:
                raise ProtocolError(Reason.PROTOCOL_ERROR, "DISCONNECT cannot make a session outlive its connection")
            session.expiry = min(expiry, self.broker.limits.session_expiry_max)
        self.outlet.left = True
        self._leave("client disconnected", publish_will=packet.reason != _NORMAL_DISCONNECTION)
        self._finish()

    # For publishes

    # Bytes out

    def pause(self) -> None:
        """The client does not read fast enough: what is for it waits in buffers from now on."""
        self.outlet.open = False

    def resume(self) -> None:
        """The client can take more."""
        if self.state is _OPEN and self.session is not None:
            self.outlet.open = True
            self.broker.delivery.pump(self.session)
            self.broker.slices.wake(self)

    # The end

    def end(self, reason: Reason, text: str, *, publish_will: bool = False) -> None:
        """End the connection from this side; an MQTT 5 client is told why."""
        if self.state is _ENDED:
            return
        if self.state is _OPEN and self.version5:
            why = Properties(reason_string=text[:_REASON_STRING_MOST]) if self.explain else Properties()
            self.send(packets.Disconnect(reason, why))
        self._leave(text, publish_will=publish_will)
        self._finish()

    def lost(self) -> None:
        """The network connection is gone."""
        if self.state is not _ENDED:
            self._leave("connection lost", publish_will=True)
            self._finish()

    def _leave(self, why: str, *, publish_will: bool) -> None:
        """Give the session up, if there is one."""
        if self.batch is not None:
            self.broker.batches.publish()
        session, self.session = self.session, None
        if session is None:
            return
        self.outlet.connected = self.outlet.open = False
        self.broker.stats.connected -= 1
        del self.broker.connections[session.client_id]
        self.broker.journal.ended(session.client_id, why)
        self.broker.detach(session, publish_will=publish_will)

    def _finish(self) -> None:
        self.state = _ENDED
        self.publishing = False
        self.broker.slices.drop(self)
        self.broker.timers.cancel(self._timer)
        self._parts = self._usual = self._hold = None
        if not self.outlet.finished:
            self.outlet.finished = True
            self.broker.turn.look_at(self.outlet)

    # Time-outs

    def _check_at(self, when: float) -> None:
        self.broker.timers.cancel(self._timer)
        self._timer = self.broker.timers.at(when, self._check, self.outlet)

    def _check(self, now: float) -> None:
        if self.state is _NEW:
            self.end(Reason.KEEP_ALIVE_TIMEOUT, "no CONNECT in time", publish_will=False)
        elif self.state is _OPEN and self.keep_alive:
            due = (now if self._is_working else self.heard) + 1.5 * self.keep_alive
            if due <= now:
                self.end(Reason.KEEP_ALIVE_TIMEOUT, "nothing heard for 1.5 times the keep-alive", publish_will=True)
            else:
                self._check_at(due)
