"""The connection of one MQTT client apart from messages: CONNECT, subscriptions, DISCONNECT; and the group it is in."""

import select
from functools import cached_property

from heliograph.lab.errors import ClientFailed
from heliograph.lab.load.client_group import ClientGroup, LoadClient
from heliograph.lab.load.link import Link
from heliograph.lab.load.mqtt.template import MqttTemplate
from heliograph.lab.load.naming import expand, filters_of, identity_of
from heliograph.lab.load.plan import Address, Group, Plan, Protocol
from heliograph.lab.load.schedule import Times
from heliograph.lab.load.websocket import links_to
from heliograph.mqtt import (
    ConnAck,
    Connect,
    Disconnect,
    Packet,
    PingReq,
    Properties,
    ProtocolError,
    SubAck,
    Subscribe,
    Subscription,
    Will,
    decode,
    encode,
    packet_bounds,
)

VERSIONS: dict[Protocol, int] = {"mqtt31": 3, "mqtt311": 4, "mqtt5": 5}
_FOR_EVER = 0xFFFF_FFFF  # session expiry that means never

_LARGEST = 268_435_460  # bytes of a packet: what MQTT allows


def connect_packet(group: Group, client: int, version: int) -> bytes:
    """CONNECT, with a clean session unless the group is durable."""
    name, user, password = identity_of(group, client)
    will = None
    if group.will is not None:
        topic = expand(group.will.topic, group, client)
        will = Will(topic, group.will.payload.encode(), group.will.qos, group.will.retain)
    properties = Properties(session_expiry_interval=_FOR_EVER) if group.durable and version == 5 else Properties()
    packet = Connect(
        client_id=name,
        version=version,
        clean_start=not group.durable,
        keep_alive=group.keep_alive,
        username=user or None,
        password=password.encode() if password else None,
        will=will,
        properties=properties,
    )
    return encode(packet, version)


def subscribe_packet(group: Group, client: int, version: int) -> bytes:
    """SUBSCRIBE to all filters of the client."""
    filters = filters_of(group, client)
    if group.shared:
        filters = tuple(f"$share/{group.shared}/{one}" for one in filters)
    return encode(Subscribe(1, tuple(Subscription(one, group.qos) for one in filters)), version)


class MqttConnectionGroup(ClientGroup):
    """Shared by the MQTT clients of a group, whatever their role."""

    def __init__(self, plan: Plan, index: int, process: int, address: Address, poller: select.epoll) -> None:
        super().__init__(plan, index, process)
        self.version = VERSIONS[self.group.protocol]
        self.make_link = links_to(address, self.group.transport, poller, "mqtt")

    @cached_property
    def template(self) -> MqttTemplate:
        """Makes the messages."""
        return MqttTemplate(self.group, self.index, self.version, self.plan.seed)


class MqttConnection(LoadClient):
    """A connection and the subscriptions that the client's role needs."""

    __slots__ = ("_asked",)

    client_group: MqttConnectionGroup

    def __init__(self, client_group: MqttConnectionGroup, client: int, link: Link, began: int) -> None:
        super().__init__(client_group, client, link, began)
        self._asked = 0  # when it subscribed

    def opened(self, now: int) -> None:
        """Send CONNECT."""
        self.link.write(connect_packet(self.client_group.group, self.client, self.client_group.version))

    def feed(self, data: memoryview, now: int) -> int:
        """Take whole packets, in runs."""
        try:
            return self.take(data, now)
        except ProtocolError as problem:
            raise ClientFailed(f"the broker sent what MQTT does not allow: {problem}") from None

    def take(self, data: memoryview, now: int) -> int:
        """Take whole packets one by one; returns the bytes used. Clients that receive many messages override this."""
        at = 0
        while len(data) - at >= 2 and (used := self.take_control(data, at, now)):
            at += used
        return at

    def take_control(self, data: memoryview, at: int, now: int) -> int:
        """Take the control packet at `at`; returns its length, 0 if it is incomplete."""
        version = self.client_group.version
        bounds = packet_bounds(data, at, _LARGEST, version)
        if bounds is None or bounds[1] > len(data):
            return 0
        start, end = bounds
        packet = decode(data[at], bytes(data[start:end]), version)
        if isinstance(packet, ConnAck):
            if packet.reason:
                raise ClientFailed(f"the broker refused the connection: 0x{packet.reason:02X}")
            self.client_group.connected(self, now)
            self.accepted(packet, now)
        elif isinstance(packet, SubAck):
            self._subscribed(packet, now)
        elif isinstance(packet, Disconnect):
            raise ClientFailed(f"the broker disconnected with reason 0x{packet.reason:02X}")
        else:
            self.take_other(data[at], packet, now)
        return end - at

    def accepted(self, packet: ConnAck, now: int) -> None:
        """The broker has accepted the client, which subscribes where its role needs that."""
        if self.client_group.group.receives:
            self.subscribe(now)
        else:
            self.client_group.became_ready(self)

    def subscribe(self, now: int) -> None:
        """Subscribe to all filters of this client."""
        self._asked = now
        self.link.write(subscribe_packet(self.client_group.group, self.client, self.client_group.version))

    def _subscribed(self, packet: SubAck, now: int) -> None:
        for granted in packet.reasons:
            if granted != self.client_group.group.qos:
                raise ClientFailed(f"asked for QoS {self.client_group.group.qos}, the broker granted 0x{granted:02X}")
        self.client_group.meter.recorder("subscribe").record(now - self._asked)
        self.client_group.became_ready(self)

    def take_other(self, first: int, packet: Packet, now: int) -> None:
        """Handle a packet that is not about the connection or subscriptions."""

    def room(self) -> int:
        """How many messages may be sent now; 0 here, as this client sends none."""
        return 0

    def send(self, due: Times, now: int) -> int:
        """Send messages; returns how many were sent: 0 here, as this client sends none."""
        return 0

    def outstanding(self) -> int:
        """Messages sent and not acknowledged; 0 here, as this client sends none."""
        return 0

    def disconnect(self) -> None:
        """Send DISCONNECT."""
        self.link.write(encode(Disconnect(), self.client_group.version))

    def ping(self) -> None:
        """Send PINGREQ."""
        self.link.write(encode(PingReq(), self.client_group.version))
