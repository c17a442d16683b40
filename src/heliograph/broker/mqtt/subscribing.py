"""SUBSCRIBE and UNSUBSCRIBE: a packet may name a million filters, and a filter may match a million retained messages.

So all of it is done in slices. Packets of one client are handled in order, so its later packets wait until it is done;
other clients do not.
"""

from heliograph.broker.broker import Broker
from heliograph.broker.core.slices import WAIT, Steps
from heliograph.broker.mqtt.handshake import as_a_bridge_wants
from heliograph.broker.mqtt.peer import MqttPeer
from heliograph.broker.sessions.session import Session, Subscription
from heliograph.mqtt import Reason, encode, packets, read_subscribe, read_unsubscribe


class _Asked:
    """The subscription that one packet asks for under one filter, which it may name several times."""

    __slots__ = ("first", "is_new", "last", "subscription")

    def __init__(self, asked: packets.Subscription, subscription: Subscription, *, is_new: bool) -> None:
        self.first = self.last = asked
        self.subscription = subscription
        self.is_new = is_new

    @property
    def wants_retained(self) -> bool:
        handling = self.last.retain_handling
        # Retained messages are not sent to shared subscriptions: nobody could say to which sharer.
        return self.subscription.group is None and (handling == 0 or (handling == 1 and self.is_new))


def subscribe(connection: MqttPeer, session: Session, body: bytes) -> Steps:
    """Handle SUBSCRIBE. Equal filters count once, with the last options; each has a reason code in SUBACK."""
    packet_id, properties, subscriptions = read_subscribe(body, connection.version)
    number = 0
    for _ in subscriptions():  # check the whole packet first: a malformed one must not change anything
        number += 1
        yield None
    connection.check_room_for(packets.SubAck(packet_id, (0,) * number))
    identifier = properties.get("subscription_identifier", [None])[0]
    done: dict[str, _Asked] = {}
    try:
        reasons = bytearray()
        for one_asked in subscriptions():
            asked = as_a_bridge_wants(one_asked) if connection.bridge else one_asked
            reasons.append(_take(connection.broker, session, asked, identifier, done))
            yield None
        for one in done.values():
            if one.last != one.first:
                connection.broker.subscriptions.subscribe(session, one.last, identifier)
                yield None
        if not connection.version5:  # older clients know only one kind of failure
            reasons = reasons.translate(_FAILURES_3)
        answer = encode(packets.SubAck(packet_id, tuple(reasons)), connection.version)
        # A client that is told of a subscription which outlives a crash has all that is retained for it, too, or will
        # get it. One that is not told subscribes again.
        if not session.number:
            connection.answer(answer, stored=False)
        for one in done.values():
            yield from _send_retained(connection.broker, one.subscription)
            _no_more_retained(connection.broker, one.subscription)
        if session.number:
            connection.answer(answer, stored=True)
    finally:
        for one in done.values():
            one.subscription.retained = None


_FAILURES_3 = bytes(min(code, Reason.UNSPECIFIED_ERROR) for code in range(256))


def _take(
    broker: Broker,
    session: Session,
    asked: packets.Subscription,
    identifier: int | None,
    done: dict[str, _Asked],
) -> int:
    """Make one of the subscriptions of a packet. Returns the reason code for SUBACK."""
    again = done.get(asked.filter)
    if again is not None:
        again.last = asked
        _note_retained(broker, again)
        return asked.qos
    is_new = asked.filter not in session.subscriptions
    reason = broker.subscriptions.subscribe(session, asked, identifier)
    if reason < Reason.UNSPECIFIED_ERROR:
        subscription = session.subscriptions[asked.filter]
        one = done[asked.filter] = _Asked(asked, subscription, is_new=is_new)
        _note_retained(broker, one)
    return reason


def _note_retained(broker: Broker, one: _Asked) -> None:
    """Begin the walk over retained messages, if they are wanted. From now on newer messages must not overtake them."""
    one.subscription.retained = broker.retained.walk(one.subscription.filter) if one.wants_retained else None


def _send_retained(broker: Broker, subscription: Subscription) -> Steps:
    """Send retained messages to a subscription, as fast as the client reads them."""
    outlet = subscription.outlet
    for kept in subscription.retained or ():
        if kept is None:
            pass
        elif kept.expires and kept.expires <= broker.now():
            broker.retained.clear(kept.topic.decode())
        else:
            broker.delivery.offer_retained(subscription, kept)
        yield WAIT if outlet.connected and not outlet.open else None


def _no_more_retained(broker: Broker, subscription: Subscription) -> None:
    if subscription.retained is not None:
        subscription.retained = None
        broker.routes.forget(subscription.filter)  # its routes could not use the fast path meanwhile


def unsubscribe(connection: MqttPeer, session: Session, body: bytes) -> Steps:
    """Handle UNSUBSCRIBE."""
    packet_id, _, filters = read_unsubscribe(body, connection.version)
    number = 0
    for _ in filters():
        number += 1
        yield None
    connection.check_room_for(packets.UnsubAck(packet_id, (0,) * number))
    reasons = bytearray()
    for topic_filter in filters():
        reasons.append(connection.broker.subscriptions.unsubscribe(session, topic_filter))
        yield None
    answer = packets.UnsubAck(packet_id, tuple(reasons) if connection.version5 else ())
    connection.answer(encode(answer, connection.version), stored=session.number > 0)
