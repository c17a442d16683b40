"""The client's end of an MQTT session. The theory of operation is in the docstring of the package."""

from collections.abc import Iterable, Sequence
from math import inf
from typing import Final

from heliograph.common.pieces import Pieces
from heliograph.mqtt import packets
from heliograph.mqtt.client.arrivals import Arrivals
from heliograph.mqtt.client.events import (
    Acknowledged,
    Arrival,
    Connected,
    Disconnected,
    Event,
    Failed,
    Forgotten,
    Messages,
    Refused,
    Released,
)
from heliograph.mqtt.client.in_flight import InFlight, Run, packet_id
from heliograph.mqtt.client.keep_alive import KeepAlive
from heliograph.mqtt.client.publishing import LARGEST, PUBLISH, Publishing
from heliograph.mqtt.decoding import decode
from heliograph.mqtt.encoding import encode
from heliograph.mqtt.errors import NoIdentifierLeft, NotConnected, ProtocolError, ServerLimit
from heliograph.mqtt.framing import PacketType, packet_bounds
from heliograph.mqtt.packets import ConnAck, Connect, Packet, Subscription
from heliograph.mqtt.properties import Properties
from heliograph.mqtt.reasons import Reason, reason_of_connack_v3
from heliograph.mqtt.runs import LAST_ID, PUBACKS, PUBCOMPS, PUBRECS, PUBRELS, Ids, ack_run, acks_for, read_ack_run
from heliograph.mqtt.strings import check_topic_name

_PUBACK, _PUBREC, _PUBREL, _PUBCOMP = PUBACKS[0], PUBRECS[0], PUBRELS[0], PUBCOMPS[0]
_ACKNOWLEDGEMENTS: Final = {_PUBACK: PUBACKS, _PUBREC: PUBRECS, _PUBREL: PUBRELS, _PUBCOMP: PUBCOMPS}
_BEFORE_CONNACK: Final = {PacketType.CONNACK, PacketType.AUTH, PacketType.DISCONNECT}
_FIRST_FAILURE: Final = 0x80


class ClientSession:
    """What a client knows of its session with one server, over any number of connections."""

    def __init__(self, *, manual: bool = False, received: Iterable[int] = (), topic_aliases: int = 0) -> None:
        """With `manual` the owner acknowledges what arrives.

        `received` is what a session of an earlier process had there; `topic_aliases` says how many topics may be
        published to by a number, if the server allows it.
        """
        self.received: set[int] = set(received)
        """Packet identifiers of QoS 2 messages that the owner was given and the server has not released."""
        self.output: list[bytes] = []
        """What is to be written. The owner takes it, most simply with `take_output`."""
        self.connected = False
        self._manual = manual
        self._topic_aliases = topic_aliases
        self._in_flight = InFlight()
        self._connection = 0
        """How many connections there have been."""
        self._over = True
        self._now = 0.0
        self._connect = Connect()
        self._connack = ConnAck()
        self._rest = Pieces()
        self._needed = 0
        """Bytes without which there is nothing to do."""
        self._arrivals = Arrivals(0, 5, 0, self.received)
        self._publishing = Publishing(5, LARGEST, 0)
        self._keep_alive = KeepAlive(0, 0.0)

    # Connections

    def open(self, connect: Connect, now: float) -> None:
        """There is a network connection: begin with this CONNECT."""
        self.lost()
        self._connection += 1
        self._over = False
        self._now = now
        self._connect = connect
        allowed = connect.properties.get("topic_alias_maximum", 0)
        self._arrivals = Arrivals(self._connection, connect.version, allowed, self.received)
        self._keep_alive = KeepAlive(connect.keep_alive, now)
        self.output.append(encode(connect, connect.version))

    def lost(self) -> None:
        """The network connection is gone. What has not been written by now is not written."""
        self._end()
        self.output = []
        self._in_flight.lost()

    def disconnect(self, reason: int = Reason.NORMAL_DISCONNECTION, properties: Properties | None = None) -> None:
        """End the connection: write what is in the output, then close the network connection."""
        if not self._over:
            self.output.append(encode(packets.Disconnect(reason, properties or Properties()), self._connect.version))
            self._end()

    def authenticate(self, data: bytes, *, again: bool = False) -> None:
        """Answer the server's AUTH, or with `again` start to authenticate once more while connected."""
        method = self._connect.properties.get("authentication_method")
        if method is None or self._over or (again and not self.connected):
            raise NotConnected(
                "there is nothing to authenticate: no connection, or no authentication method in CONNECT"
            )
        reason = Reason.REAUTHENTICATE if again else Reason.CONTINUE_AUTHENTICATION
        self._write(packets.Auth(reason, Properties(authentication_method=method, authentication_data=data)))

    def take_output(self) -> bytes:
        """What is to be written now."""
        output, self.output = self.output, []
        return output[0] if len(output) == 1 else b"".join(output)

    def tick(self, now: float, *, reading: bool = True) -> tuple[list[Event], float]:
        """Keep the connection alive; says when to be called next (inf: never).

        While the owner is not `reading`, the silence of the server means nothing.
        """
        self._now = now
        if not self.connected:
            return [], inf
        keep_alive = self._keep_alive
        if not reading:
            keep_alive.heard(now)
        if now >= keep_alive.silent:
            text = f"the server has not answered a ping for {keep_alive.interval:g} s"
            self._end()
            return [Failed(Reason.KEEP_ALIVE_TIMEOUT, text)], inf
        if now >= keep_alive.due:
            keep_alive.asked(now)
            self.output.append(encode(packets.PingReq(), self._connect.version))
        return [], min(keep_alive.due, keep_alive.silent)

    # Requests

    def subscribe(self, subscriptions: Sequence[Subscription], properties: Properties | None = None) -> int:
        """Subscribe; the packet identifier that `SubAck` will have."""
        identifier = self._new_request()
        self._write(packets.Subscribe(identifier, tuple(subscriptions), properties or Properties()))
        return identifier

    def unsubscribe(self, filters: Sequence[str], properties: Properties | None = None) -> int:
        """Unsubscribe; the packet identifier that `UnsubAck` will have."""
        identifier = self._new_request()
        self._write(packets.Unsubscribe(identifier, tuple(filters), properties or Properties()))
        return identifier

    def _new_request(self) -> int:
        if not self.connected:
            raise NotConnected("there is no connection to a server")
        identifier = self._in_flight.ask()
        if identifier is None:
            raise NoIdentifierLeft("all packet identifiers are in flight")
        return identifier

    # Publishing

    @property
    def in_flight(self) -> int:
        """How many messages of QoS 1 and 2 are in flight."""
        return self._in_flight.size

    @property
    def room(self) -> int:
        """How many messages of QoS 1 or 2 `publish` takes now."""
        return self._in_flight.room if self.connected else 0

    def publish(
        self,
        topic: str,
        payloads: Sequence[bytes],
        qos: int = 0,
        *,
        retain: bool = False,
        properties: Properties | None = None,
    ) -> range:
        """Publish the first of these messages: as many as can be in flight, or all if their QoS is 0.

        The answer has the numbers of those that were taken (QoS 0: only its length says something). Without a
        connection none are. ServerLimit or ProtocolError, before anything is taken, if the server cannot take them.
        """
        check_topic_name(topic)
        if not self.connected:
            return range(0)
        properties = properties or Properties()
        payloads = payloads[: self._in_flight.room] if qos else payloads
        if not payloads:
            return range(0)
        self._check(topic, payloads, qos, retain, properties)
        self._keep_alive.sent(self._now)
        flags = PUBLISH | qos << 1 | retain
        if not qos:
            self.output += self._publishing.write(flags, topic, payloads, properties, 0)
            return range(len(payloads))
        runs = self._in_flight.add(topic, payloads, qos, retain, properties)
        for run in runs:
            self.output += self._publishing.write(flags, topic, run.payloads, properties, packet_id(run.first))
        return range(runs[0].first, runs[0].first + len(payloads))

    def _check(self, topic: str, payloads: Sequence[bytes], qos: int, retain: bool, properties: Properties) -> None:
        told = self._connack.properties
        if qos > told.get("maximum_qos", 2):
            raise ServerLimit(f"the server takes messages of QoS {told['maximum_qos']} at most, not of QoS {qos}")
        if retain and not told.get("retain_available", 1):
            raise ServerLimit("the server does not retain messages")
        self._publishing.check(topic, payloads, qos, properties)

    def _publish_again(self, events: list[Event]) -> None:
        """Send again what an earlier connection has left, as far as the server allows."""
        for run, start, stop in self._in_flight.again():
            payloads = run.payloads[start:stop]
            try:
                self._publishing.check_size(run.topic, payloads, run.qos, run.properties)
            except ServerLimit:
                self._publish_those_that_fit(run, start, stop, events)
            else:
                self._write_again(run, start, payloads)

    def _publish_those_that_fit(self, run: Run, start: int, stop: int, events: list[Event]) -> None:
        """The server takes smaller packets than when these were published."""
        for at in range(start, stop):
            payloads = run.payloads[at : at + 1]
            try:
                self._publishing.check_size(run.topic, payloads, run.qos, run.properties)
            except ServerLimit:
                events.append(Acknowledged(self._in_flight.give_up(run, at), Reason.PACKET_TOO_LARGE, Properties()))
            else:
                self._write_again(run, at, payloads)

    def _write_again(self, run: Run, start: int, payloads: Sequence[bytes]) -> None:
        flags = PUBLISH | run.qos << 1 | run.retain
        identifier = packet_id(run.first + start)
        self.output.append(self._publishing.write_again(flags, run.topic, payloads, run.properties, identifier))

    # What arrives

    def acknowledge(self, arrival: Arrival, count: int | None = None) -> None:
        """Acknowledge what has arrived, or only the next `count` of a run; in the order in which it came."""
        ids = arrival.next_ids(count)
        if ids and self.connected and arrival.connection == self._connection:
            self._keep_alive.sent(self._now)
            self._answer(arrival.table, ids)

    def _answer(self, table: bytes, ids: Ids) -> None:
        self.output.append(acks_for(table, ids))
        if table is not PUBRECS:  # a message of QoS 2 counts until PUBCOMP (MQTT 5, section 4.9)
            self._arrivals.unfinished = max(0, self._arrivals.unfinished - len(ids))

    def receive(self, data: bytes, now: float) -> list[Event]:
        """Take what came from the network. A server that breaks the standard makes it fail; nothing is raised."""
        self._now = now
        if self._over:
            return []
        self._keep_alive.heard(now)
        events = self._arrivals.events = []
        if self._rest.size:
            self._rest.add(data)
            if self._rest.size < self._needed:
                return events
            data, self._rest = self._rest.join(), Pieces()
        try:
            at = self._read(data, events)
            self._check_unfinished()
        except ProtocolError as error:
            if self._connect.version == 5 and self.connected:
                self.disconnect(error.reason)
            self._end()
            events.append(Failed(error.reason, str(error)))
        else:
            if at < len(data) and not self._over:
                self._rest.add(data[at:])
        self._arrivals.end_run()
        return events if self._manual else self._acknowledge_all(events)

    def _check_unfinished(self) -> None:
        most = self._connect.properties.get("receive_maximum", LAST_ID)
        if self._arrivals.unfinished > most and self._connect.version == 5:
            text = f"{self._arrivals.unfinished} messages are not acknowledged; we allow {most}"
            raise ProtocolError(Reason.RECEIVE_MAXIMUM_EXCEEDED, text)

    def _acknowledge_all(self, events: list[Event]) -> list[Event]:
        """Acknowledge all that has arrived; the events that the owner needs to see."""
        told: list[Event] = []
        for event in events:
            if isinstance(event, Arrival):
                self.acknowledge(event)
                if not isinstance(event, Messages):
                    continue
            told.append(event)
        return told

    def _read(self, data: bytes, events: list[Event]) -> int:
        """Take whole packets; where they end."""
        at, size = 0, len(data)
        version, arrivals = self._connect.version, self._arrivals
        largest = self._connect.properties.get("maximum_packet_size", LARGEST)
        while at < size and not self._over:
            first = data[at]
            if not self.connected and first >> 4 not in _BEFORE_CONNACK:
                raise ProtocolError(Reason.PROTOCOL_ERROR, f"expected CONNACK, got a packet of type {first >> 4}")
            if first in _ACKNOWLEDGEMENTS and size - at >= 4 and data[at + 1] == 2:
                identifier, count = read_ack_run(_ACKNOWLEDGEMENTS[first], data, at)
                if not identifier:
                    raise ProtocolError(Reason.PROTOCOL_ERROR, "an acknowledgement of packet identifier 0")
                arrivals.end_run()
                self._acknowledged(first, identifier, count, Reason.SUCCESS, Properties(), events)
                at += 4 * count
                continue
            body, end = _bounds(data, at, size, largest, version)
            if end > size:
                self._needed = end - at
                break
            if first >> 4 == PacketType.PUBLISH:
                at = arrivals.take(data, at, body, end)
            else:
                arrivals.end_run()
                self._take(decode(first, data[body:end], version), events)
                at = end
        return at

    def _take(self, packet: Packet, events: list[Event]) -> None:
        match packet:
            case packets.PubAck() | packets.PubRec() | packets.PubRel() | packets.PubComp():
                kind = _KINDS[type(packet)]
                self._acknowledged(kind, packet.packet_id, 1, packet.reason, packet.properties, events)
            case packets.SubAck() | packets.UnsubAck():
                if self._in_flight.answered(packet.packet_id):
                    events.append(packet)
            case packets.PingResp():
                pass
            case ConnAck():
                self._admitted(packet, events)
            case packets.Auth():
                if packet.properties.get("authentication_method") != self._authentication_method:
                    raise ProtocolError(
                        Reason.PROTOCOL_ERROR, "the server sent AUTH with another method than CONNECT's"
                    )
                events.append(packet)
            case packets.Disconnect():
                self._end()
                events.append(Disconnected(Reason(packet.reason), packet.properties))
            case _:
                text = f"the server sent {type(packet).__name__.upper()}, which only clients do"
                raise ProtocolError(Reason.PROTOCOL_ERROR, text)

    @property
    def _authentication_method(self) -> str:
        return self._connect.properties.get("authentication_method", "")

    def _admitted(self, connack: ConnAck, events: list[Event]) -> None:
        connect, told = self._connect, connack.properties
        if self.connected:
            raise ProtocolError(Reason.PROTOCOL_ERROR, "the server sent CONNACK twice")
        reason = Reason(connack.reason) if connect.version == 5 else reason_of_connack_v3(connack.reason)
        if reason:
            self._end()
            events.append(Refused(reason, connack))
            return
        if connect.clean_start and connack.session_present:
            raise ProtocolError(Reason.PROTOCOL_ERROR, "the server has a session, but we asked for a new one")
        present = not connect.clean_start if connect.version == 3 else connack.session_present
        self.connected = True
        self._connack = connack
        self._keep_alive.interval = told.get("server_keep_alive", connect.keep_alive)
        largest = min(LARGEST, told.get("maximum_packet_size", LARGEST))
        aliases = min(self._topic_aliases, told.get("topic_alias_maximum", 0))
        self._publishing = Publishing(connect.version, largest, aliases)
        events.append(Connected(connack, present))
        maximum = told.get("receive_maximum", LAST_ID)
        if present:
            for identifier, count in self._in_flight.resume(maximum):
                self.output.append(ack_run(PUBRELS, identifier, count))
            self._publish_again(events)
        else:
            self.received.clear()
            events += [Forgotten(numbers) for numbers in self._in_flight.forget(maximum)]

    def _acknowledged(
        self, kind: int, identifier: int, count: int, reason: int, properties: Properties, events: list[Event]
    ) -> None:
        """Acknowledgements of one kind for consecutive identifiers."""
        in_flight = self._in_flight
        if kind == _PUBACK:
            _tell(in_flight.acknowledged(identifier, count), reason, properties, events)
        elif kind == _PUBREC:
            refused = reason >= _FIRST_FAILURE
            _tell(in_flight.received(identifier, count, refused=refused), reason, properties, events)
            if not refused:
                self._keep_alive.sent(self._now)
                self.output.append(ack_run(PUBRELS, identifier, count))
        elif kind == _PUBCOMP:
            in_flight.completed(identifier, count)
        else:
            ids = range(identifier, identifier + count)
            self.received.difference_update(ids)
            events.append(Released(self._connection, ids))
        if kind in {_PUBACK, _PUBREC, _PUBCOMP}:
            self._publish_again(events)

    # Ends

    def _end(self) -> None:
        """Nothing is read or written any more on this connection."""
        self._over = True
        self.connected = False
        self._rest = Pieces()

    def _write(self, packet: Packet) -> None:
        data = encode(packet, self._connect.version)
        largest = self._connack.properties.get("maximum_packet_size", LARGEST)
        if len(data) > largest and self.connected:
            raise ServerLimit(f"{type(packet).__name__.upper()} has {len(data)} bytes; the server takes {largest}")
        self._keep_alive.sent(self._now)
        self.output.append(data)


_KINDS: Final[dict[type, int]] = {
    packets.PubAck: _PUBACK,
    packets.PubRec: _PUBREC,
    packets.PubRel: _PUBREL,
    packets.PubComp: _PUBCOMP,
}


def _bounds(data: bytes, at: int, size: int, largest: int, version: int) -> tuple[int, int]:
    """Where the body of the packet at `at` starts and ends; beyond `size` if the packet is not whole."""
    # Lengths of one and two bytes are decoded inline: this runs for every packet that is not part of a run.
    if size - at > 4:
        length, body = data[at + 1], at + 2
        if length > 0x7F:
            length += (data[body] << 7) - 0x80
            body += 1
        if length <= 0x7F if body == at + 2 else 0x7F < length <= 0x3FFF:
            end = body + length
            if end - at <= largest:
                return body, end
    return packet_bounds(data, at, largest, version) or (at, size + 1)


def _tell(numbers: list[range], reason: int, properties: Properties, events: list[Event]) -> None:
    """Messages are acknowledged; those that touch the ones before, and went the same way, are one event with them."""
    for some in numbers:
        last = events[-1] if events else None
        if (
            isinstance(last, Acknowledged)
            and last.numbers.stop == some.start
            and (last.reason, last.properties) == (reason, properties)
        ):
            events[-1] = Acknowledged(range(last.numbers.start, some.stop), reason, properties)
        else:
            events.append(Acknowledged(some, reason, properties))
