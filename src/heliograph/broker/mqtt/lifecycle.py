"""The states of an MQTT connection: admission or refusal, use, and end.

Theory of operation
1. A connection is *new* until its CONNECT has come, *waiting* while somebody checks the credentials and until what
   CONNACK says is safe, *open* while it has a session, and *ended* after that. It never goes back.
2. Only an open one takes packets other than CONNECT. What comes while it is waiting is kept (`connection`), and taken
   when the client has been let in.
3. The verdict on the credentials may come at once or later, when the client may have gone: whoever goes on looks at the
   state first. The same holds for what is done when something is safe.
4. `_leave` gives the session back, with its will published or not; `_finish` ends the connection. Both happen once, in
   this order: a session never has a connection that has ended.
5. One timer serves CONNECT and keep-alive. It is not moved for each packet: when it rings, it looks how long ago the
   client was heard.
"""

from abc import abstractmethod
from enum import Enum
from functools import partial

from heliograph.broker.broker import Broker
from heliograph.broker.core.interfaces import Authenticator
from heliograph.broker.core.memory import Hold
from heliograph.broker.core.outlet import Outlet
from heliograph.broker.core.timers import Timer
from heliograph.broker.mqtt import handshake
from heliograph.broker.mqtt.peer import MqttPeer
from heliograph.broker.sessions.session import Session
from heliograph.common.pieces import Pieces
from heliograph.mqtt import (
    PacketType,
    Properties,
    ProtocolError,
    Reason,
    connack_code_v3,
    decode,
    maximum_packet_size,
    packets,
)

CONNECT_SIZE = 512 * 1024
"""The largest CONNECT has five strings of 64 KB and properties; nobody needs near that before being admitted."""
_TOLD_TO_OLD_CLIENTS = (Reason.UNSUPPORTED_PROTOCOL_VERSION, Reason.CLIENT_IDENTIFIER_NOT_VALID)
# Reason strings quote what the client sent, which may be longer than a string on the wire can be.
_REASON_STRING_MOST = 200
VERSIONS = {3: "3.1", 4: "3.1.1", 5: "5"}


class State(Enum):
    """What a connection is."""

    NEW = 1
    WAITING = 2
    OPEN = 3
    ENDED = 4


# Looking a member up in its enumeration takes as long as calling a function, and this is done for each read.
NEW, WAITING, OPEN, ENDED = State
_SUCCESS, _NORMAL_DISCONNECTION = Reason.SUCCESS, Reason.NORMAL_DISCONNECTION


class MqttLifecycle(MqttPeer):
    """A connection, without the handling of its bytes."""

    __slots__ = ("_hold", "_parts", "_timer", "authenticator", "heard", "state")

    def __init__(self, broker: Broker, outlet: Outlet, authenticator: Authenticator) -> None:
        limits = broker.limits
        super().__init__(broker, outlet, min(CONNECT_SIZE, limits.packet_size))
        self.authenticator = authenticator
        self.state = NEW
        self.heard = broker.now()
        """When bytes were last received."""
        self._parts: Pieces | None = None
        """An incomplete packet, or bytes that wait until more can be handled."""
        self._hold: Hold | None = None
        """The memory charge for it."""
        outlet.account = broker.memory.strangers
        self._timer: Timer = broker.timers.at(self.heard + limits.connect_timeout, self._check, outlet)

    @abstractmethod
    def _take_rest(self) -> None:
        """The client has been admitted: handle what it sent meanwhile."""

    @property
    def _is_working(self) -> bool:
        """Whether a request of the client is being done in slices. Nothing else is handled meanwhile."""
        return self.publishing or self.broker.slices.is_working(self)

    # The beginning.

    def _take_first(self, first: int, body: bytes) -> bool:
        """Handle CONNECT; False if bytes after it must wait until the credentials are checked."""
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
            packet.properties.pop("user_property", None)  # there may be a thousand, and they are not used
        problem = handshake.reason_to_refuse(self.broker, packet, self.heard)
        if problem is not None:
            self.refuse(*problem, packet)
            return True
        self.state = WAITING
        holds: list[Hold] = []
        self.authenticator.check(self.outlet, packet.username, packet.password, partial(self._admit, packet, holds))
        if self.state is not WAITING:
            return True
        holds.append(Hold(self.broker.memory.strangers, handshake.cost(packet)))
        return False

    def _admit(self, connect: packets.Connect, holds: list[Hold], reason: Reason, text: str, user: str | None) -> None:
        """The credentials have been checked. `holds` keeps the memory charge of the CONNECT until then."""
        if self.state is not WAITING:  # the client has gone meanwhile
            return
        if reason is not _SUCCESS:
            self.refuse(reason, text, connect)
            return
        old = self.broker.sessions.get(connect.client_id)
        stored = old is not None and old.number > 0
        present = handshake.open_session(self, connect)
        store = self.broker.store
        if store is not None and (stored or (self.session is not None and self.session.number)):
            # CONNACK promises that a durable session exists, or that an old one is gone: the log must be safe first.
            self.broker.turn.held.when_safe(partial(self._welcome, connect, user, present))
        else:
            self._welcome(connect, user, present)

    def _welcome(self, connect: packets.Connect, user: str | None, present: bool) -> None:
        if self.state is not WAITING or self.session is None:  # the client has gone meanwhile
            return
        connack = handshake.connack(self, connect, present=present)
        if not connack:
            text = "what the client has to know does not fit into its maximum packet size"
            self._leave(text, publish_will=False)
            self.refuse(Reason.PACKET_TOO_LARGE, text)
            return
        self.state = OPEN
        self._write(connack)
        handshake.welcome(self, connect, present=present)
        self.broker.journal.admitted(
            self.outlet,
            self.session.client_id,
            mqtt=VERSIONS[self.version],
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
            self._take_rest()

    def refuse(self, reason: Reason, text: str, connect: packets.Connect | None = None) -> None:
        """Send CONNACK with the reason, and end the connection. `connect` is None if it could not be decoded."""
        self.broker.stats.refused += 1
        client_id, user = (connect.client_id, connect.username) if connect else (None, None)
        self.broker.journal.refused(self.outlet, reason.name, text, client=client_id, claimed_user=user)
        properties = Properties(reason_string=text[:_REASON_STRING_MOST]) if self.version5 else Properties()
        code = reason if self.version5 else connack_code_v3(reason)
        self.send(packets.ConnAck(False, code, properties))
        self._finish()

    # While it is open.

    def pause(self) -> None:
        """The client does not read fast enough: messages for it wait in buffers from now on."""
        self.outlet.open = False

    def resume(self) -> None:
        """The client can take more."""
        if self.state is OPEN and self.session is not None:
            self.outlet.open = True
            self.broker.delivery.pump(self.session)
            self.broker.slices.wake(self)

    # The end.

    def end(self, reason: Reason, text: str, *, publish_will: bool = False) -> None:
        """End the connection from this side; an MQTT 5 client is told why."""
        if self.state is ENDED:
            return
        if self.state is OPEN and self.version5:
            why = Properties(reason_string=text[:_REASON_STRING_MOST]) if self.explain else Properties()
            self.send(packets.Disconnect(reason, why))
        self._leave(text, publish_will=publish_will)
        self._finish()

    def lost(self) -> None:
        """The network connection is gone."""
        if self.state is not ENDED:
            self._leave("connection lost", publish_will=True)
            self._finish()

    def _disconnect(self, session: Session, packet: packets.Disconnect) -> None:
        expiry = packet.properties.get("session_expiry_interval")
        if expiry is not None:
            if expiry and not session.expiry:
                raise ProtocolError(Reason.PROTOCOL_ERROR, "DISCONNECT cannot make a session outlive its connection")
            session.expiry = min(expiry, self.broker.limits.session_expiry_max)
        self.outlet.left = True
        self._leave("client disconnected", publish_will=packet.reason != _NORMAL_DISCONNECTION)
        self._finish()

    def _leave(self, why: str, *, publish_will: bool) -> None:
        """Detach from the session, if there is one."""
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
        self.state = ENDED
        self.publishing = False
        self.broker.slices.drop(self)
        self.broker.timers.cancel(self._timer)
        self._parts = self._usual = self._hold = None
        if not self.outlet.finished:
            self.outlet.finished = True
            self.broker.turn.look_at(self.outlet)

    # Timeouts.

    def _check_at(self, when: float) -> None:
        self.broker.timers.cancel(self._timer)
        self._timer = self.broker.timers.at(when, self._check, self.outlet)

    def _check(self, now: float) -> None:
        if self.state is NEW:
            self.end(Reason.KEEP_ALIVE_TIMEOUT, "no CONNECT in time", publish_will=False)
        elif self.state is OPEN and self.keep_alive:
            due = (now if self._is_working else self.heard) + 1.5 * self.keep_alive
            if due <= now:
                self.end(Reason.KEEP_ALIVE_TIMEOUT, "nothing heard for 1.5 times the keep-alive", publish_will=True)
            else:
                self._check_at(due)
