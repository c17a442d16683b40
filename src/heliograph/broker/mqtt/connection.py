"""One MQTT client's connection: received bytes in, calls of the broker and bytes to send out. No sockets here.

Bytes are cut into packets, which are handled in order; runs of similar packets in one go. What cannot be handled within
a slice of time waits for another turn, so that other clients are served. `lifecycle` has the states of a connection.
"""

from heliograph.broker.broker import Broker
from heliograph.broker.core.interfaces import Authenticator
from heliograph.broker.core.memory import Hold
from heliograph.broker.core.outlet import Outlet
from heliograph.broker.core.slices import SLICE, Steps
from heliograph.broker.mqtt import receipts
from heliograph.broker.mqtt.inbound import forward, note_received, take_span, take_straight
from heliograph.broker.mqtt.lifecycle import CONNECT_SIZE, ENDED, OPEN, VERSIONS, WAITING, MqttLifecycle
from heliograph.broker.mqtt.peer import QOS0
from heliograph.broker.mqtt.subscribing import subscribe, unsubscribe
from heliograph.broker.routing.routes import Route
from heliograph.common.pieces import Pieces
from heliograph.mqtt import (
    PacketType,
    ProtocolError,
    Reason,
    check_flags,
    decode,
    packet_bounds,
    packets,
)

# What has come of a packet is charged from so many bytes on; less is part of what a connection takes.
_WORTH_CHARGING = 4096
_LARGE = 16384
"""A packet that comes in parts is large from so many bytes on."""
_PINGRESP = b"\xd0\x00"
_PUBREL = b"\x62\x02"
_ACK_SIZE = 4
_PROTOCOLS = {number: f"MQTT {name}" for number, name in VERSIONS.items()}
_KINDS = {int(kind): kind.name for kind in PacketType}
_QOS2 = 0x34
_CONNECT, _PUBLISH, _FIRST_ACK, _LAST_ACK = 1, 3, 4, 7
_MANY = {PacketType.SUBSCRIBE: subscribe, PacketType.UNSUBSCRIBE: unsubscribe}
"""Packets that may name many filters."""
_LOOK_AT_CLOCK_AFTER = 16
"""Runs of messages or acknowledgements after which the time is looked at."""


class MqttConnection(MqttLifecycle):
    """The server's end of the conversation with one client."""

    __slots__ = ("_kind", "_kind_at", "_need")

    def __init__(self, broker: Broker, outlet: Outlet, authenticator: Authenticator) -> None:
        super().__init__(broker, outlet, authenticator)
        self._need: int
        """The length at which it makes sense to look at an incomplete packet again."""
        self._kind = _CONNECT
        """Type of the last packet other than PUBLISH and acknowledgements, and when it was received."""
        self._kind_at = 0.0

    def describe(self) -> dict[str, str]:
        """Who the client is and what it sent last, for log messages."""
        return {
            "client": self.session.client_id if self.session is not None else "",
            "protocol": _PROTOCOLS[self.version],
            "sent": _KINDS[self._kind] if self._kind_at == self.heard else "PUBLISH or acknowledgements",
        }

    # Bytes in

    def receive(self, data: bytes) -> None:
        """Handle bytes from the client."""
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
            elif self.state is OPEN:
                if data[0] == QOS0:
                    # The most frequent packet of devices, tried before anything else.
                    pos = take_straight(self, data, 0)
                    if pos == size:
                        return
                elif size == _ACK_SIZE and data.startswith(_PUBREL):
                    pos = receipts.released_alone(self, data)
            elif self.state is ENDED:
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
        """Batch a packet that equals the last one up to identifier and payload; False if it needs the slow path."""
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
            # `Batches.gather` inline: the call would cost as much as all of this.
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
            and self.state is OPEN
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
        if self.state is ENDED:
            return len(data)
        if self._is_working and end < len(data):
            self._keep(data, end, 0)
            return len(data)
        return end

    def _with_parts(self, parts: Pieces, data: bytes) -> bytes | None:
        """The waiting bytes with the new ones behind them; None if they do not complete a packet yet."""
        parts.add(data)
        if self._is_working:
            self.outlet.stop_reading()  # something else had resumed reading
            return None
        if self.state is WAITING:
            if parts.size > CONNECT_SIZE:
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
            # The length of short packets is read right here, to save a call; the codec does the rest.
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
            if self.state is not OPEN:
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
            if self.state is ENDED:
                return
            # Other clients must be served, too: what is not handled in time waits.
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

    def published(self) -> None:
        """A message of the client has been delivered to very many receivers: go on reading."""
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

    def _take_rest(self) -> None:
        self.receive(b"")

    def _go_on(self) -> None:
        """A request of the client is finished, or its turn has come again: handle what it sent meanwhile."""
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
        """Charge memory for `size` bytes of an incomplete packet."""
        if size < _WORTH_CHARGING:
            return
        if self._hold is None:
            assert self.outlet.account is not None
            self._hold = Hold(self.outlet.account)
        if not self._hold.set(size):
            raise ProtocolError(Reason.QUOTA_EXCEEDED, "there is no memory for a packet that comes in parts")

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

    # For publishes

    # Bytes out
