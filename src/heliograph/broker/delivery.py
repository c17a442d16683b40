"""Getting messages to receivers: now if they can take them, else by way of the subscription's buffer."""

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from heliograph.broker import durable
from heliograph.broker.buffer import Buffer, Waiting, cut_packets
from heliograph.broker.outlet import Outlet
from heliograph.broker.routes import WIDE, Route
from heliograph.broker.session import Session
from heliograph.broker.slices import Steps
from heliograph.broker.span import Span
from heliograph.broker.subscription import ShareGroup, Subscription
from heliograph.broker.window import Window
from heliograph.mqtt.runs import PUBRELS, ack_run

if TYPE_CHECKING:
    from heliograph.broker.broker import Broker

_TOPIC_ALIAS = b"\x23"
_ANY_ALIAS = _TOPIC_ALIAS + b"\0\0"
SHARERS_AT_ONCE = 100
"""Sharers that get something of a span in one turn: of a large group some, and the others of the next one."""
_SHARED_AT_ONCE = 100
"""Sharers, and messages that come back to them, that are seen to before others have their turn."""
_ALL = 1 << 64

Rendered = dict[tuple[object, ...], bytes]
"""Packets made for one kind of receiver, kept while one span goes to all of them."""
Offer = Callable[["Broker", Subscription, Span, Rendered], int]


def write(broker: "Broker", outlet: Outlet, chunk: bytes) -> None:
    """Queue bytes for one client; they leave at the end of this turn."""
    if not outlet.chunks:
        broker.dirty.append(outlet)
    outlet.chunks.append(chunk)


def answer(broker: "Broker", outlet: Outlet, chunk: bytes, *, stored: bool) -> None:
    """Queue an acknowledgement: of something that is being stored, for when it is safe; and none before another."""
    if broker.store is not None and stored:
        broker.store.answer(outlet, chunk)
    elif broker.store is not None and outlet.unsafe:
        broker.store.hold_behind(outlet, chunk)
    else:
        write(broker, outlet, chunk)


def deliver(broker: "Broker", span: Span, route: Route, publisher: Session | None) -> int:
    """Give a span to all for whom it is not stored; how many of its messages, from the front, somebody took."""
    taken = 0
    rendered: Rendered = {}
    count = span.count
    receivers = route.volatile if span.qos else route.subscriptions
    if len(receivers) > WIDE:
        broker.wide.deliver(span, receivers, publisher)
        receivers, taken = (), count
    for subscription in receivers:
        if subscription.no_local and subscription.session is publisher:
            taken = count
        else:
            taken = max(taken, offer(broker, subscription, span, rendered))
    for group in route.volatile_groups if span.qos else route.groups:
        taken = max(taken, _offer_shared(broker, group, span, rendered))
    return taken


def offer(broker: "Broker", subscription: Subscription, span: Span, rendered: Rendered) -> int:
    """Give a span to one subscription; how many messages it took."""
    lo, hi = 0, span.count
    outlet = subscription.outlet
    if not span.qos or not subscription.qos:
        if outlet.open:
            _send(broker, subscription, span, lo, hi, 0, rendered)
        elif outlet.connected:
            return hold_late(broker, subscription, span, hi)
        return hi
    if outlet.open and not (subscription.buffer and subscription.buffer.waiting):
        lo = _send_as_much_as_fits(broker, subscription, span, lo, hi, rendered)
    if lo < hi:
        buffer = subscription.own_buffer(broker.held)
        lo += _let_wait(broker, buffer, buffer.waiting, span, lo, hi)
        subscription.session.note_backlog(subscription)
    return lo


def hold_late(broker: "Broker", subscription: Subscription, what: Span | bytes, count: int) -> int:
    """QoS 0 messages for a client that is not reading fast enough wait; how many found room."""
    buffer = subscription.own_buffer(broker.held)
    subscription.session.note_backlog(subscription)
    return _let_wait(broker, buffer, buffer.late, what, 0, count)


def _let_wait(broker: "Broker", buffer: Buffer, queue: deque[Waiting], what: Span | bytes, lo: int, hi: int) -> int:
    """Put messages into one of the queues of a buffer; how many found room."""
    if buffer.is_full_for(what, hi - lo, broker.limits):
        broker.stats.expired += buffer.drop_expired(broker.now())
    rejected, discarded = buffer.rejected, buffer.discarded
    taken = buffer.add(queue, what, lo, hi, broker.limits)
    broker.stats.rejected += buffer.rejected - rejected
    broker.stats.discarded += buffer.discarded - discarded
    return taken


def _offer_shared(broker: "Broker", group: ShareGroup, span: Span, rendered: Rendered) -> int:
    lo, hi = 0, span.count
    if not group.buffer.count:
        lo = _deal_out(broker, group, span, rendered)
    if lo < hi:
        # As with other subscriptions, nothing is kept for clients that are away and asked for QoS 0.
        if not any(m.outlet.connected or (span.qos and m.qos) for m in group.members):
            return hi
        queue = group.buffer.waiting if span.qos else group.buffer.late
        lo += _let_wait(broker, group.buffer, queue, span, lo, hi)
        for member in group.members:
            member.session.note_backlog(member)
        if len(group.members) > SHARERS_AT_ONCE:  # some may not have had their turn
            share_out_later(broker, group)
    return lo


def _deal_out(broker: "Broker", group: ShareGroup, span: Span, rendered: Rendered) -> int:
    """Give a span to members that can take some of it now; the first message that is left."""

    def can_take(member: Subscription) -> object:
        return member.outlet.open and (not (span.qos and member.qos) or member.session.room())

    lo, hi = 0, span.count
    left = 2 * SHARERS_AT_ONCE
    while lo < hi and left > 0 and (ready := group.in_turn(can_take, min(hi - lo, SHARERS_AT_ONCE))):
        # Equal parts: a long span is dealt out, not given to whoever happens to be first.
        part = -(-(hi - lo) // len(ready))
        left -= len(ready)
        before = lo
        for member in ready:
            to = min(hi, lo + part)
            if span.qos and member.qos:
                lo = _send_as_much_as_fits(broker, member, span, lo, to, rendered)
            elif to > lo:
                _send(broker, member, span, lo, to, 0, rendered)
                lo = to
        if lo == before:
            break
    return lo


def _send_as_much_as_fits(
    broker: "Broker", subscription: Subscription, span: Span, lo: int, hi: int, rendered: Rendered
) -> int:
    """Send QoS 1 or 2 messages while the client's window has room; the first that did not fit."""
    qos = min(span.qos, subscription.qos)
    session = subscription.session
    while lo < hi and (room := session.room()) and session.has_memory_for(span):
        to = min(hi, lo + room)
        _send(broker, subscription, span, lo, to, qos, rendered)
        lo = to
    return lo


def _send(
    broker: "Broker", subscription: Subscription, span: Span, lo: int, hi: int, qos: int, rendered: Rendered
) -> None:
    """Send messages `lo` to `hi` at this QoS to a client that has room for them."""
    if too_large(broker, subscription, span, qos):
        broker.stats.too_large += hi - lo
        return
    first_id = 0
    if qos:
        first_id = subscription.session.own_window().issue(subscription, span, lo, hi - lo, qos)
    chunk = packets_for(broker, subscription, span, lo, hi, qos, first_id, rendered)
    write(broker, subscription.outlet, chunk)
    count_sent(broker, subscription, hi - lo)


def count_sent(broker: "Broker", subscription: Subscription, number: int) -> None:
    """So many messages have been sent for the first time."""
    subscription.sent += number
    broker.stats.messages_sent += number


def packets_for(
    broker: "Broker",
    subscription: Subscription,
    span: Span,
    lo: int,
    hi: int,
    qos: int,
    first_id: int,
    rendered: Rendered,
) -> bytes:
    """The packets of messages `lo` to `hi` as the client of a subscription wants them."""
    outlet = subscription.outlet
    retain = span.from_store or (span.retain and subscription.retain_as_published)
    if outlet.alias_maximum and not too_large(broker, subscription, span, qos, _ANY_ALIAS):
        return _packets_with_alias(broker, subscription, span, lo, hi, qos, retain, first_id)
    # Receivers that keep step with each other even share packet identifiers.
    key = (outlet.version5, qos, retain, subscription.extra, lo, hi, first_id)
    known = rendered.get(key)
    if known is None:
        known = rendered[key] = span.packets(
            lo,
            hi,
            version5=outlet.version5,
            qos=qos,
            retain=retain,
            now=broker.now(),
            first_id=first_id,
            extra=subscription.extra,
        )
    return known


def too_large(broker: "Broker", subscription: Subscription, span: Span, qos: int, more: bytes = b"") -> bool:
    """True if a client does not take packets as large as the messages of this span make."""
    outlet = subscription.outlet
    if not outlet.max_packet:
        return False
    extra = subscription.extra + more
    one = span.packets(0, 1, version5=outlet.version5, qos=qos, retain=False, now=broker.now(), extra=extra)
    return len(one) > outlet.max_packet


def _packets_with_alias(
    broker: "Broker", subscription: Subscription, span: Span, lo: int, hi: int, qos: int, retain: bool, first_id: int
) -> bytes:
    """Packets for a client that asked for topic aliases: the name goes along once, then a number stands for it."""
    outlet = subscription.outlet
    aliases = outlet.aliases
    if aliases is None:
        aliases = outlet.aliases = {}
    alias = aliases.get(span.topic)
    named = 0  # how many packets carry the name
    if alias is None:
        if len(aliases) < outlet.alias_maximum and outlet.keep_alias(span.topic):
            alias = aliases[span.topic] = len(aliases) + 1
            named = 1
        else:
            named = hi - lo
    extra = subscription.extra + (_TOPIC_ALIAS + alias.to_bytes(2, "big") if alias else b"")
    now = broker.now()
    with_name = without = b""
    if named:
        with_name = span.packets(
            lo, lo + named, version5=True, qos=qos, retain=retain, now=now, first_id=first_id, extra=extra
        )
    if lo + named < hi:
        without = span.packets(
            lo + named,
            hi,
            version5=True,
            qos=qos,
            retain=retain,
            now=now,
            first_id=first_id + named,
            extra=extra,
            topic=b"",
        )
    return with_name + without


def pump(broker: "Broker", session: Session) -> None:
    """Send what waits for a client, as far as it can take it."""
    if not session.outlet.open:
        return
    if session.window is not None and session.window.holds:
        _send_held(broker, session, session.window)
    backlog = session.backlog
    if not backlog:
        return
    now = broker.now()
    for subscription in list(backlog):
        buffer = subscription.buffer
        if buffer is not None and buffer.count:
            _pump_buffer(broker, subscription, buffer, now)
        spool = subscription.spool
        if broker.store is not None and spool is not None and spool.count and not (buffer and buffer.waiting):
            durable.pump(broker, broker.store, subscription)
        if not (buffer and buffer.count) and not (spool and spool.count):
            backlog.pop(subscription, None)


def _pump_buffer(broker: "Broker", subscription: Subscription, buffer: Buffer, now: float, most: int = _ALL) -> None:
    """Send what waits in a buffer, at most about so many messages."""
    broker.stats.expired += buffer.drop_expired(now)
    end = subscription.sent + most
    while buffer.late and subscription.sent < end:
        what, lo, hi = buffer.late[0]
        buffer.pop(buffer.late)
        buffer.count -= hi - lo
        _send_late(broker, subscription, what, lo, hi)
        broker.stats.expired += buffer.drop_expired(now)
    while buffer.waiting and subscription.sent < end:
        span, lo, hi = buffer.waiting[0]
        assert isinstance(span, Span)
        sent_to = _send_waiting(broker, subscription, span, lo, hi)
        buffer.count -= sent_to - lo
        if sent_to < hi:
            buffer.waiting[0] = (span, sent_to, hi)
            break
        buffer.pop(buffer.waiting)
        broker.stats.expired += buffer.drop_expired(now)


def _send_late(broker: "Broker", subscription: Subscription, what: Span | bytes, lo: int, hi: int) -> None:
    if isinstance(what, Span):
        _send(broker, subscription, what, lo, hi, 0, {})
        return
    write(broker, subscription.outlet, cut_packets(what, lo, hi))
    subscription.sent += hi - lo
    broker.stats.messages_sent += hi - lo


def _send_waiting(broker: "Broker", subscription: Subscription, span: Span, lo: int, hi: int) -> int:
    """Send what waited; the first message that did not fit. A sharer may have a lower QoS than the group's buffer."""
    if subscription.qos:
        return _send_as_much_as_fits(broker, subscription, span, lo, hi, {})
    _send(broker, subscription, span, lo, hi, 0, {})
    return hi


def resend(broker: "Broker", session: Session) -> None:
    """After a reconnect: everything unacknowledged again, in its first order and with its first identifiers.

    What the client does not take at once follows as it acknowledges.
    """
    window = session.window
    if window is None:
        return
    for first, count in window.released:
        write(broker, session.outlet, ack_run(PUBRELS, first, count))
    window.hold_all()
    _send_held(broker, session, window)


def _send_held(broker: "Broker", session: Session, window: Window) -> None:
    outlet, account = session.outlet, session.account
    sent = False
    while flights := window.let_go():
        for index, flight in enumerate(flights):
            if flight.span is None and not (broker.store and durable.load(broker, broker.store, flight)):
                window.hold_again(flights[index:])
                return
            subscription, span = flight.subscription, flight.span
            assert span is not None
            if sent and span.hold is None and not account.has_room(span.cost):
                window.hold_again(flights[index:])  # acknowledgements of the others will make room
                return
            span.charge(account)
            sent = True
            if too_large(broker, subscription, span, flight.qos):
                broker.stats.too_large += flight.count
                window.drop(flight)
                continue
            chunk = span.packets(
                flight.lo,
                flight.lo + flight.count,
                version5=outlet.version5,
                qos=flight.qos,
                retain=span.from_store or (span.retain and subscription.retain_as_published),
                now=broker.now(),
                first_id=flight.first,
                dup=True,
                extra=subscription.extra,
            )
            write(broker, outlet, chunk)
            broker.stats.messages_sent += flight.count


def share_out_again(broker: "Broker", session: Session) -> None:
    """The client of this session has gone: what it had not acknowledged of shared subscriptions goes to others."""
    back = session.window.take_back() if session.window else []
    groups: dict[ShareGroup, None] = {}
    for flight in reversed(back):
        group = flight.subscription.group
        assert group is not None
        if group.spool is not None and flight.cursor is not None:
            group.spool.put(flight.offset, flight.offset + flight.count)
        elif flight.span is not None:
            group.buffer.put_back(flight.span, flight.lo, flight.lo + flight.count)
        groups[group] = None
    for group in groups:
        if len(group.members) + len(back) <= _SHARED_AT_ONCE:
            broker.slices.drop(group)  # whoever has been looked at may have room for these
            _share_out(broker, group)
        else:  # where many go at once, it is done once for all of them
            share_out_later(broker, group)


def share_out_later(broker: "Broker", group: ShareGroup) -> None:
    """Give what waits for a group to its members in another turn, beginning anew if that is being done."""
    broker.slices.drop(group)
    broker.slices.later(group, partial(_share_out, broker, group))


def _share_out(broker: "Broker", group: ShareGroup) -> None:
    """Give what has come back to a group to its members."""
    broker.slices.begin(group, _share_out_in_steps(broker, group), lambda: None)


def _share_out_in_steps(broker: "Broker", group: ShareGroup) -> Steps:
    """Some messages for each, by turns, as long as somebody can take more."""
    given = True
    while given:
        given = False
        for member in list(group.members):
            if not group.buffer.count and not (group.spool and group.spool.count):
                return
            if member.session.subscriptions.get(member.filter) is member:  # it may have gone meanwhile
                member.session.note_backlog(member)
                given |= _give_some(broker, group, member)
            yield None


def _give_some(broker: "Broker", group: ShareGroup, member: Subscription) -> bool:
    """Give a member some of what waits for its group; whether it took any."""
    sent = member.sent
    if member.outlet.open:
        if group.buffer.count:
            _pump_buffer(broker, member, group.buffer, broker.now(), _SHARED_AT_ONCE)
        if broker.store is not None and group.spool is not None and group.spool.count and not group.buffer.waiting:
            durable.pump(broker, broker.store, member, _SHARED_AT_ONCE)
    return member.sent != sent
