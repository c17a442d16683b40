"""Delivery from memory: to clients that can take messages at once, else into the buffer of the subscription.

Theory of operation

1. QoS 0 goes to a client whose connection takes more bytes (`outlet.open`), waits in the `late` queue of the buffer
   while the client reads too slowly, and is dropped while it is disconnected.
2. QoS 1 and 2 go out as far as the window and the memory budget have room; the rest waits in the `waiting` queue. New
   messages never overtake waiting ones.
3. A group of sharers has one buffer. A span is dealt out in equal parts to members that can take some, beginning with
   the member whose turn it is; the rest waits in the buffer for whichever member has room first.
4. Methods return how many messages of a span, from the front, were taken. Messages dropped on purpose (no local,
   QoS 0 to a disconnected client) count as taken: only lack of room is a failure that the publisher is told of.
5. `rendered` caches encoded packets while one span goes to many receivers; see `sending`.
"""

from collections import deque
from collections.abc import Callable

from heliograph.broker.core.mixed_span import MixedSpan
from heliograph.broker.core.services import Services
from heliograph.broker.core.span import Span
from heliograph.broker.delivery.sending import Rendered, count_sent, packets_for, too_large
from heliograph.broker.delivery.wide_delivery import WideDelivery
from heliograph.broker.routing.routes import WIDE, Route
from heliograph.broker.sessions.buffer import Buffer, BufferTotals, Waiting, cut_packets
from heliograph.broker.sessions.session import Session, ShareGroup, Subscription
from heliograph.broker.storage.turn import Turn

SHARERS_AT_ONCE = 100
"""Members of a group that get messages of a span in one turn; a large group's other members get the next spans."""
_ALL = 1 << 64


class MemoryDelivery:
    """Delivers spans to subscriptions without storing them (`broker.delivery.memory`)."""

    def __init__(
        self,
        services: Services,
        turn: Turn,
        held: BufferTotals,
        wide: WideDelivery,
        share_out_later: Callable[[ShareGroup], None],
    ) -> None:
        """`held` counts what waits in all buffers together."""
        self._services = services
        self._turn = turn
        self._held = held
        self._wide = wide
        self._share_out_later = share_out_later

    def deliver(self, span: Span, route: Route, publisher: Session | None) -> int:
        """Deliver a span to all receivers without a spool.

        Returns how many messages, from the front, any of them took.
        """
        taken = 0
        rendered: Rendered = {}
        count = span.count
        receivers = route.volatile if span.qos else route.subscriptions
        # All messages count as taken: the receivers get them in later turns.
        if len(receivers) > WIDE:
            self._wide.deliver(span, receivers, publisher, self.offer)
            receivers, taken = (), count
        for subscription in receivers:
            if subscription.no_local and subscription.session is publisher:
                taken = count
            else:
                taken = max(taken, self.offer(subscription, span, rendered))
        for group in route.volatile_groups if span.qos else route.groups:
            taken = max(taken, self._offer_shared(group, span, rendered))
        return taken

    def offer(self, subscription: Subscription, span: Span, rendered: Rendered) -> int:
        """Deliver a span to one subscription. Returns how many messages it took."""
        lo, hi = 0, span.count
        outlet = subscription.outlet
        if not span.qos or not subscription.qos:
            if outlet.open:
                self._send(subscription, span, lo, hi, 0, rendered)
            elif outlet.connected:
                return self.hold_late(subscription, span, hi)
            return hi
        if outlet.open and not (subscription.buffer and subscription.buffer.waiting):
            lo = self._send_as_much_as_fits(subscription, span, lo, hi, rendered)
        if lo < hi:
            buffer = subscription.own_buffer(self._held)
            lo += self._let_wait(buffer, buffer.waiting, span, lo, hi)
            subscription.session.note_backlog(subscription)
        return lo

    def hold_late(self, subscription: Subscription, what: Span | bytes, count: int) -> int:
        """Let QoS 0 messages wait for a client that reads too slowly. Returns how many found room."""
        buffer = subscription.own_buffer(self._held)
        subscription.session.note_backlog(subscription)
        return self._let_wait(buffer, buffer.late, what, 0, count)

    def _let_wait(self, buffer: Buffer, queue: deque[Waiting], what: Span | bytes, lo: int, hi: int) -> int:
        """Put messages into one of the queues of a buffer. Returns how many found room."""
        # Looking for expired messages costs time, so it is done only when their room is needed.
        if buffer.is_full_for(what, hi - lo, self._services.limits):
            self._services.stats.expired += buffer.drop_expired(self._services.now())
        rejected, discarded = buffer.rejected, buffer.discarded
        taken = buffer.add(queue, what, lo, hi, self._services.limits)
        self._services.stats.rejected += buffer.rejected - rejected
        self._services.stats.discarded += buffer.discarded - discarded
        return taken

    def _offer_shared(self, group: ShareGroup, span: Span, rendered: Rendered) -> int:
        lo, hi = 0, span.count
        if not group.buffer.count:
            lo = self._deal_out(group, span, rendered)
        if lo < hi:
            # As with other subscriptions, QoS 0 does not wait for clients that are disconnected.
            if not any(m.outlet.connected or (span.qos and m.qos) for m in group.members):
                return hi
            queue = group.buffer.waiting if span.qos else group.buffer.late
            lo += self._let_wait(group.buffer, queue, span, lo, hi)
            for member in group.members:
                member.session.note_backlog(member)
            if len(group.members) > SHARERS_AT_ONCE:  # members that were not asked may have room
                self._share_out_later(group)
        return lo

    def _deal_out(self, group: ShareGroup, span: Span, rendered: Rendered) -> int:
        """Deal a span out to members that can take some of it now.

        Returns the index of the first message that was not taken.
        """

        def can_take(member: Subscription) -> object:
            return member.outlet.open and (not (span.qos and member.qos) or member.session.window_room())

        lo, hi = 0, span.count
        left = 2 * SHARERS_AT_ONCE
        while lo < hi and left > 0 and (ready := group.in_turn(can_take, min(hi - lo, SHARERS_AT_ONCE))):
            # Equal parts, or the first member would get all of a long span.
            part = -(-(hi - lo) // len(ready))
            left -= len(ready)
            before = lo
            for member in ready:
                to = min(hi, lo + part)
                if span.qos and member.qos:
                    lo = self._send_as_much_as_fits(member, span, lo, to, rendered)
                elif to > lo:
                    self._send(member, span, lo, to, 0, rendered)
                    lo = to
            if lo == before:
                break
        return lo

    def _send_as_much_as_fits(
        self, subscription: Subscription, span: Span, lo: int, hi: int, rendered: Rendered
    ) -> int:
        """Send QoS 1 or 2 messages while the window has room. Returns the index of the first that did not fit."""
        qos = min(span.qos, subscription.qos)
        session = subscription.session
        # More than one round where the window has less room in one piece than in all: identifiers wrap at 65535.
        while lo < hi and (room := session.window_room()) and session.has_memory_for(span):
            to = min(hi, lo + room)
            self._send(subscription, span, lo, to, qos, rendered)
            lo = to
        return lo

    def _send(self, subscription: Subscription, span: Span, lo: int, hi: int, qos: int, rendered: Rendered) -> None:
        """Send messages `lo` to `hi` with this QoS to a client that has room for them."""
        services, outlet = self._services, subscription.outlet
        if outlet.max_packet or outlet.alias_maximum:
            if isinstance(span, MixedSpan):
                for at in range(lo, hi):
                    self._send(subscription, span.single(at), 0, 1, qos, {})
                return
            if too_large(services.now, subscription, span, qos):
                services.stats.too_large += hi - lo
                return
        first_id = 0
        if qos:
            first_id = subscription.session.own_window().issue(subscription, span, lo, hi - lo, qos)
        self._turn.write(outlet, packets_for(services.now, subscription, span, lo, hi, qos, first_id, rendered))
        count_sent(services.stats, subscription, hi - lo)

    def pump(self, subscription: Subscription, buffer: Buffer, now: float, most: int = _ALL) -> None:
        """Send what waits in a buffer: about `most` messages, as one entry is not cut."""
        self._services.stats.expired += buffer.drop_expired(now)
        end = subscription.sent + most
        while buffer.late and subscription.sent < end:
            # QoS 0 needs no room in the window: an entry always goes out whole.
            what, lo, hi = buffer.late[0]
            buffer.pop(buffer.late)
            buffer.count -= hi - lo
            self._send_late(subscription, what, lo, hi)
            self._services.stats.expired += buffer.drop_expired(now)
        while buffer.waiting and subscription.sent < end:
            span, lo, hi = buffer.waiting[0]
            assert isinstance(span, Span)
            sent_to = self._send_waiting(subscription, span, lo, hi)
            buffer.count -= sent_to - lo
            if sent_to < hi:
                buffer.waiting[0] = (span, sent_to, hi)
                break
            buffer.pop(buffer.waiting)
            self._services.stats.expired += buffer.drop_expired(now)

    def _send_late(self, subscription: Subscription, what: Span | bytes, lo: int, hi: int) -> None:
        if isinstance(what, Span):
            self._send(subscription, what, lo, hi, 0, {})
            return
        self._turn.write(subscription.outlet, cut_packets(what, lo, hi))
        subscription.sent += hi - lo
        self._services.stats.messages_sent += hi - lo

    def _send_waiting(self, subscription: Subscription, span: Span, lo: int, hi: int) -> int:
        """Send messages that waited. Returns the index of the first that did not fit.

        The subscription's own QoS counts: a group buffers QoS 1 and 2 messages even if one member asked for QoS 0.
        """
        if subscription.qos:
            return self._send_as_much_as_fits(subscription, span, lo, hi, {})
        self._send(subscription, span, lo, hi, 0, {})
        return hi
