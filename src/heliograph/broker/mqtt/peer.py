"""The state of a connected MQTT client, shared by all modules that handle its packets.

All that takes packets of a client apart works on this: publishing (`inbound`), acknowledgements (`receipts`),
subscribing and the handshake. `connection` has the bytes, the order of packets, and the beginning and end of it.
"""

from abc import ABC, abstractmethod

from heliograph.broker.broker import Broker
from heliograph.broker.core.outlet import Outlet
from heliograph.broker.delivery.answers import Answer, fit
from heliograph.broker.routing.routes import Batch, Route
from heliograph.broker.sessions.session import Session, Subscription
from heliograph.mqtt import ProtocolError, Reason

QOS0 = 0x30
"""The first byte of most packets: PUBLISH with QoS 0."""


class MqttPeer(ABC):
    """One client of MQTT."""

    __slots__ = (
        "_aliases",
        "_usual",
        "_usual_first",
        "_usual_generation",
        "_usual_head",
        "_usual_key",
        "_usual_name_end",
        "_usual_receivers",
        "_usual_route",
        "batch",
        "bridge",
        "broker",
        "explain",
        "keep_alive",
        "max_packet",
        "outlet",
        "publishing",
        "receive_maximum",
        "session",
        "took_long",
        "version",
        "version5",
    )

    def __init__(self, broker: Broker, outlet: Outlet, max_packet: int) -> None:
        self.broker = broker
        self.outlet = outlet
        self.session: Session | None = None
        self.version = 4
        self.version5 = False
        self.bridge = False
        """The client is another server, which wants no messages back that it sent, and retain flags as they were."""
        self.max_packet = max_packet
        self.receive_maximum = 0
        self.keep_alive = 0
        self.explain = True
        """Whether the client accepts reason strings."""
        self.publishing = False
        """A message of the client is being delivered to very many receivers; nothing else is handled meanwhile."""
        self.took_long = False
        """The last packets took long: look at the time."""
        self._aliases: dict[int, bytes] | None = None
        # What the last packet was like; the rest of these are there from `remember` on. Of what is made for each client
        # that comes, half would be for nothing.
        self._usual: bytes | None = None
        self._usual_receivers: tuple[Subscription, ...]
        self._usual_generation: int
        self._usual_first: int
        self._usual_key: int
        self._usual_name_end: int
        self._usual_head: int
        self._usual_route: Route | None
        self.batch: Batch | None = None
        """The open batch with its messages of this turn."""

    @abstractmethod
    def published(self) -> None:
        """A message of the client has been delivered to all of very many receivers."""

    @abstractmethod
    def end(self, reason: Reason, text: str, *, publish_will: bool = False) -> None:
        """End the connection from this side; an MQTT 5 client is told why."""

    # For publishes

    def remember(self, head: bytes, receivers: tuple[Subscription, ...]) -> None:
        """A read brought just one short QoS 0 packet, `head` being what stands between its length and its payload.

        Most devices send such packets to one topic, one at a time: the next one is recognised without parsing.
        """
        self._usual = head
        self._usual_first = QOS0
        self._usual_receivers = receivers
        self._usual_route = None
        self._usual_generation = self.broker.routes.generation

    def remember_batched(self, packet: bytes, name_end: int, route: Route, key: int) -> None:
        """The same for a short packet of QoS 1 or 2, whose packet identifier stands behind its topic."""
        self._usual = packet[2:name_end]
        self._usual_first = packet[0]
        self._usual_name_end = name_end
        self._usual_head = name_end + 3 if self.version5 else name_end + 2
        self._usual_route = route
        self._usual_key = key
        self._usual_generation = self.broker.routes.generation

    def find_route(self, topic: bytes) -> Route:
        """Where messages of a topic go; ProtocolError if it is no topic name."""
        return self.broker.routes.find(topic, self.broker.limits.topic_levels)

    def resolve_alias(self, topic: bytes, alias: int | None) -> bytes:
        """The topic of a packet that may have a topic alias instead of, or with, a name."""
        if alias is None:
            if not topic:
                reason = Reason.PROTOCOL_ERROR if self.version5 else Reason.MALFORMED_PACKET
                raise ProtocolError(reason, "PUBLISH without a topic name")
            return topic
        if alias > self.broker.limits.topic_alias_maximum:
            raise ProtocolError(Reason.TOPIC_ALIAS_INVALID, f"topic alias {alias} is over the maximum")
        if self._aliases is None:
            self._aliases = {}
        if topic:
            known = self._aliases.get(alias)
            if known != topic and not self.outlet.keep_alias(topic, known):
                raise ProtocolError(Reason.QUOTA_EXCEEDED, "there is no memory for another topic alias")
            self._aliases[alias] = topic
        elif alias not in self._aliases:
            raise ProtocolError(Reason.PROTOCOL_ERROR, f"topic alias {alias} stands for nothing yet")
        return self._aliases[alias]

    # Bytes out

    def answer(self, chunk: bytes, *, stored: bool) -> None:
        """Send an acknowledgement; of something that is stored, when it is safe."""
        self.broker.answers.answer(self.outlet, chunk, stored=stored)

    def check_room_for(self, answer: Answer) -> None:
        """Carry nothing out if the client could not be told: what it asks for is more than it lets us answer."""
        most = self.outlet.max_packet
        if most and not fit(answer, self.version, most):
            text = f"{type(answer).__name__} would have more than the client's maximum packet size of {most} bytes"
            raise ProtocolError(Reason.PACKET_TOO_LARGE, text)

    def send(self, packet: Answer) -> None:
        """Queue one packet for the client, unless it is too large for it."""
        chunk = fit(packet, self.version, self.outlet.max_packet)
        if chunk:
            self._write(chunk)

    def _write(self, chunk: bytes) -> None:
        self.broker.turn.write(self.outlet, chunk)
