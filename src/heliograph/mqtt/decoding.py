"""Decodes packets, as strictly as the standard demands: every error is a ProtocolError with the standard's reason.

Numbers like [MQTT-3.3.1-4] are the normative statements of MQTT 5; sections are those of MQTT 5, too, unless another
version is named. Many packets of one length are taken by `runs` before they get here."""

from collections.abc import Callable, Iterator

from heliograph.mqtt import packets
from heliograph.mqtt.connect_decoding import decode_connect
from heliograph.mqtt.errors import MalformedPacket, ProtocolError
from heliograph.mqtt.framing import PacketType
from heliograph.mqtt.legal_reasons import legal_reason
from heliograph.mqtt.packets import Packet, Publish, Subscription
from heliograph.mqtt.primitives import Reader
from heliograph.mqtt.properties import Properties, read_properties
from heliograph.mqtt.reasons import Reason
from heliograph.mqtt.strings import check_topic_filter, check_topic_name, split_share

_DUP = 0x08
# SUBSCRIBE, UNSUBSCRIBE and PUBREL have the flags 2, all others but PUBLISH 0 (section 2.1.3).
_FLAGS_2 = frozenset({PacketType.SUBSCRIBE, PacketType.UNSUBSCRIBE, PacketType.PUBREL})
_V3_REFUSED = 0x80
# `PacketType(n)` would take longer than decoding a small packet; even an attribute lookup of a member is noticeable.
_KINDS = (None, *PacketType)
_GOODBYE = packets.Disconnect()
_PUBLISH, _CONNECT, _AUTH = PacketType.PUBLISH, PacketType.CONNECT, PacketType.AUTH


def decode(first: int, body: bytes, version: int) -> Packet:
    """Decode the packet with this first byte and this body (what follows the fixed header).

    `version` is 3, 4 or 5, as in CONNECT; CONNECT itself is read by the version that it names. Bytes that break a
    rule of the standard raise ProtocolError, and nothing else is ever raised.
    """
    if first >> 4 == _PUBLISH:
        return _publish(first & 0x0F, body, version)
    if first < 0x10:
        raise MalformedPacket("packet type 0 does not exist")
    kind = _KINDS[first >> 4]
    if kind is _CONNECT:
        return _connect(first & 0x0F, body)
    check_flags(kind, first & 0x0F, version)
    if kind is _AUTH and version < 5:
        raise MalformedPacket("AUTH does not exist before MQTT 5")
    return _DECODERS[kind](body, version)


def _connect(flags: int, body: bytes) -> Packet:
    packet = decode_connect(body)
    if flags and packet.version > 3:  # MQTT 3.1 does not use these bits
        check_flags(PacketType.CONNECT, flags, packet.version)
    return packet


def check_flags(kind: PacketType, flags: int, version: int) -> None:
    """Refuse flags that the standard does not allow for this kind of packet, PUBLISH aside."""
    expected = 2 if kind in _FLAGS_2 else 0
    sent_again = version == 3 and kind in _FLAGS_2 and flags == 2 | _DUP  # only MQTT 3.1 has DUP in these packets
    if flags != expected and not sent_again:
        raise MalformedPacket(f"{kind.name} with flags 0x{flags:X}")


def _publish(flags: int, body: bytes, version: int) -> Publish:
    qos = flags >> 1 & 3
    dup = bool(flags & _DUP)
    # [MQTT-3.3.1-4] for QoS 3, [MQTT-3.3.1-2] for DUP.
    if qos == 3:
        raise MalformedPacket("PUBLISH with QoS 3")
    if dup and qos == 0 and version > 3:
        raise MalformedPacket("PUBLISH with QoS 0 is marked as a duplicate")
    reader = Reader(body, 0, len(body))
    topic = reader.string()
    packet_id = _packet_id(reader) if qos else 0
    properties = _properties(reader, version, PacketType.PUBLISH)
    if topic or version < 5:
        check_topic_name(topic)
    # Only MQTT 5 has an empty topic name, together with a topic alias (section 3.3.2.3.4).
    elif "topic_alias" not in properties:
        raise ProtocolError(Reason.PROTOCOL_ERROR, "PUBLISH has neither a topic name nor a topic alias")
    return Publish(topic, reader.rest(), qos, bool(flags & 1), dup, packet_id, properties)


def _packet_id(reader: Reader) -> int:
    packet_id = reader.u16()
    if packet_id == 0:
        raise ProtocolError(Reason.PROTOCOL_ERROR, "packet identifier is 0")
    return packet_id


def _properties(reader: Reader, version: int, place: PacketType) -> Properties:
    return read_properties(reader, place) if version == 5 else Properties()


def _reason_and_properties(reader: Reader, kind: PacketType) -> tuple[Reason, Properties]:
    """Decode the end of acknowledgements, DISCONNECT and AUTH: reason 0 and empty properties may be left out."""
    reason = legal_reason(reader.byte(), kind) if reader.left else Reason.SUCCESS
    properties = _properties(reader, 5, kind) if reader.left else Properties()
    reader.finish()
    return reason, properties


def _connack(body: bytes, version: int) -> packets.ConnAck:
    if version == 5 and body == b"\0\1":  # a server that knows only MQTT 3 refuses in its own format
        return packets.ConnAck(False, Reason.UNSUPPORTED_PROTOCOL_VERSION)
    reader = Reader(body, 0, len(body))
    flags = reader.byte()
    if version == 3:
        flags = 0  # in MQTT 3.1 the byte is reserved, and clients ignore it
    if flags > 1:
        raise MalformedPacket(f"CONNACK with flags 0x{flags:02X}")
    code = reader.byte()
    if version < 5:
        if code > 5:
            raise ProtocolError(Reason.PROTOCOL_ERROR, f"CONNACK cannot carry return code {code}")
        properties = Properties()
    else:
        code = legal_reason(code, PacketType.CONNACK)
        properties = _properties(reader, version, PacketType.CONNACK)
    reader.finish()
    # [MQTT-3.2.2-6]
    if flags and code:
        raise ProtocolError(Reason.PROTOCOL_ERROR, "CONNACK refuses the connection and has a session present")
    return packets.ConnAck(bool(flags), code, properties)


def _acknowledgement(
    kind: PacketType, make: type[packets.PubAck | packets.PubRec | packets.PubRel | packets.PubComp]
) -> Callable[[bytes, int], Packet]:
    def decode_one(body: bytes, version: int) -> Packet:
        reader = Reader(body, 0, len(body))
        packet_id = _packet_id(reader)
        if version < 5:
            reader.finish()
            return make(packet_id)
        return make(packet_id, *_reason_and_properties(reader, kind))

    return decode_one


def _request_head(body: bytes, version: int, kind: PacketType) -> tuple[int, Properties, int]:
    """Decode the beginning of SUBSCRIBE and UNSUBSCRIBE; return the offset of their filters, too."""
    reader = Reader(body, 0, len(body))
    packet_id = _packet_id(reader)
    properties = _properties(reader, version, kind)
    if not reader.left:
        # [MQTT-3.8.3-2] and [MQTT-3.10.3-2]
        raise ProtocolError(Reason.PROTOCOL_ERROR, f"{kind.name} without a topic filter")
    return packet_id, properties, len(body) - reader.left


def read_subscribe(body: bytes, version: int) -> tuple[int, Properties, Callable[[], Iterator[Subscription]]]:
    """Return the packet identifier and properties of SUBSCRIBE, and a function that iterates over its subscriptions."""
    packet_id, properties, start = _request_head(body, version, PacketType.SUBSCRIBE)

    def subscriptions() -> Iterator[Subscription]:
        reader = Reader(body, start, len(body))
        while reader.left:
            yield _subscription(reader.string(), reader.byte(), version)

    return packet_id, properties, subscriptions


def _subscribe(body: bytes, version: int) -> packets.Subscribe:
    packet_id, properties, subscriptions = read_subscribe(body, version)
    return packets.Subscribe(packet_id, tuple(subscriptions()), properties)


def _subscription(topic_filter: str, options: int, version: int) -> Subscription:
    check_topic_filter(topic_filter)
    qos = options & 3
    if version < 5:
        if options > 2:
            raise MalformedPacket(f"SUBSCRIBE asks for QoS {options}")
        return Subscription(topic_filter, qos)
    # Section 3.8.3.1: reserved bits [MQTT-3.8.3-5], QoS 3, retain handling 3, no-local on a shared subscription
    # [MQTT-3.8.3-4].
    if options & 0xC0:
        raise MalformedPacket("reserved subscription options are set")
    if qos == 3:
        raise ProtocolError(Reason.PROTOCOL_ERROR, "SUBSCRIBE asks for QoS 3")
    retain_handling = options >> 4
    if retain_handling == 3:
        raise ProtocolError(Reason.PROTOCOL_ERROR, "SUBSCRIBE asks for retain handling 3")
    no_local = bool(options & 0x04)
    if no_local and split_share(topic_filter)[0] is not None:
        raise ProtocolError(Reason.PROTOCOL_ERROR, f"no-local on shared subscription {topic_filter!r}")
    return Subscription(topic_filter, qos, no_local, bool(options & 0x08), retain_handling)


def _suback(body: bytes, version: int) -> packets.SubAck:
    reader = Reader(body, 0, len(body))
    packet_id = _packet_id(reader)
    properties = _properties(reader, version, PacketType.SUBACK)
    codes = reader.rest()
    if not codes:
        raise MalformedPacket("SUBACK without a reason code")
    if version == 5:
        return packets.SubAck(packet_id, tuple(legal_reason(code, PacketType.SUBACK) for code in codes), properties)
    for code in codes:
        if code > 2 and code != _V3_REFUSED:
            raise ProtocolError(Reason.PROTOCOL_ERROR, f"SUBACK cannot carry return code 0x{code:02X}")
    return packets.SubAck(packet_id, tuple(codes), properties)


def read_unsubscribe(body: bytes, version: int) -> tuple[int, Properties, Callable[[], Iterator[str]]]:
    """Return the packet identifier and properties of UNSUBSCRIBE, and a function that iterates over its filters."""
    packet_id, properties, start = _request_head(body, version, PacketType.UNSUBSCRIBE)

    def filters() -> Iterator[str]:
        reader = Reader(body, start, len(body))
        while reader.left:
            topic_filter = reader.string()
            check_topic_filter(topic_filter)
            yield topic_filter

    return packet_id, properties, filters


def _unsubscribe(body: bytes, version: int) -> packets.Unsubscribe:
    packet_id, properties, filters = read_unsubscribe(body, version)
    return packets.Unsubscribe(packet_id, tuple(filters()), properties)


def _unsuback(body: bytes, version: int) -> packets.UnsubAck:
    reader = Reader(body, 0, len(body))
    packet_id = _packet_id(reader)
    if version < 5:
        reader.finish()
        return packets.UnsubAck(packet_id)
    properties = _properties(reader, version, PacketType.UNSUBACK)
    codes = reader.rest()
    if not codes:
        raise MalformedPacket("UNSUBACK without a reason code")
    return packets.UnsubAck(packet_id, tuple(legal_reason(code, PacketType.UNSUBACK) for code in codes), properties)


def _pingreq(body: bytes, _version: int) -> packets.PingReq:
    Reader(body, 0, len(body)).finish()
    return packets.PingReq()


def _pingresp(body: bytes, _version: int) -> packets.PingResp:
    Reader(body, 0, len(body)).finish()
    return packets.PingResp()


def _disconnect(body: bytes, version: int) -> packets.Disconnect:
    if body:
        reader = Reader(body, 0, len(body))
        if version == 5:
            return packets.Disconnect(*_reason_and_properties(reader, PacketType.DISCONNECT))
        reader.finish()
    return _GOODBYE


def _auth(body: bytes, _version: int) -> packets.Auth:
    reader = Reader(body, 0, len(body))
    reason, properties = _reason_and_properties(reader, PacketType.AUTH)
    # An empty AUTH is reason 0 without properties (section 3.15.2.1).
    if body and "authentication_method" not in properties:
        raise ProtocolError(Reason.PROTOCOL_ERROR, "AUTH without an authentication method")
    return packets.Auth(reason, properties)


_DECODERS: dict[PacketType, Callable[[bytes, int], Packet]] = {
    PacketType.CONNACK: _connack,
    PacketType.PUBACK: _acknowledgement(PacketType.PUBACK, packets.PubAck),
    PacketType.PUBREC: _acknowledgement(PacketType.PUBREC, packets.PubRec),
    PacketType.PUBREL: _acknowledgement(PacketType.PUBREL, packets.PubRel),
    PacketType.PUBCOMP: _acknowledgement(PacketType.PUBCOMP, packets.PubComp),
    PacketType.SUBSCRIBE: _subscribe,
    PacketType.SUBACK: _suback,
    PacketType.UNSUBSCRIBE: _unsubscribe,
    PacketType.UNSUBACK: _unsuback,
    PacketType.PINGREQ: _pingreq,
    PacketType.PINGRESP: _pingresp,
    PacketType.DISCONNECT: _disconnect,
    PacketType.AUTH: _auth,
}
