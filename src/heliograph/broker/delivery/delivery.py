"""Getting messages to receivers of MQTT, and getting what waits to them when they can take it.

Theory of operation
1. A message goes to a receiver in one of two ways. Receivers whose session outlives its connection get QoS 1 and 2 from
   the log (`log_delivery`): it is stored first, and what cannot be sent at once is forgotten and read back. All others
   get it from memory (`memory_delivery`): what cannot be sent at once waits in a buffer.
2. What a client is sent with QoS 1 and 2 stands in its session's window until it is acknowledged. After a reconnect,
   all of that is sent again before anything new (`resend`).
3. What waits for a client is noted in its session's `backlog`, and sent when there is room (`pump`): after each read
   from the client, when it has taken what was written to it, and when more is safe.
4. The messages of a subscription keep the order in which they were published, for each QoS. Where something waits, what
   comes waits behind it.
5. What a sharer has not acknowledged when it goes is given to the others, if it is of QoS 1 (`share_out_again`).
"""

from functools import partial

from heliograph.broker.core.mixed_span import MixedSpan
from heliograph.broker.core.services import Services
from heliograph.broker.core.slices import Steps
from heliograph.broker.core.span import Span
from heliograph.broker.delivery.log_delivery import LogDelivery
from heliograph.broker.delivery.memory_delivery import MemoryDelivery
from heliograph.broker.delivery.sending import too_large
from heliograph.broker.delivery.wide_delivery import WideDelivery
from heliograph.broker.routing.routes import Route
from heliograph.broker.sessions.buffer import BufferTotals
from heliograph.broker.sessions.session import Session, ShareGroup, Subscription
from heliograph.broker.sessions.window import Window
from heliograph.broker.storage.store import Store
from heliograph.broker.storage.turn import Turn
from heliograph.mqtt import PUBRELS, ack_run

_SHARED_AT_ONCE = 100
"""Sharers, and messages that come back to them, that are seen to before others have their turn."""


class Delivery:
    """`broker.delivery`."""

    def __init__(
        self, services: Services, turn: Turn, store: Store | None, held: BufferTotals, wide: WideDelivery
    ) -> None:
        """`held` is what waits in all buffers together."""
        self._services = services
        self._turn = turn
        self.memory = MemoryDelivery(services, turn, held, wide, self.share_out_later)
        self.log: LogDelivery | None = None
        if store is not None:
            self.log = LogDelivery(services, turn, store, self.pump, self.share_out_later)

    def deliver(self, span: Span, route: Route, publisher: Session | None) -> tuple[int, int]:
        """Give a span to all receivers of a route, for some of whom it is kept in the log.

        How many of its messages, from the front, somebody took, and how many are in the log with their identifiers.
        """
        assert self.log is not None
        taken, stored = self.log.deliver(span, route, publisher)
        if route.subscriptions or route.groups:
            taken = max(taken, self.memory.deliver(span, route, publisher))
        return taken, stored

    def offer_retained(self, subscription: Subscription, span: Span) -> None:
        """Give what is retained to one subscription that is new."""
        if self.log is not None and subscription.spool is not None and span.qos:
            self.log.offer(subscription, span)
        else:
            self.memory.offer(subscription, span, {})

    def send_retained_first(self, topic: bytes, route: Route) -> None:
        """A message of this topic is about to be sent: what is retained came before it, and must not come after it."""
        for subscription in route.catching_up:
            if subscription.retained is not None:
                kept = subscription.retained.take(topic.decode())
                if kept is not None and not 0 < kept.expires <= self._services.now():
                    self.offer_retained(subscription, kept)

    def pump(self, session: Session) -> None:
        """Send what waits for a client, as far as it can take it."""
        if not session.outlet.open:
            return
        if session.window is not None and session.window.holds:
            self._send_held(session, session.window)
        backlog = session.backlog
        if not backlog:
            return
        now = self._services.now()
        for subscription in list(backlog):
            buffer = subscription.buffer
            if buffer is not None and buffer.count:
                self.memory.pump(subscription, buffer, now)
            spool = subscription.spool
            if self.log is not None and spool is not None and spool.count and not (buffer and buffer.waiting):
                self.log.pump(subscription)
            if not (buffer and buffer.count) and not (spool and spool.count):
                backlog.pop(subscription, None)

    def resend(self, session: Session) -> None:
        """After a reconnect: everything unacknowledged again, in its first order and with its first identifiers.

        What the client does not take at once follows as it acknowledges.
        """
        window = session.window
        if window is None:
            return
        for first, count in window.released:
            self._turn.write(session.outlet, ack_run(PUBRELS, first, count))
        window.hold_all()
        self._send_held(session, window)

    def _send_held(self, session: Session, window: Window[Subscription]) -> None:
        outlet, account = session.outlet, session.account
        sent = False
        while flights := window.let_go():
            for index, flight in enumerate(flights):
                if flight.span is None and not (self.log and self.log.load(flight)):
                    window.hold_again(flights[index:])
                    return
                subscription, span = flight.subscription, flight.span
                assert span is not None
                if isinstance(span, MixedSpan) and outlet.one_by_one:
                    window.hold_again(flights[index:])
                    window.take_apart(flight, span)
                    break
                if sent and span.hold is None and not account.has_room(span.cost):
                    window.hold_again(flights[index:])  # acknowledgements of the others will make room
                    return
                span.charge(account)
                sent = True
                if too_large(self._services.now, subscription, span, flight.qos):
                    self._services.stats.too_large += flight.count
                    window.drop(flight)
                    continue
                chunk = span.packets(
                    flight.lo,
                    flight.lo + flight.count,
                    version5=outlet.version5,
                    qos=flight.qos,
                    retain=span.is_retained or (span.retain and subscription.retain_as_published),
                    now=self._services.now(),
                    first_id=flight.first,
                    dup=True,
                    extra=subscription.extra,
                )
                self._turn.write(outlet, chunk)
                self._services.stats.messages_sent += flight.count

    def share_out_again(self, session: Session) -> None:
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
                self._services.slices.drop(group)  # whoever has been looked at may have room for these
                self._share_out(group)
            else:  # where many go at once, it is done once for all of them
                self.share_out_later(group)

    def share_out_later(self, group: ShareGroup) -> None:
        """Give what waits for a group to its members in another turn, beginning anew if that is being done."""
        self._services.slices.drop(group)
        self._services.slices.later(group, partial(self._share_out, group))

    def _share_out(self, group: ShareGroup) -> None:
        """Give what has come back to a group to its members."""
        self._services.slices.begin(group, self._share_out_in_steps(group), lambda: None)

    def _share_out_in_steps(self, group: ShareGroup) -> Steps:
        """Some messages for each, by turns, as long as somebody can take more."""
        given = True
        while given:
            given = False
            for member in list(group.members):
                if not group.buffer.count and not (group.spool and group.spool.count):
                    return
                if member.session.subscriptions.get(member.filter) is member:  # it may have gone meanwhile
                    member.session.note_backlog(member)
                    given |= self._give_some(group, member)
                yield None

    def _give_some(self, group: ShareGroup, member: Subscription) -> bool:
        """Give a member some of what waits for its group; whether it took any."""
        sent = member.sent
        if member.outlet.open:
            if group.buffer.count:
                self.memory.pump(member, group.buffer, self._services.now(), _SHARED_AT_ONCE)
            if self.log is not None and group.spool is not None and group.spool.count and not group.buffer.waiting:
                self.log.pump(member, _SHARED_AT_ONCE)
        return member.sent != sent
