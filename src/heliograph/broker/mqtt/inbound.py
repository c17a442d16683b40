"""PUBLISH packets from a client: cut into spans, routed, acknowledged. This is the hot path of the server.

Theory of operation
1. A buffer from the network usually holds many packets. Each step takes the longest run of packets that can be handled
   as one. `take_straight`: QoS 0 packets that are passed on byte for byte to the same receivers, whatever their topics
   and lengths. `take_span`: packets with equal header and length. So most costs are paid per run, not per message.
2. `take_straight` leaves everything unusual to `take_span`, which checks the packet. A ProtocolError ends the
   connection; packets before it in the same buffer have been published.
3. A single message is put into a batch with those of other clients (`delivery.batching`), if the route allows. Before
   a client does anything else, its batch is published, so that its order is kept.
4. Every span goes through `Broker.publish`, which returns how many messages from the front were taken, and how many
   are in the log. The acknowledgement is held back until those are safe.
5. QoS 2: an identifier is in `session.received` from when its message is published until PUBREL. A message whose
   identifier is there is a duplicate: it is acknowledged, and not published again. If publishing fails, the identifier
   is removed, and the client sends the message again. The log has the identifiers with the messages, or as moves
   right behind them; where queues are involved both are one group (`as_a_whole`).
6. A message for very many receivers is delivered in parts, and the server stops reading from the client meanwhile.
   QoS 2 messages are published in one go all the same.
"""

from typing import NamedTuple

from heliograph.broker.broker import Broker
from heliograph.broker.core.slices import Steps
from heliograph.broker.core.span import Published, Span, carried_properties
from heliograph.broker.core.topics import is_reserved
from heliograph.broker.delivery.batching import LARGEST, as_a_whole, not_at_present, note_taken
from heliograph.broker.mqtt.peer import MqttPeer
from heliograph.broker.routing.routes import Route
from heliograph.broker.sessions.identifier_set import IdentifierSet
from heliograph.broker.sessions.session import Subscription
from heliograph.common.bounded_dict import BoundedDict
from heliograph.mqtt import (
    Ids,
    MalformedPacket,
    PacketType,
    ProtocolError,
    Reason,
    decode_properties,
    decode_varint,
    first_ids_of,
    run_length,
)

_QOS0 = 0x30
_DUP = 0x08
_RETAIN = 0x01
_DOLLAR = ord("$")
_TAKEN_BEFORE = Published(Reason.SUCCESS, 1)
_WORTH_A_RUN = {1: 256, 2: 64}
"""Messages with consecutive identifiers, by QoS, from which on a run of its own is faster than a longer mixed one."""
_SHORT_MOST = 2 + 0x7F
"""The longest packet whose length takes one byte."""


class Carried(NamedTuple):
    """The decoded meaning of one set of encoded properties."""

    passed_on: bytes
    """Properties that receivers get as they came, encoded without their length."""
    expiry: int | None
    alias: int | None
    plain: bool
    """Nothing in them keeps the packet from being forwarded byte for byte."""


_NONE = Carried(b"", None, None, True)

# Devices send the same properties over and over, so they are looked up instead of parsed again.
_KNOWN_MOST = 4096
_known_properties: BoundedDict[bytes, Carried] = BoundedDict(_KNOWN_MOST)
_properties_known_of = _known_properties.get  # bound once: this is asked for each packet that comes on its own
_KNOWN_LONGEST = 512


def read_carried(data: bytes, pos: int, end: int) -> tuple[Carried, int]:
    """The properties of a v5 PUBLISH at `pos`, and where its payload starts."""
    if pos < end and not data[pos]:
        return _NONE, pos + 1
    length = decode_varint(data, pos, end)
    if length is None or length[1] + length[0] > end:
        raise MalformedPacket("the properties are longer than the packet")
    stop = length[1] + length[0]
    raw = data[pos:stop]
    known = _properties_known_of(raw)
    if known is None:
        properties, _ = decode_properties(data, pos, end, PacketType.PUBLISH)
        if "subscription_identifier" in properties:
            raise ProtocolError(Reason.PROTOCOL_ERROR, "a client's PUBLISH has a subscription identifier")
        expiry, alias = properties.get("message_expiry_interval"), properties.get("topic_alias")
        known = Carried(carried_properties(properties), expiry, alias, expiry is None and alias is None)
        if len(raw) <= _KNOWN_LONGEST:
            _known_properties[raw] = known
    return known, stop


def take_straight(connection: MqttPeer, data: bytes, pos: int) -> int:
    """Forward QoS 0 packets byte for byte as long as they have the same receivers. Returns where that ended.

    Stops at anything unusual, maybe at once; `take_span` then checks the packet. Written as one loop that reads the
    lengths in place: for short runs, calls would cost more than the work.
    """
    broker = connection.broker
    routes = broker.routes.cache
    version5 = connection.version5
    max_packet = connection.max_packet
    size = len(data)
    start = pos
    count = 0
    route: Route | None = None
    receivers: tuple[Subscription, ...] | None = None
    body = head_end = 0
    while size - pos > 4 and data[pos] == _QOS0:
        length = data[pos + 1]
        body = pos + 2
        if length > 0x7F:  # a longer remaining length: two bytes are read here, anything else is left to the codec
            length += (data[body] << 7) - 0x80
            body += 1
            if not 0x7F < length <= 0x3FFF:
                break
        end = body + length
        if end > size or length < 2 or end - pos > max_packet:
            break
        head_end = body + 2 + (data[body] << 8 | data[body + 1])
        if head_end > end:
            break
        topic = data[body + 2 : head_end]
        this = routes.get(topic)
        if this is not route or this is None:
            if count or not topic or topic[0] == _DOLLAR:
                break
            if this is None:
                this = connection.find_route(topic)
            receivers = this.straight5 if version5 else this.straight3
            if receivers is None:
                break
            route = this
        if version5:
            if head_end >= end:
                break
            if data[head_end]:
                try:
                    carried, head_end = read_carried(data, head_end, end)
                except ProtocolError:
                    break
                if not carried.plain:
                    break
            else:
                head_end += 1
        # The next packet has the same head: find the whole run of such packets at once.
        if end < size and data.startswith(data[pos:head_end], end):
            run = run_length(data, pos, end - pos, head_end - pos, 0)
            count += run
            pos += run * (end - pos)
        else:
            count += 1
            pos = end
    if not count:
        return start
    assert receivers is not None
    if connection.batch is not None:
        broker.batches.publish()
    if count == 1 and start == 0 and pos == size and body == 2 and max_packet > _SHORT_MOST:
        connection.remember(data[2:head_end], receivers)
    forward(broker, receivers, data[start:pos], count)
    return pos


def forward(broker: Broker, receivers: tuple[Subscription, ...], chunk: bytes, count: int) -> None:
    """Send `count` QoS 0 packets to all receivers of a straight route.

    `Turn.write` is repeated inline, to save calls.
    """
    sent = 0
    for subscription in receivers:
        outlet = subscription.outlet
        if outlet.open:
            chunks = outlet.chunks
            if not chunks:
                broker.turn.dirty.append(outlet)
            chunks.append(chunk)
            subscription.sent += count
            sent += count
        elif outlet.connected:
            broker.delivery.memory.hold_late(subscription, chunk, count)
    stats = broker.stats
    stats.messages_received += count
    stats.messages_sent += sent


def take_span(connection: MqttPeer, data: bytes, pos: int, body: int, end: int) -> int:
    """Handle a span: the packet at `pos` and those after it with equal header and length. Returns where that ended.

    The first packet is whole: what follows its fixed header is at `body`, and it ends at `end`.
    """
    version5 = connection.version5
    first = data[pos]
    qos = first >> 1 & 3
    if qos == 3:
        raise MalformedPacket("PUBLISH with QoS 3")
    if first & _DUP and not qos and connection.version > 3:
        raise MalformedPacket("PUBLISH with QoS 0 and DUP")
    if end - body < 2:
        raise MalformedPacket("PUBLISH without a topic name")
    name_end = body + 2 + (data[body] << 8 | data[body + 1])
    head_end = name_end + 2 if qos else name_end
    if head_end > end:
        raise MalformedPacket("PUBLISH shorter than its topic name")
    if qos and not (data[name_end] or data[name_end + 1]):
        raise ProtocolError(Reason.PROTOCOL_ERROR, "PUBLISH with packet identifier 0")
    carried = _NONE
    if version5:
        carried, head_end = read_carried(data, head_end, end)
    topic = data[body + 2 : name_end]
    if carried.alias is not None or not topic:
        topic = connection.resolve_alias(topic, carried.alias)
    route = connection.broker.routes.cache.get(topic) or connection.find_route(topic)
    stride, id_at = end - pos, name_end - pos if qos else 0
    count = 1
    if end < len(data) and not first & (_DUP | _RETAIN) and data.startswith(data[pos:name_end], end):
        count = run_length(data, pos, stride, head_end - pos, id_at)
        if count > route.most:
            count = route.most
            connection.took_long = True
    # A remaining length with more bytes than it needs ends in a zero; not all receivers would take that.
    verbatim = first & (_DUP | _RETAIN) == 0 and carried.alias is None and data[body - 1] != 0
    if (
        count == 1
        and stride <= LARGEST
        and verbatim
        and carried.plain
        and (qos or route.streams or route.bound)
        and route.gathers
        and topic[0] != _DOLLAR
        and (qos < 2 or (not route.bound and note_received(connection, data[name_end] << 8 | data[name_end + 1])))
    ):
        key = route.batch_key(topic, qos, version5)
        packet = data[pos:end]
        if stride <= _SHORT_MOST and qos and stride == len(data) and connection.max_packet > _SHORT_MOST:
            connection.remember_batched(packet, name_end, route, key)
        connection.broker.batches.gather(connection, route, key, packet, name_end - pos, head_end - pos, qos)
        return end
    if connection.batch is not None:
        connection.broker.batches.publish()
    chunk = data[pos : pos + count * stride]
    ids: Ids = range(0)
    if qos:
        ids = first_ids_of(chunk, id_at, stride, _WORTH_A_RUN[qos])
        if 0 in ids:
            ids = ids[: ids.index(0)]  # not the first one, that has been looked at: the rest is the next span's error
        if len(ids) < count:
            count = len(ids)
            chunk = chunk[: count * stride]
    expires = 0.0 if carried.expiry is None else connection.broker.now() + carried.expiry
    span = Span(
        topic,
        chunk,
        count,
        head=head_end - pos,
        qos=qos,
        id_at=id_at,
        version5=version5,
        retain=bool(first & _RETAIN),
        verbatim=verbatim,
        properties=carried.passed_on,
        expires=expires,
    )
    connection.broker.stats.messages_received += count
    if route.wide and qos < 2:
        _publish_in_parts(connection, span, route, ids)
    elif qos == 0:
        _publish(connection, span, route)
        if (route.streams or route.bound or span.retain) and connection.broker.store is not None:
            connection.broker.store.pause_if_behind(connection.outlet)
    elif qos == 1:
        connection.broker.answers.acknowledge(connection, 1, ids, _publish(connection, span, route))
    else:
        _take_qos2(connection, span, route, ids)
    return pos + count * stride


def _publish(connection: MqttPeer, span: Span, route: Route) -> Published:
    # Only these can be refused. The check is inline, because it is done for every run.
    if (span.version5 or span.topic[0] == _DOLLAR) and (refused := _refused(connection, span, route)):
        return refused
    return connection.broker.publish(span, connection.session, route)


def _refused(connection: MqttPeer, span: Span, route: Route) -> Published | None:
    """Why a span cannot be published by this client, or not at present."""
    broker = connection.broker
    if span.topic.startswith(b"$") and is_reserved(span.topic):
        broker.stats.publishes_refused += span.count
        return Published(Reason.NOT_AUTHORIZED, span.count)
    return not_at_present(broker.store, span, route)


def _publish_in_parts(connection: MqttPeer, span: Span, route: Route, ids: Ids) -> None:
    """Publish to very many receivers, in slices. After a crash, only some of them may have a QoS 1 message.

    The client is answered, and read from, when all receivers have it. QoS 2 messages are published in one go: after a
    crash it would not be known which receivers have them.
    """
    broker, session = connection.broker, connection.session

    def steps() -> Steps:
        published = yield from broker.publish_in_parts(span, session, route)
        if connection.publishing:
            if span.qos:
                connection.broker.answers.acknowledge(connection, 1, ids, published)
            connection.published()

    if refused := _refused(connection, span, route):
        if span.qos:
            connection.broker.answers.acknowledge(connection, 1, ids, refused)
        return
    connection.publishing = connection.took_long = True
    connection.outlet.stop_reading()
    broker.wide.begin(steps())


def note_received(connection: MqttPeer, packet_id: int) -> bool:
    """Remember the identifier of a single QoS 2 message. False if it is a duplicate or there is no room."""
    session = connection.session
    assert session is not None
    if session.received is None:
        session.received = IdentifierSet()
    received = session.received
    if received.count and (  # most devices have one message in flight, so the set is empty
        packet_id in received or received.count >= connection.receive_maximum or not session.has_room_for(received)
    ):
        return False
    received.add(packet_id, packet_id + 1)
    return True


def _take_qos2(connection: MqttPeer, span: Span, route: Route, ids: Ids) -> None:
    """Publish QoS 2 messages that are no duplicates, remember the identifiers until PUBREL, and answer PUBREC."""
    session = connection.session
    assert session is not None
    if session.received is None:
        session.received = IdentifierSet()
    received = session.received
    known = received.known(ids)
    distinct = len(ids) if isinstance(ids, range) else len(set(ids))
    if received.count + distinct - known > connection.receive_maximum:
        raise ProtocolError(Reason.RECEIVE_MAXIMUM_EXCEEDED, "more unreleased QoS 2 messages than receive maximum")
    if not session.has_room_for(received):
        raise ProtocolError(Reason.QUOTA_EXCEEDED, "there is no memory for more unreleased QoS 2 messages")
    if not known and distinct == len(ids):
        try:
            with as_a_whole(connection.broker.turn, session, route):
                published = _publish(connection, span, route)
                if published.reason < Reason.UNSPECIFIED_ERROR:
                    received.add_all(ids[: published.taken])
                    note_taken(connection.broker.store, session, ids, published)
        except Exception:
            received.discard_all(ids)  # nothing was taken: the client has to send the messages again
            raise
        connection.broker.answers.acknowledge(connection, 2, ids, published)
        return
    for index, packet_id in enumerate(ids):
        published = _TAKEN_BEFORE
        if packet_id not in received:
            try:
                with as_a_whole(connection.broker.turn, session, route):
                    published = _publish(connection, span.part(index, index + 1), route)
                    if published.taken and published.reason < Reason.UNSPECIFIED_ERROR:
                        received.add(packet_id, packet_id + 1)
                        note_taken(connection.broker.store, session, [packet_id], published)
            except Exception:
                received.remove(packet_id, packet_id + 1)
                raise
        connection.broker.answers.acknowledge(connection, 2, [packet_id], published)
