"""Wire codec for MQTT 3.1, 3.1.1 and 5: bytes in, packets out, and back. No sockets, no broker."""

from heliograph.mqtt.decoding import decode
from heliograph.mqtt.encoding import encode
from heliograph.mqtt.errors import MalformedPacket, ProtocolError
from heliograph.mqtt.framing import decode_varint, encode_varint, packet_bounds
from heliograph.mqtt.matching import topic_matches
from heliograph.mqtt.packets import (
    Auth,
    ConnAck,
    Connect,
    Disconnect,
    Packet,
    PacketType,
    PingReq,
    PingResp,
    PubAck,
    PubComp,
    Publish,
    PubRec,
    PubRel,
    SubAck,
    Subscribe,
    Subscription,
    UnsubAck,
    Unsubscribe,
    Will,
)
from heliograph.mqtt.properties import Properties, decode_properties, encode_properties
from heliograph.mqtt.reasons import Reason, connack_code_v3
from heliograph.mqtt.strings import (
    check_topic_filter,
    check_topic_name,
    check_topic_of_client,
    decode_utf8,
    split_share,
)

__all__ = [
    "Auth",
    "ConnAck",
    "Connect",
    "Disconnect",
    "MalformedPacket",
    "Packet",
    "PacketType",
    "PingReq",
    "PingResp",
    "Properties",
    "ProtocolError",
    "PubAck",
    "PubComp",
    "PubRec",
    "PubRel",
    "Publish",
    "Reason",
    "SubAck",
    "Subscribe",
    "Subscription",
    "UnsubAck",
    "Unsubscribe",
    "Will",
    "check_topic_filter",
    "check_topic_name",
    "check_topic_of_client",
    "connack_code_v3",
    "decode",
    "decode_properties",
    "decode_utf8",
    "decode_varint",
    "encode",
    "encode_properties",
    "encode_varint",
    "packet_bounds",
    "split_share",
    "topic_matches",
]
