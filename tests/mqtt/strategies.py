"""Hypothesis strategies for every packet that the standard allows, written from the standard and not from the codec."""

from hypothesis import strategies as st

from heliograph.mqtt import packets

VERSIONS = (3, 4, 5)

_CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
text = st.text(_CHARACTERS, max_size=12)
binary = st.binary(max_size=12)
u16 = st.integers(0, 0xFFFF)
u32 = st.integers(0, 0xFFFFFFFF)
bit = st.integers(0, 1)
qos = st.integers(0, 2)
packet_ids = st.integers(1, 0xFFFF)
_NONCHARACTERS = "".join(chr(plane << 16 | end) for plane in range(17) for end in (0xFFFE, 0xFFFF))
_NONCHARACTERS += "".join(map(chr, range(0xFDD0, 0xFDF0)))


def _printable(without=""):
    return st.characters(exclude_categories=["Cs", "Cc"], exclude_characters=_NONCHARACTERS + without)


names = st.text(_printable(), max_size=12)
topics = st.text(_printable("+#"), min_size=1, max_size=12)

_level = st.one_of(st.just("+"), st.text(_printable("+#/$"), max_size=4))
plain_filters = st.builds(
    lambda levels, tail: "/".join([*levels, *tail]),
    st.lists(_level, min_size=1, max_size=4),
    st.sampled_from([[], ["#"]]),
).filter(bool)
shared_filters = st.builds(
    lambda group, plain: f"$share/{group}/{plain}",
    st.text(_printable("+#/"), min_size=1, max_size=4),
    plain_filters,
)
filters = st.one_of(plain_filters, shared_filters)

_VALUES = {
    "payload_format_indicator": bit,
    "message_expiry_interval": u32,
    "content_type": text,
    "response_topic": topics,
    "correlation_data": binary,
    "session_expiry_interval": u32,
    "assigned_client_identifier": text,
    "server_keep_alive": u16,
    "request_problem_information": bit,
    "will_delay_interval": u32,
    "request_response_information": bit,
    "response_information": text,
    "server_reference": text,
    "reason_string": text,
    "receive_maximum": st.integers(1, 0xFFFF),
    "topic_alias_maximum": u16,
    "topic_alias": st.integers(1, 0xFFFF),
    "maximum_qos": bit,
    "retain_available": bit,
    "user_property": st.lists(st.tuples(text, text), min_size=1, max_size=3),
    "maximum_packet_size": st.integers(1, 0xFFFFFFFF),
    "wildcard_subscription_available": bit,
    "subscription_identifier_available": bit,
    "shared_subscription_available": bit,
}

_MESSAGE = ["payload_format_indicator", "message_expiry_interval", "content_type", "response_topic", "correlation_data"]
_CONNECT = [
    "session_expiry_interval",
    "receive_maximum",
    "maximum_packet_size",
    "topic_alias_maximum",
    "request_response_information",
    "request_problem_information",
]
_CONNACK = [
    "session_expiry_interval",
    "receive_maximum",
    "maximum_qos",
    "retain_available",
    "maximum_packet_size",
    "assigned_client_identifier",
    "topic_alias_maximum",
    "reason_string",
    "wildcard_subscription_available",
    "subscription_identifier_available",
    "shared_subscription_available",
    "server_keep_alive",
    "response_information",
    "server_reference",
]

PUBLISH_REASONS = [0x00, 0x10, 0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99]
RELEASE_REASONS = [0x00, 0x92]
CONNACK_REASONS = [
    *[0x00, 0x80, 0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8A, 0x8C],
    *[0x90, 0x95, 0x97, 0x99, 0x9A, 0x9B, 0x9C, 0x9D, 0x9F],
]
SUBACK_REASONS = [0x00, 0x01, 0x02, 0x80, 0x83, 0x87, 0x8F, 0x91, 0x97, 0x9E, 0xA1, 0xA2]
UNSUBACK_REASONS = [0x00, 0x11, 0x80, 0x83, 0x87, 0x8F, 0x91]
DISCONNECT_REASONS = [
    *[0x00, 0x04, 0x80, 0x81, 0x82, 0x83, 0x87, 0x89, 0x8B, 0x8C, 0x8D, 0x8E, 0x8F, 0x90],
    *[0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99, 0x9A, 0x9B, 0x9C, 0x9D, 0x9E, 0x9F, 0xA0, 0xA1, 0xA2],
]
AUTH_REASONS = [0x00, 0x18, 0x19]


def _properties(version, names=(), **more):
    if version < 5:
        return st.just({})
    values = {name: _VALUES[name] for name in [*names, "user_property"]} | more
    return st.fixed_dictionaries({}, optional=values)


def _with_authentication(properties):
    """These properties, some of them with an authentication method, and some of those with data."""
    method = st.fixed_dictionaries({"authentication_method": text}, optional={"authentication_data": binary})
    return st.builds(lambda some, more: some | more, properties, st.one_of(st.just({}), method))


def _wills(version):
    properties = _properties(version, [*_MESSAGE, "will_delay_interval"])
    return st.builds(packets.Will, topics, binary, qos, st.booleans(), properties)


@st.composite
def connects(draw, version):
    properties = _properties(version, _CONNECT)
    if version == 5:
        properties = _with_authentication(properties)
    clean_start = draw(st.booleans())
    may_be_nameless = version == 5 or (version == 4 and clean_start)
    username = draw(st.none() | names)
    return packets.Connect(
        draw(names if may_be_nameless else names.filter(bool)),
        version,
        clean_start,
        draw(u16),
        username,
        draw(st.none() | binary) if version == 5 or username is not None else None,
        draw(st.none() | _wills(version)),
        draw(properties),
        draw(st.booleans()) if version < 5 else False,
    )


@st.composite
def connacks(draw, version):
    reason = draw(st.sampled_from(CONNACK_REASONS) if version == 5 else st.integers(0, 5))
    session_present = draw(st.booleans()) if reason == 0 and version > 3 else False
    properties = _properties(version, _CONNACK)
    return packets.ConnAck(
        session_present, reason, draw(_with_authentication(properties) if version == 5 else properties)
    )


@st.composite
def publishes(draw, version):
    level = draw(qos)
    identifiers = st.lists(st.integers(1, 268_435_455), min_size=1, max_size=3)
    names = [*_MESSAGE, "topic_alias"]
    properties = draw(_properties(version, names, subscription_identifier=identifiers))
    return packets.Publish(
        draw(topics | st.just("") if "topic_alias" in properties else topics),
        draw(binary),
        level,
        draw(st.booleans()),
        draw(st.booleans()) if level else False,
        draw(packet_ids) if level else 0,
        properties,
    )


def _acknowledgements(make, version, reasons):
    reason = st.sampled_from(reasons) if version == 5 else st.just(0)
    return st.builds(make, packet_ids, reason, _properties(version, ["reason_string"]))


def _subscriptions(version):
    if version < 5:
        return st.builds(packets.Subscription, filters, qos)
    local = st.builds(packets.Subscription, plain_filters, qos, st.booleans(), st.booleans(), qos)
    shared = st.builds(packets.Subscription, shared_filters, qos, st.just(False), st.booleans(), qos)
    return local | shared


def _subscribes(version):
    some = st.lists(_subscriptions(version), min_size=1, max_size=3).map(tuple)
    identifier = st.lists(st.integers(1, 268_435_455), min_size=1, max_size=1)
    return st.builds(packets.Subscribe, packet_ids, some, _properties(version, subscription_identifier=identifier))


def _codes(codes):
    return st.lists(st.sampled_from(codes), min_size=1, max_size=4).map(tuple)


def _subacks(version):
    reasons = _codes(SUBACK_REASONS if version == 5 else [0, 1, 2, 0x80])
    return st.builds(packets.SubAck, packet_ids, reasons, _properties(version, ["reason_string"]))


def _unsubscribes(version):
    some = st.lists(filters, min_size=1, max_size=3).map(tuple)
    return st.builds(packets.Unsubscribe, packet_ids, some, _properties(version))


def _unsubacks(version):
    reasons = _codes(UNSUBACK_REASONS) if version == 5 else st.just(())
    return st.builds(packets.UnsubAck, packet_ids, reasons, _properties(version, ["reason_string"]))


def _disconnects(version):
    reason = st.sampled_from(DISCONNECT_REASONS) if version == 5 else st.just(0)
    names = ["session_expiry_interval", "reason_string", "server_reference"]
    return st.builds(packets.Disconnect, reason, _properties(version, names))


@st.composite
def auths(draw):
    properties = {"authentication_method": draw(text)} | draw(_properties(5, ["reason_string"]))
    return draw(st.just(packets.Auth()) | st.builds(packets.Auth, st.sampled_from(AUTH_REASONS), st.just(properties)))


def any_packet(version):
    """Any packet that this version allows."""
    kinds = [
        connects(version),
        connacks(version),
        publishes(version),
        _acknowledgements(packets.PubAck, version, PUBLISH_REASONS),
        _acknowledgements(packets.PubRec, version, PUBLISH_REASONS),
        _acknowledgements(packets.PubRel, version, RELEASE_REASONS),
        _acknowledgements(packets.PubComp, version, RELEASE_REASONS),
        _subscribes(version),
        _subacks(version),
        _unsubscribes(version),
        _unsubacks(version),
        st.just(packets.PingReq()),
        st.just(packets.PingResp()),
        _disconnects(version),
    ]
    return st.one_of(*kinds, auths()) if version == 5 else st.one_of(*kinds)
