"""CONNECT: admitting clients, opening their session, and the properties of CONNACK."""

from dataclasses import replace

from heliograph.broker.broker import Broker
from heliograph.broker.core.topics import is_reserved
from heliograph.broker.delivery.answers import fit
from heliograph.broker.mqtt.peer import MqttPeer
from heliograph.broker.sessions.session import FOR_EVER, session_cost
from heliograph.mqtt import ConnAck, Connect, Properties, Reason, Subscription, split_share

_NO_LIMIT = 65535
# CONNACK of MQTT 3 with success: without and with "session present" (which MQTT 3.1 does not have).
_CONNACK = b"\x20\x02\x00\x00"
_CONNACK_PRESENT = b"\x20\x02\x01\x00"


def reason_to_refuse(broker: Broker, connect: Connect, now: float) -> tuple[Reason, str] | None:
    """Why this CONNECT is refused whatever its credentials are; None if it is not."""
    limits = broker.limits
    if "authentication_method" in connect.properties:
        return Reason.BAD_AUTHENTICATION_METHOD, "extended authentication is not offered"
    if broker.stats.connected >= limits.connections and connect.client_id not in broker.connections:
        return Reason.QUOTA_EXCEEDED, f"{limits.connections} clients are connected, no more are taken"
    if not broker.pace.allows(limits.connects_per_second, now):
        return Reason.CONNECTION_RATE_EXCEEDED, f"more than {limits.connects_per_second} connects a second"
    if broker.store is not None and broker.store.ledger.trouble is not None and _session_expiry(broker, connect):
        return Reason.SERVER_UNAVAILABLE, f"sessions cannot be stored at present: {broker.store.trouble}"
    if connect.client_id not in broker.sessions:
        if len(broker.sessions) >= limits.sessions:
            return Reason.QUOTA_EXCEEDED, f"{limits.sessions} sessions are kept, no more are taken"
        if not broker.memory.takes_newcomers(cost(connect)):
            return Reason.QUOTA_EXCEEDED, "there is no memory for another session at present"
    if connect.will is not None:
        if is_reserved(connect.will.topic.encode()):
            return Reason.NOT_AUTHORIZED, "a will cannot go to $SYS or $share"
        if connect.will.topic.count("/") >= limits.topic_levels:
            return Reason.TOPIC_NAME_INVALID, f"the will's topic has more than {limits.topic_levels} levels"
    return None


def cost(connect: Connect) -> int:
    """Bytes of memory that a CONNECT takes while its credentials are checked; about those of its session."""
    return session_cost(connect.client_id, connect.will) + len(connect.username or "") + len(connect.password or b"")


def open_session(connection: MqttPeer, connect: Connect) -> bool:
    """Open the session of an admitted client. Returns whether there was one already (session present)."""
    broker = connection.broker
    client_id = connect.client_id or f"auto-{broker.new_identifier()}"
    old = broker.connections.get(client_id)
    if old is not None:
        old.end(Reason.SESSION_TAKEN_OVER, "another connection uses this client identifier", publish_will=True)
    session, present = broker.open_session(
        client_id,
        clean_start=connect.clean_start,
        expiry=_session_expiry(broker, connect),
        will=connect.will,
    )
    connection.session = session
    broker.connections[client_id] = connection
    broker.stats.admitted()
    return present


def connack(connection: MqttPeer, connect: Connect, *, present: bool) -> bytes:
    """CONNACK with success, encoded; empty if it exceeds the client's maximum packet size."""
    session = connection.session
    assert session is not None
    connection.keep_alive = _keep_alive(connection.broker, connect)
    if not connection.version5:
        return _CONNACK_PRESENT if present and connect.version > 3 else _CONNACK
    told = _connack_properties(connection, connect, session.client_id)
    return fit(ConnAck(present, Reason.SUCCESS, told), 5, connection.outlet.max_packet)


def welcome(connection: MqttPeer, connect: Connect, *, present: bool) -> None:
    """After CONNACK: attach the client to its session, and send messages in flight and the backlog."""
    broker, session = connection.broker, connection.session
    assert session is not None
    _set_up_outlet(connection, connect)
    broker.attach(session, connection.outlet, connect.properties.get("receive_maximum", _NO_LIMIT))
    if present:
        broker.delivery.resend(session)
        broker.delivery.pump(session)


def as_a_bridge_wants(asked: Subscription) -> Subscription:
    """The subscription of a bridge, with no local and retain as published, which MQTT 3 has no options for."""
    return replace(asked, no_local=split_share(asked.filter)[0] is None, retain_as_published=True)


def _session_expiry(broker: Broker, connect: Connect) -> int:
    if connect.version == 5:
        asked = connect.properties.get("session_expiry_interval", 0)
    else:
        asked = 0 if connect.clean_start else FOR_EVER
    return min(asked, broker.limits.session_expiry_max)


def _keep_alive(broker: Broker, connect: Connect) -> int:
    longest = broker.limits.keep_alive_max
    if longest and connect.version == 5 and (not connect.keep_alive or connect.keep_alive > longest):
        return longest
    return connect.keep_alive


def _set_up_outlet(connection: MqttPeer, connect: Connect) -> None:
    outlet, limits = connection.outlet, connection.broker.limits
    assert connection.session is not None
    outlet.account = connection.session.account
    outlet.version5 = connection.version5
    outlet.connected = outlet.open = True
    if connect.properties:
        outlet.alias_maximum = min(connect.properties.get("topic_alias_maximum", 0), limits.topic_alias_maximum)
        connection.explain = connect.properties.get("request_problem_information", 1) == 1
    connection.max_packet = limits.packet_size
    connection.receive_maximum = limits.receive_maximum if connection.version5 else _NO_LIMIT


def _connack_properties(connection: MqttPeer, connect: Connect, client_id: str) -> Properties:
    """The properties that tell an MQTT 5 client where the server differs from the standard's defaults."""
    limits = connection.broker.limits
    session = connection.session
    assert session is not None
    told = Properties(
        receive_maximum=limits.receive_maximum,
        maximum_packet_size=limits.packet_size,
        topic_alias_maximum=limits.topic_alias_maximum,
    )
    if not connect.client_id:
        told["assigned_client_identifier"] = client_id
    if session.expiry != connect.properties.get("session_expiry_interval", 0):
        told["session_expiry_interval"] = session.expiry
    if connection.keep_alive != connect.keep_alive:
        told["server_keep_alive"] = connection.keep_alive
    if connect.properties.get("request_response_information"):
        told["response_information"] = f"reply/{client_id}"
    return told
