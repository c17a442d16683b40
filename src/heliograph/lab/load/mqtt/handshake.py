"""How an MQTT client of a group introduces itself: CONNECT and SUBSCRIBE."""

from heliograph.lab.load.naming import expand, filters_of, identity_of
from heliograph.lab.load.plan import Group, Protocol
from heliograph.mqtt import Connect, Properties, Subscribe, Subscription, Will, encode

VERSIONS: dict[Protocol, int] = {"mqtt31": 3, "mqtt311": 4, "mqtt5": 5}
_FOR_EVER = 0xFFFF_FFFF  # session expiry that means never


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
