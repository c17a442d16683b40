"""Bytes from packets, in the shortest form that the standard allows."""

from collections.abc import Callable
from typing import Any

from heliograph.mqtt import packets
from heliograph.mqtt.framing import PacketType, encode_varint
from heliograph.mqtt.packets import Publish
from heliograph.mqtt.primitives import U16, pack_binary, pack_byte, pack_string
from heliograph.mqtt.properties import Properties, encode_properties
from heliograph.mqtt.reasons import Reason, connack_code_v3

_V3_REFUSED = 0x80


def encode(packet: packets.Packet, version: int) -> bytes:
    """The whole packet, fixed header included, as this version (3, 4 or 5) writes it.

    What the version cannot say is left out: properties before MQTT 5, reasons where MQTT 3 has none. CONNECT is
    written in the version that it names. ValueError or struct.error: a field is too large for the wire.
    """
    first, body_of = _ENCODERS[type(packet)]
    body = body_of(packet, version)
    if isinstance(packet, Publish):
        first |= packet.dup << 3 | packet.qos << 1 | packet.retain
    return pack_byte(first) + encode_varint(len(body)) + body


def _properties(properties: Properties, version: int) -> bytes:
    return encode_properties(properties) if version == 5 else b""


def _reason_and_properties(reason: int, properties: Properties, version: int) -> bytes:
    if version < 5 or (reason == Reason.SUCCESS and not properties):
        return b""
    return pack_byte(reason) + (encode_properties(properties) if properties else b"")


def _connect(packet: packets.Connect, _version: int) -> bytes:
    version, will = packet.version, packet.will
    flags = packet.clean_start << 1 | (packet.password is not None) << 6 | (packet.username is not None) << 7
    payload = [pack_string(packet.client_id)]
    if will is not None:
        flags |= 0x04 | will.qos << 3 | will.retain << 5
        payload += (_properties(will.properties, version), pack_string(will.topic), pack_binary(will.payload))
    if packet.username is not None:
        payload.append(pack_string(packet.username))
    if packet.password is not None:
        payload.append(pack_binary(packet.password))
    name = pack_string("MQIsdp" if version == 3 else "MQTT")
    head = name + bytes((version | packet.bridge << 7, flags)) + U16.pack(packet.keep_alive)
    return head + _properties(packet.properties, version) + b"".join(payload)


def _connack(packet: packets.ConnAck, version: int) -> bytes:
    if version == 5:
        return bytes((packet.session_present, packet.reason)) + encode_properties(packet.properties)
    session_present = packet.session_present and version == 4  # MQTT 3.1 does not say
    code = connack_code_v3(packet.reason) if packet.reason >= 0x80 else packet.reason
    return bytes((session_present, code))


def _publish(packet: Publish, version: int) -> bytes:
    packet_id = U16.pack(packet.packet_id) if packet.qos else b""
    return pack_string(packet.topic) + packet_id + _properties(packet.properties, version) + packet.payload


def _acknowledgement(packet: packets.PubAck | packets.PubRec | packets.PubRel | packets.PubComp, version: int) -> bytes:
    return U16.pack(packet.packet_id) + _reason_and_properties(packet.reason, packet.properties, version)


def _subscribe(packet: packets.Subscribe, version: int) -> bytes:
    subscriptions = b"".join(pack_string(one.filter) + _options(one, version) for one in packet.subscriptions)
    return U16.pack(packet.packet_id) + _properties(packet.properties, version) + subscriptions


def _options(one: packets.Subscription, version: int) -> bytes:
    if version < 5:
        return pack_byte(one.qos)
    return pack_byte(one.qos | one.no_local << 2 | one.retain_as_published << 3 | one.retain_handling << 4)


def _suback(packet: packets.SubAck, version: int) -> bytes:
    if version == 5:
        return U16.pack(packet.packet_id) + encode_properties(packet.properties) + bytes(packet.reasons)
    return U16.pack(packet.packet_id) + bytes(min(reason, _V3_REFUSED) for reason in packet.reasons)


def _unsubscribe(packet: packets.Unsubscribe, version: int) -> bytes:
    filters = b"".join(map(pack_string, packet.filters))
    return U16.pack(packet.packet_id) + _properties(packet.properties, version) + filters


def _unsuback(packet: packets.UnsubAck, version: int) -> bytes:
    if version < 5:
        return U16.pack(packet.packet_id)
    return U16.pack(packet.packet_id) + encode_properties(packet.properties) + bytes(packet.reasons)


def _empty(_packet: packets.PingReq | packets.PingResp, _version: int) -> bytes:
    return b""


def _disconnect(packet: packets.Disconnect, version: int) -> bytes:
    return _reason_and_properties(packet.reason, packet.properties, version)


def _auth(packet: packets.Auth, _version: int) -> bytes:
    return _reason_and_properties(packet.reason, packet.properties, 5)


# Packet class -> first byte (PUBLISH adds its own flags) and what writes the rest.
_ENCODERS: dict[type, tuple[int, Callable[[Any, int], bytes]]] = {
    packets.Connect: (PacketType.CONNECT << 4, _connect),
    packets.ConnAck: (PacketType.CONNACK << 4, _connack),
    Publish: (PacketType.PUBLISH << 4, _publish),
    packets.PubAck: (PacketType.PUBACK << 4, _acknowledgement),
    packets.PubRec: (PacketType.PUBREC << 4, _acknowledgement),
    packets.PubRel: (PacketType.PUBREL << 4 | 2, _acknowledgement),
    packets.PubComp: (PacketType.PUBCOMP << 4, _acknowledgement),
    packets.Subscribe: (PacketType.SUBSCRIBE << 4 | 2, _subscribe),
    packets.SubAck: (PacketType.SUBACK << 4, _suback),
    packets.Unsubscribe: (PacketType.UNSUBSCRIBE << 4 | 2, _unsubscribe),
    packets.UnsubAck: (PacketType.UNSUBACK << 4, _unsuback),
    packets.PingReq: (PacketType.PINGREQ << 4, _empty),
    packets.PingResp: (PacketType.PINGRESP << 4, _empty),
    packets.Disconnect: (PacketType.DISCONNECT << 4, _disconnect),
    packets.Auth: (PacketType.AUTH << 4, _auth),
}
