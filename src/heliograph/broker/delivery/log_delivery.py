"""Delivery to durable subscriptions: messages are stored first, and leave only when they are safe.

Theory of operation

1. A span is stored once, in one record, for all durable receivers that take the whole of it (`_keep`). The record
   names their cursors, and the packet identifiers of those to which the span is sent right away.
2. A receiver with room in its window and no backlog gets the packets from memory (`_send_now`), held back until the
   turn is safe: no receiver may see a message that a crash could undo. For all others only the offsets are put into
   the spool; the packets are read back from the log.
3. The order within `_keep` matters: identifiers are issued before the record is written, because the record has them.
   So if writing fails, windows know offsets that do not exist, and the log is halted.
4. `pump` reads back and sends. It stops where the window is full, memory is short, or the log is not safe yet. In the
   last case the session (or group) is `stalled`, and `go_on` pumps it when more is safe.
5. Messages that will not be sent (expired, too large for the client) are acknowledged to the cursor, or the log could
   never delete their segment.
"""

from collections.abc import Callable, Sequence

from heliograph.broker.core.mixed_span import MixedSpan, stored_span
from heliograph.broker.core.services import Services
from heliograph.broker.core.slices import SLICE
from heliograph.broker.core.span import Span
from heliograph.broker.delivery.memory_delivery import SHARERS_AT_ONCE
from heliograph.broker.delivery.sending import Rendered, count_sent, packets_for, too_large
from heliograph.broker.routing.routes import Durable, Route
from heliograph.broker.sessions.session import Session, ShareGroup, Subscription
from heliograph.broker.sessions.spool import Spool
from heliograph.broker.sessions.window import Flight
from heliograph.broker.storage import record_kinds
from heliograph.broker.storage.record_kinds import Move
from heliograph.broker.storage.store import Store
from heliograph.broker.storage.turn import Turn
from heliograph.errors import Problem
from heliograph.log import (
    MIXED_PACKETS,
    Cursor,
    FoundRecord,
    Record,
    decode_mixed_messages,
    decode_uniform_messages,
    form_of,
)

_PUMPED_AT_ONCE = 100
"""Sessions that are pumped before the time is looked at."""


class LogDelivery:
    """Delivers to durable subscriptions, groups and streams (`broker.delivery.log`)."""

    def __init__(
        self,
        services: Services,
        turn: Turn,
        store: Store,
        pump_session: Callable[[Session], None],
        share_out_later: Callable[[ShareGroup], None],
    ) -> None:
        self._services = services
        self._turn = turn
        self._store = store
        self._pump_session = pump_session
        self._share_out_later = share_out_later
        self.stalled: dict[Session, None] = {}
        """Sessions that have room for messages which are not safe yet ..."""
        self.stalled_groups: dict[ShareGroup, None] = {}
        """... and groups whose members have."""

    def deliver(self, span: Span, route: Route, publisher: Session | None) -> tuple[int, int]:
        """Store a span for all durable receivers of a route.

        Returns how many of its messages, from the front, any receiver took, and how many are stored with their
        identifiers. Streams take messages of any QoS, all others only QoS 1 and 2.
        """
        # The fast path, taken nearly always: one durable receiver with room for the whole span.
        if span.qos and len(route.durable) == 1 and not route.streams:
            receiver = route.durable[0]
            if self._takes_all(receiver.spool, span) and not (isinstance(receiver, Subscription) and receiver.no_local):
                self._keep(span, [receiver], publisher)
                return span.count, span.count
        takes: list[tuple[Durable, int]] = []
        streams = [stream.cursor_for(span.topic) for stream in route.streams]
        taken = span.count if streams else 0
        for receiver in route.durable if span.qos else ():
            if isinstance(receiver, Subscription) and receiver.no_local and receiver.session is publisher:
                taken = span.count
            else:
                takes.append((receiver, self._accept(receiver.spool, span)))
        most = max([number for _, number in takes], default=0)
        if streams:
            most = span.count
        if all(number == span.count for _, number in takes):
            self._keep(span, [receiver for receiver, _ in takes], publisher, streams)
            return max(taken, most), span.count
        # Some receivers have room for a part only. A record goes to its receivers as a whole, so the span is cut
        # wherever a receiver stops.
        lo = 0
        ends = {number for _, number in takes} | {most}
        for hi in sorted(ends - {0}):
            self._keep(span.part(lo, hi), [r for r, number in takes if number >= hi], publisher, streams)
            lo = hi
        if span.retain and not most:
            self._keep(span, [], None)  # nobody took it, but future subscribers are to get it
        return max(taken, most), most

    def _takes_all(self, spool: Spool | None, span: Span) -> bool:
        """Whether there is room, so that nothing has to be rejected or discarded."""
        assert spool is not None
        limits = self._services.limits
        return (
            spool.unsent.count + span.count <= limits.max_messages
            and spool.cursor.bytes + len(span.data) <= limits.max_bytes
        )

    def _accept(self, spool: Spool | None, span: Span) -> int:
        if self._takes_all(spool, span):
            return span.count
        assert spool is not None
        limits = self._services.limits
        # The spool counts for its own statistics; the difference is added to those of the broker.
        rejected, discarded = spool.rejected, spool.discarded
        accepted = spool.accept(span.count, len(span.data), limits)
        self._services.stats.rejected += spool.rejected - rejected
        self._services.stats.discarded += spool.discarded - discarded
        return accepted

    def offer(self, subscription: Subscription, span: Span) -> None:
        """Store and send retained messages for one new subscription."""
        if number := self._accept(subscription.spool, span):
            self._keep(span.part(0, number), [subscription], None)

    def _keep(
        self,
        span: Span,
        receivers: list[Durable],
        publisher: Session | None,
        streams: Sequence[Cursor] = (),
    ) -> None:
        """Store a span once for streams and receivers; send it to the receivers that can take it now."""
        rendered: Rendered = {}
        cursors = [receiver.spool.cursor for receiver in receivers if receiver.spool]
        try:
            identifiers = [self._send_now(receiver, span, rendered) for receiver in receivers]
            offsets = self._store.keep(span, [*cursors, *streams], [*identifiers, *[0] * len(streams)], publisher)
        except Exception:
            # Some windows may have messages that are not stored, with offsets that other messages will get. Only a
            # restart mends that. Without receivers, nothing was issued and nothing is wrong.
            if receivers:
                self._store.halt()
            raise
        for receiver, offset, sent in zip(receivers, offsets[: len(receivers)], identifiers, strict=True):
            if not sent:
                assert receiver.spool is not None
                receiver.spool.put(offset, offset + span.count)
                self._let_wait(receiver)

    def _send_now(self, receiver: Durable, span: Span, rendered: Rendered) -> int:
        """Send all of a span if the receiver can take it. Returns the first packet identifier, or 0 if it has to wait.

        All or nothing: the record has one identifier range per cursor.
        """
        if not isinstance(receiver, Subscription) or not receiver.outlet.open:
            return 0
        spool, session = receiver.spool, receiver.session
        assert spool is not None
        if (
            spool.unsent.count
            or (receiver.buffer is not None and receiver.buffer.waiting)
            or session.window_room() < span.count
        ):
            return 0
        if not session.has_memory_for(span) or (isinstance(span, MixedSpan) and receiver.outlet.one_by_one):
            return 0
        qos = min(span.qos, receiver.qos)
        if too_large(self._services.now, receiver, span, qos):
            return 0  # dropped and acknowledged to the cursor when it is read back
        # The record is written after this; what it will be numbered is known before.
        (offset,) = self._store.ledger.next_offsets([spool.cursor])
        first = session.own_window().issue(receiver, span, 0, span.count, qos, spool.cursor, offset)
        self._turn.held.hold(
            receiver.outlet, packets_for(self._services.now, receiver, span, 0, span.count, qos, first, rendered)
        )
        count_sent(self._services.stats, receiver, span.count)
        return first

    def _let_wait(self, receiver: Durable) -> None:
        if isinstance(receiver, ShareGroup):
            for member in receiver.members:
                member.session.note_backlog(member)
            self.stalled_groups[receiver] = None
        else:
            receiver.session.note_backlog(receiver)
            if receiver.outlet.open:
                self.stalled[receiver.session] = None

    def go_on(self) -> None:
        """More of the log is safe: pump the stalled groups and sessions.

        Of very many, the last ones wait for another turn.
        """
        groups, self.stalled_groups = self.stalled_groups, {}
        for group in groups:
            try:
                self.deal(group)
            except Exception:
                self._services.defects.note(f"messages for the shared subscription {group.name} could not be sent")
        until = self._services.now() + SLICE / 2
        # Pumping adds to `stalled` again what reaches the end of what is safe.
        sessions, self.stalled = list(self.stalled), {}
        for number, session in enumerate(sessions, 1):
            try:
                self._pump_session(session)
            except Exception:
                self._services.defects.note("messages that are safe could not be sent", session.outlet)
            if not number % _PUMPED_AT_ONCE and self._services.now() > until:
                self.stalled = dict.fromkeys(sessions[number:]) | self.stalled
                if sessions[number:] and not self._services.slices.is_working(self):
                    self._services.slices.later(self, self.go_on)
                break

    def deal(self, group: ShareGroup) -> None:
        """Send the backlog of a group to its members, in equal parts as far as they can take them."""

        def can_take(member: Subscription) -> object:
            return member.outlet.open and (not member.qos or member.session.window_room())

        spool = group.spool
        left = 2 * SHARERS_AT_ONCE
        while spool is not None and spool.count and group.members:
            if left <= 0:
                self._share_out_later(group)
                return
            before = spool.count
            ready = group.in_turn(can_take, min(before, SHARERS_AT_ONCE))
            left -= len(ready)
            for member in ready:
                if not self.pump(member, -(-before // len(ready))):
                    return
            if spool.count == before:
                return

    def pump(self, subscription: Subscription, most: int | None = None) -> bool:
        """Send the backlog of a subscription from the log, as far as the client can take it; at most `most` messages.

        False if the next message cannot be read yet: then no other member of a group can get it either.
        """
        spool, session = subscription.spool, subscription.session
        assert spool is not None
        left = spool.count if most is None else most
        while spool.count and left > 0:
            room = session.window_room() if subscription.qos else left
            if not room or not subscription.outlet.open:
                return True
            found = self._next(subscription, spool)
            if found is None:
                return False
            span = span_in(self._store, spool, found)
            if span.expires and span.expires <= self._services.now():
                self._services.stats.expired += spool.expire(found)
                continue
            if subscription.qos and not session.has_memory_for(span):
                return True
            # A mixed span has messages of different sizes and topics. A client with size limits or topic aliases needs
            # a decision for each.
            is_apart = isinstance(span, MixedSpan) and subscription.outlet.one_by_one
            lo, hi = spool.take(found, 1 if is_apart else min(room, left))
            left -= hi - lo
            if is_apart:
                self._send_stored(subscription, span.part(lo - found.first, hi - found.first), lo, lo, hi)
            else:
                self._send_stored(subscription, span, found.first, lo, hi)
        return True

    def _next(self, subscription: Subscription, spool: Spool) -> FoundRecord | None:
        try:
            found = spool.next()
        except Problem as problem:
            # Unreadable messages are not skipped: the backlog waits until an operator has repaired the log.
            self._services.journal.unreadable(subscription.session.client_id, str(problem))
            return None
        if found is None:
            if subscription.group is not None:
                self.stalled_groups[subscription.group] = None
            else:
                self.stalled[subscription.session] = None
        return found

    def _send_stored(self, subscription: Subscription, span: Span, base: int, lo: int, hi: int) -> None:
        """Send messages that were read back, offsets `lo` to `hi`. The first message of the span has offset `base`."""
        spool, session = subscription.spool, subscription.session
        assert spool is not None
        cursor = spool.cursor
        qos = min(span.qos, subscription.qos)
        if too_large(self._services.now, subscription, span, qos):
            self._services.stats.too_large += hi - lo
            self._store.settled.append((cursor, lo, hi - lo))
            return
        first = 0
        if qos:
            first = session.own_window().issue(subscription, span, lo - base, hi - lo, qos, cursor, lo)
            if session.number:
                self._store.note_move(Move(record_kinds.ISSUED, qos, first, hi - lo, session.number, cursor.number, lo))
        else:
            self._store.settled.append((cursor, lo, hi - lo))
        chunk = packets_for(self._services.now, subscription, span, lo - base, hi - base, qos, first, {})
        # The messages are safe, but not the record of their identifiers. A QoS 2 identifier that were issued again
        # after a crash would be taken for a duplicate, so these packets wait for the log; QoS 1 may be sent twice.
        # Packets that are held already must not be overtaken.
        if qos == 2 and session.number:
            self._turn.held.answer(subscription.outlet, chunk)
        elif subscription.outlet.unsafe:
            self._turn.held.hold_behind(subscription.outlet, chunk)
        else:
            self._turn.write(subscription.outlet, chunk)
        count_sent(self._services.stats, subscription, hi - lo)

    def load(self, flight: Flight[Subscription]) -> bool:
        """Read the messages of a flight back from the log, to send them again. False if that is not possible yet."""
        spool = flight.subscription.spool
        assert spool is not None
        try:
            found = spool.find(flight.offset)
        except Problem as problem:
            self._services.journal.unreadable(flight.subscription.session.client_id, str(problem))
            return False
        if found is None:
            self.stalled[flight.subscription.session] = None
            return False
        flight.span, flight.lo = span_in(self._store, spool, found), flight.offset - found.first
        return True


def span_in(store: Store, spool: Spool, found: FoundRecord) -> Span:
    """The decoded span of a record. The last one is cached: a span is often sent in several parts."""
    if spool.span is None or spool.span[0] != found.record.position:
        spool.span = found.record.position, _span_of(store, found.record)
    return spool.span[1]


def _span_of(store: Store, record: Record) -> Span:
    if form_of(record.body) == MIXED_PACKETS:
        return MixedSpan.of(decode_mixed_messages(record.body, record.count))
    return stored_span(decode_uniform_messages(record.body, record.count), store.clock)
