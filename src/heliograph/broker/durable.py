"""Messages for durable subscriptions: stored first, and sent when they are safe.

A message that a client can take at once is sent from memory, but leaves only when its turn is safe: no receiver sees
what a crash could take back. Whatever has to wait is read back from the log.
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from heliograph.broker import delivery, facts
from heliograph.broker.facts import Move
from heliograph.broker.revival import revived_span
from heliograph.broker.routes import Durable, Route
from heliograph.broker.session import Session
from heliograph.broker.slices import SLICE
from heliograph.broker.span import Span
from heliograph.broker.spool import Spool
from heliograph.broker.subscription import ShareGroup, Subscription
from heliograph.broker.window import Flight
from heliograph.errors import Problem
from heliograph.log.cursor import Cursor
from heliograph.log.cursor_reading import Found
from heliograph.log.messages import decode_messages

if TYPE_CHECKING:
    from heliograph.broker.broker import Broker
    from heliograph.broker.store import Store


_PUMPED_AT_ONCE = 100
"""Clients that get what they have been waiting for before it is seen how long others have waited."""


def deliver(broker: "Broker", store: "Store", span: Span, route: Route, publisher: Session | None) -> int:
    """Store a span for all durable receivers of a route; how many of its messages, from the front, somebody took.

    Nothing but a stream takes QoS 0 messages. Streams take everything.
    """
    if span.qos and len(route.durable) == 1 and not route.streams:  # nearly always
        receiver = route.durable[0]
        if _takes_all(broker, receiver.spool, span) and not (isinstance(receiver, Subscription) and receiver.no_local):
            _store(broker, store, span, [receiver], publisher)
            store.last_stored = span.count
            return span.count
    takes: list[tuple[Durable, int]] = []
    streams = [stream.cursor_for(span.topic) for stream in route.streams]
    taken = span.count if streams else 0
    for receiver in route.durable if span.qos else ():
        if isinstance(receiver, Subscription) and receiver.no_local and receiver.session is publisher:
            taken = span.count
        else:
            takes.append((receiver, _accept(broker, receiver.spool, span)))
    most = max([number for _, number in takes], default=0)
    if streams:
        most = span.count
    if all(number == span.count for _, number in takes):
        _store(broker, store, span, [receiver for receiver, _ in takes], publisher, streams)
        store.last_stored = span.count
    else:
        # Some have no room for all of it: a record is for those who take the whole of it.
        lo = 0
        ends = {number for _, number in takes} | {most}
        for hi in sorted(ends - {0}):
            _store(broker, store, span.part(lo, hi), [r for r, number in takes if number >= hi], publisher, streams)
            lo = hi
        if span.retain and not most:
            _store(broker, store, span, [], None)  # those who come later get it all the same
        store.last_stored = most
    return max(taken, most)


def _takes_all(broker: "Broker", spool: Spool | None, span: Span) -> bool:
    """Whether there is room without a look at what the limits demand."""
    assert spool is not None
    limits = broker.limits
    return (
        spool.unsent.count + span.count <= limits.max_messages
        and spool.cursor.bytes + len(span.data) <= limits.max_bytes
    )


def _accept(broker: "Broker", spool: Spool | None, span: Span) -> int:
    if _takes_all(broker, spool, span):
        return span.count
    assert spool is not None
    limits = broker.limits
    rejected, discarded = spool.rejected, spool.discarded
    accepted = spool.accept(span.count, len(span.data), limits)
    broker.stats.rejected += spool.rejected - rejected
    broker.stats.discarded += spool.discarded - discarded
    return accepted


def offer(broker: "Broker", store: "Store", subscription: Subscription, span: Span) -> None:
    """Store and send a span to one subscription that is new: it gets what is retained."""
    if number := _accept(broker, subscription.spool, span):
        _store(broker, store, span.part(0, number), [subscription], None)


def _store(
    broker: "Broker",
    store: "Store",
    span: Span,
    receivers: list[Durable],
    publisher: Session | None,
    streams: Sequence[Cursor] = (),
) -> None:
    """Store a span, once, for streams and for those who take all of it, and send it to those who can have it now."""
    rendered: delivery.Rendered = {}
    cursors = [receiver.spool.cursor for receiver in receivers if receiver.spool]
    try:
        identifiers = [_send_now(broker, store, receiver, span, rendered) for receiver in receivers]
        offsets = store.keep(span, [*cursors, *streams], [*identifiers, *[0] * len(streams)], publisher)
    except Exception:
        # Some may have been sent what is not stored, with offsets that other messages will get. With nobody to send it
        # to, nothing has happened.
        if receivers:
            store.halt()
        raise
    for receiver, offset, sent in zip(receivers, offsets[: len(receivers)], identifiers, strict=True):
        if not sent:
            assert receiver.spool is not None
            receiver.spool.put(offset, offset + span.count)
            _let_wait(store, receiver)


def _send_now(broker: "Broker", store: "Store", receiver: Durable, span: Span, rendered: "delivery.Rendered") -> int:
    """Send all of a span if the receiver can take it; the first packet identifier, or 0 if it has to wait."""
    if not isinstance(receiver, Subscription) or not receiver.outlet.open:
        return 0
    spool, session = receiver.spool, receiver.session
    assert spool is not None
    if spool.unsent.count or (receiver.buffer is not None and receiver.buffer.waiting) or session.room() < span.count:
        return 0
    if not session.has_memory_for(span):
        return 0
    qos = min(span.qos, receiver.qos)
    if delivery.too_large(broker, receiver, span, qos):
        return 0  # its turn comes when it is read back
    (offset,) = store.ledger.next_offsets([spool.cursor])
    first = session.own_window().issue(receiver, span, 0, span.count, qos, spool.cursor, offset)
    store.hold(receiver.outlet, delivery.packets_for(broker, receiver, span, 0, span.count, qos, first, rendered))
    delivery.count_sent(broker, receiver, span.count)
    return first


def _let_wait(store: "Store", receiver: Durable) -> None:
    if isinstance(receiver, ShareGroup):
        for member in receiver.members:
            member.session.note_backlog(member)
        store.stalled_groups[receiver] = None
    else:
        receiver.session.note_backlog(receiver)
        if receiver.outlet.open:
            store.stalled[receiver.session] = None


def go_on(broker: "Broker", store: "Store") -> None:
    """More is safe now: send what clients have been waiting for. Where these are many, the last get it a turn later."""
    groups, store.stalled_groups = store.stalled_groups, {}
    for group in groups:
        try:
            deal(broker, store, group)
        except Exception:
            broker.defects.note(f"messages for the shared subscription {group.name} could not be sent")
    until = broker.now() + SLICE / 2
    sessions, store.stalled = list(store.stalled), {}
    for number, session in enumerate(sessions, 1):
        try:
            delivery.pump(broker, session)
        except Exception:
            broker.defects.note("messages that are safe could not be sent", session.outlet)
        if not number % _PUMPED_AT_ONCE and broker.now() > until:
            store.stalled = dict.fromkeys(sessions[number:]) | store.stalled
            if sessions[number:] and not broker.slices.is_working(store):
                broker.slices.later(store, partial(go_on, broker, store))
            break


def deal(broker: "Broker", store: "Store", group: ShareGroup) -> None:
    """Give what waits for a group to its members, in equal parts as far as they can take them."""

    def can_take(member: Subscription) -> object:
        return member.outlet.open and (not member.qos or member.session.room())

    spool = group.spool
    left = 2 * delivery.SHARERS_AT_ONCE
    while spool is not None and spool.count and group.members:
        if left <= 0:
            delivery.share_out_later(broker, group)
            return
        before = spool.count
        ready = group.in_turn(can_take, min(before, delivery.SHARERS_AT_ONCE))
        left -= len(ready)
        for member in ready:
            if not pump(broker, store, member, -(-before // len(ready))):
                return
        if spool.count == before:
            return


def pump(broker: "Broker", store: "Store", subscription: Subscription, most: int | None = None) -> bool:
    """Send what waits in the log for a subscription, as far as the client can take it; at most so many messages.

    False if what waits next cannot be read yet, whoever asks for it.
    """
    spool, session = subscription.spool, subscription.session
    assert spool is not None
    left = spool.count if most is None else most
    while spool.count and left > 0:
        room = session.room() if subscription.qos else left
        if not room or not subscription.outlet.open:
            return True
        found = _next(broker, store, subscription, spool)
        if found is None:
            return False
        span = span_in(store, spool, found)
        if span.expires and span.expires <= broker.now():
            broker.stats.expired += spool.expire(found)
            continue
        if subscription.qos and not session.has_memory_for(span):
            return True
        lo, hi = spool.take(found, min(room, left))
        left -= hi - lo
        _send_stored(broker, store, subscription, span, found.first, lo, hi)
    return True


def _next(broker: "Broker", store: "Store", subscription: Subscription, spool: Spool) -> Found | None:
    try:
        found = spool.next()
    except Problem as problem:
        # Nobody gets past it silently: what is behind waits until somebody has seen to the log.
        broker.journal.unreadable(subscription.session.client_id, str(problem))
        return None
    if found is None:
        if subscription.group is not None:
            store.stalled_groups[subscription.group] = None
        else:
            store.stalled[subscription.session] = None
    return found


def _send_stored(
    broker: "Broker", store: "Store", subscription: Subscription, span: Span, base: int, lo: int, hi: int
) -> None:
    """Send messages that have been read back, offsets `lo` to `hi`; the span's first one has offset `base`."""
    spool, session = subscription.spool, subscription.session
    assert spool is not None
    cursor = spool.cursor
    qos = min(span.qos, subscription.qos)
    if delivery.too_large(broker, subscription, span, qos):
        broker.stats.too_large += hi - lo
        store.settled.append((cursor, lo, hi - lo))
        return
    first = 0
    if qos:
        first = session.own_window().issue(subscription, span, lo - base, hi - lo, qos, cursor, lo)
        if session.number:
            store.note_move(Move(facts.ISSUED, qos, first, hi - lo, session.number, cursor.number, lo))
    else:
        store.settled.append((cursor, lo, hi - lo))
    chunk = delivery.packets_for(broker, subscription, span, lo - base, hi - base, qos, first, {})
    # The messages are safe, their identifiers are not: with QoS 2 a client must never see one that is used again.
    # And nothing overtakes what is held already.
    if qos == 2 and session.number:
        store.answer(subscription.outlet, chunk)
    elif subscription.outlet.unsafe:
        store.hold_behind(subscription.outlet, chunk)
    else:
        delivery.write(broker, subscription.outlet, chunk)
    delivery.count_sent(broker, subscription, hi - lo)


def span_in(store: "Store", spool: Spool, found: Found) -> Span:
    """The span of a record; one that is sent in several parts is decoded once."""
    if spool.span is None or spool.span[0] != found.record.position:
        messages = decode_messages(found.record.body, found.record.count)
        spool.span = found.record.position, revived_span(messages, store.clock)
    return spool.span[1]


def load(broker: "Broker", store: "Store", flight: Flight) -> bool:
    """Read the messages of a flight back, so that they can be sent again; False if that is not possible yet."""
    spool = flight.subscription.spool
    assert spool is not None
    try:
        found = spool.find(flight.offset)
    except Problem as problem:
        broker.journal.unreadable(flight.subscription.session.client_id, str(problem))
        return False
    if found is None:
        store.stalled[flight.subscription.session] = None
        return False
    flight.span, flight.lo = span_in(store, spool, found), flight.offset - found.first
    return True
