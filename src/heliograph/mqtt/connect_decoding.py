"""Decodes CONNECT (MQTT 5 and 3.1.1, section 3.1). It has a module of its own because it has the most rules.

The order of checks follows the order of fields in the packet: name and version, flags, properties, client identifier,
will, user name, password. The version decides which rules apply, so nothing is checked before it is known."""

from struct import Struct

from heliograph.mqtt.errors import MalformedPacket, ProtocolError
from heliograph.mqtt.framing import PacketType
from heliograph.mqtt.packets import Connect, Will
from heliograph.mqtt.primitives import Reader
from heliograph.mqtt.properties import Properties, read_properties
from heliograph.mqtt.reasons import Reason
from heliograph.mqtt.strings import check_characters, check_topic_of_client

# Protocol name and level -> version, and whether the client is a bridge. Bridges of mosquitto set bit 7 of the level,
# which no standard has. MQTT 5 has subscription options instead (no local, retain as published).
_PROTOCOLS = {
    ("MQIsdp", 3): (3, False),
    ("MQIsdp", 0x83): (3, True),
    ("MQTT", 4): (4, False),
    ("MQTT", 0x84): (4, True),
    ("MQTT", 5): (5, False),
}
# The usual beginning of the packet, and the fields behind the name: level, flags, keep-alive.
_NAME = b"\x00\x04MQTT"
_USUAL = (_NAME + b"\x04", _NAME + b"\x05")
_USUAL_FIELDS = Struct(">BBH")
_USUAL_SIZE = len(_NAME) + _USUAL_FIELDS.size
_SHORTEST_SIZE = _USUAL_SIZE + 2  # only a client identifier follows; its two-byte length is included here

_RESERVED = 0x01
_CLEAN_START = 0x02
_WILL = 0x04
_WILL_RETAIN = 0x20
_PASSWORD = 0x40
_USERNAME = 0x80


def decode_connect(body: bytes) -> Connect:
    """Decode CONNECT from what follows its fixed header; the packet itself says which version it speaks."""
    if body.startswith(_USUAL) and len(body) >= _USUAL_SIZE:
        version, flags, keep_alive = _USUAL_FIELDS.unpack_from(body, len(_NAME))
        if version == 4 and not flags & ~_CLEAN_START and len(body) == _SHORTEST_SIZE + (body[10] << 8 | body[11]):
            # The fast way for most devices: MQTT 3.1.1, only a client identifier, in plain ASCII.
            name = body[_SHORTEST_SIZE:]
            if name and name.isascii() and (client_id := name.decode()).isprintable():
                return Connect(client_id, 4, flags > 0, keep_alive)
        reader, bridge = Reader(body, _USUAL_SIZE, len(body)), False
    else:
        reader = Reader(body, 0, len(body))
        version, bridge = _version(reader)
        flags, keep_alive = reader.byte(), reader.u16()
    if flags & ~_CLEAN_START:
        _check_flags(flags, version)
    clean_start = bool(flags & _CLEAN_START)
    properties = read_properties(reader, PacketType.CONNECT) if version == 5 else Properties()
    client_id = reader.string()
    _check_client_id(client_id, version, clean_start)
    will = _will(reader, version, flags) if flags & _WILL else None
    # MQTT 3.1 (section 3.1) allows these two flags with the fields missing at the end of the packet.
    may_lack = version == 3
    username = reader.string() if flags & _USERNAME and not (may_lack and not reader.left) else None
    password = reader.binary() if flags & _PASSWORD and not (may_lack and not reader.left) else None
    if username is not None:
        check_characters(username, "user name")
    reader.finish()
    return Connect(client_id, version, clean_start, keep_alive, username, password, will, properties, bridge)


def maximum_packet_size(body: bytes) -> int:
    """The largest packet that an MQTT 5 client takes, 0 for any, from a CONNECT that may be malformed further on."""
    reader = Reader(body, 0, len(body))
    try:
        version, _ = _version(reader)
        reader.byte()
        reader.u16()
        return read_properties(reader, PacketType.CONNECT).get("maximum_packet_size", 0) if version == 5 else 0
    except ProtocolError:
        return 0


def _version(reader: Reader) -> tuple[int, bool]:
    """Which version the client speaks, and whether it is a bridge."""
    name = reader.string()
    level = reader.byte()
    found = _PROTOCOLS.get((name, level))
    if found is None:
        raise ProtocolError(
            Reason.UNSUPPORTED_PROTOCOL_VERSION,
            f"protocol {name!r} level {level}; expected 'MQIsdp' level 3 or 'MQTT' level 4 or 5",
        )
    return found


def _check_flags(flags: int, version: int) -> None:
    # MQTT 3.1 ignores unused bits. From 3.1.1 on: reserved bit [MQTT-3.1.2-3], will QoS and will retain without a will
    # [MQTT-3.1.2-11, -13 in MQTT 5], will QoS 3 [MQTT-3.1.2-12 in MQTT 5].
    if version > 3 and flags & _RESERVED:
        raise MalformedPacket("the reserved CONNECT flag is set")
    if version > 3 and not flags & _WILL and (_will_qos(flags) or flags & _WILL_RETAIN):
        raise MalformedPacket("CONNECT has a QoS or retain flag for a will, but no will")
    if _will_qos(flags) == 3:
        raise MalformedPacket("the will's QoS is 3")
    # [MQTT-3.1.2-22] of 3.1.1. MQTT 5 allows a password without a user name (section 3.1.2.9).
    if version < 5 and flags & _PASSWORD and not flags & _USERNAME:
        raise ProtocolError(Reason.PROTOCOL_ERROR, "CONNECT has a password but no user name")


def _will_qos(flags: int) -> int:
    return flags >> 3 & 3


def _check_client_id(client_id: str, version: int, clean_start: bool) -> None:
    if client_id:
        check_characters(client_id, "client identifier")
        return
    if version == 5:
        return
    # 3.1.1: an empty identifier needs a clean session [MQTT-3.1.3-7, -8]; 3.1 wants 1 to 23 characters. MQTT 5: the
    # server assigns one (section 3.1.3.1), whatever clean start is.
    if version == 3 or not clean_start:
        raise ProtocolError(Reason.CLIENT_IDENTIFIER_NOT_VALID, "an empty client identifier needs a clean session")


def _will(reader: Reader, version: int, flags: int) -> Will:
    properties = read_properties(reader, "will") if version == 5 else Properties()
    topic = reader.string()
    check_topic_of_client(topic)
    return Will(topic, reader.binary(), _will_qos(flags), bool(flags & _WILL_RETAIN), properties)
