"""Which reason codes each packet of MQTT 5 can carry."""

from heliograph.mqtt.errors import ProtocolError
from heliograph.mqtt.framing import PacketType
from heliograph.mqtt.reasons import Reason

_R = Reason

_PUBLISH_ANSWER = frozenset(
    {
        _R.SUCCESS,
        _R.NO_MATCHING_SUBSCRIBERS,
        _R.UNSPECIFIED_ERROR,
        _R.IMPLEMENTATION_SPECIFIC_ERROR,
        _R.NOT_AUTHORIZED,
        _R.TOPIC_NAME_INVALID,
        _R.PACKET_IDENTIFIER_IN_USE,
        _R.QUOTA_EXCEEDED,
        _R.PAYLOAD_FORMAT_INVALID,
    }
)
_RELEASE = frozenset({_R.SUCCESS, _R.PACKET_IDENTIFIER_NOT_FOUND})
_UNSUBSCRIBE_FAILURES = frozenset(
    {
        _R.UNSPECIFIED_ERROR,
        _R.IMPLEMENTATION_SPECIFIC_ERROR,
        _R.NOT_AUTHORIZED,
        _R.TOPIC_FILTER_INVALID,
        _R.PACKET_IDENTIFIER_IN_USE,
    }
)
_REFUSED_FEATURES = frozenset(
    {
        _R.SHARED_SUBSCRIPTIONS_NOT_SUPPORTED,
        _R.SUBSCRIPTION_IDENTIFIERS_NOT_SUPPORTED,
        _R.WILDCARD_SUBSCRIPTIONS_NOT_SUPPORTED,
    }
)

_FAILURES = frozenset(reason for reason in Reason if reason >= 0x80)
_ONLY_WHILE_CONNECTED = _REFUSED_FEATURES | {
    _R.SERVER_SHUTTING_DOWN,
    _R.KEEP_ALIVE_TIMEOUT,
    _R.SESSION_TAKEN_OVER,
    _R.TOPIC_FILTER_INVALID,
    _R.RECEIVE_MAXIMUM_EXCEEDED,
    _R.TOPIC_ALIAS_INVALID,
    _R.MESSAGE_RATE_TOO_HIGH,
    _R.ADMINISTRATIVE_ACTION,
    _R.MAXIMUM_CONNECT_TIME,
}
_ONLY_AT_CONNECT = frozenset(
    {
        _R.UNSUPPORTED_PROTOCOL_VERSION,
        _R.CLIENT_IDENTIFIER_NOT_VALID,
        _R.BAD_USER_NAME_OR_PASSWORD,
        _R.SERVER_UNAVAILABLE,
        _R.BANNED,
    }
)
_ABOUT_PACKET_IDENTIFIERS = frozenset({_R.PACKET_IDENTIFIER_IN_USE, _R.PACKET_IDENTIFIER_NOT_FOUND})

LEGAL_REASONS = {
    PacketType.CONNACK: (_FAILURES - _ONLY_WHILE_CONNECTED - _ABOUT_PACKET_IDENTIFIERS) | {_R.SUCCESS},
    PacketType.PUBACK: _PUBLISH_ANSWER,
    PacketType.PUBREC: _PUBLISH_ANSWER,
    PacketType.PUBREL: _RELEASE,
    PacketType.PUBCOMP: _RELEASE,
    PacketType.SUBACK: _UNSUBSCRIBE_FAILURES
    | _REFUSED_FEATURES
    | {_R.GRANTED_QOS_0, _R.GRANTED_QOS_1, _R.GRANTED_QOS_2, _R.QUOTA_EXCEEDED},
    PacketType.UNSUBACK: _UNSUBSCRIBE_FAILURES | {_R.SUCCESS, _R.NO_SUBSCRIPTION_EXISTED},
    PacketType.DISCONNECT: (_FAILURES - _ONLY_AT_CONNECT - _ABOUT_PACKET_IDENTIFIERS)
    | {_R.NORMAL_DISCONNECTION, _R.DISCONNECT_WITH_WILL},
    PacketType.AUTH: frozenset({_R.SUCCESS, _R.CONTINUE_AUTHENTICATION, _R.REAUTHENTICATE}),
}


def legal_reason(code: int, packet: PacketType) -> Reason:
    """The reason with this code; ProtocolError unless this packet can carry it."""
    if code not in LEGAL_REASONS[packet]:
        raise ProtocolError(Reason.PROTOCOL_ERROR, f"{packet.name} cannot carry reason code 0x{code:02X}")
    return Reason(code)
