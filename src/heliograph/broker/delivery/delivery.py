"""Delivery of messages to MQTT subscriptions, and of their backlog once clients can take more.

Theory of operation
1. Two paths. Durable subscriptions (their session outlives the connection) get QoS 1 and 2 from the log
   (`log_delivery`): the message is stored first; if it cannot be sent at once it leaves memory and is read back later.
   All others get messages from memory (`memory_delivery`): what cannot be sent at once waits in a buffer.
2. QoS 1 and 2 messages that were sent are in flight: they stay in the window of the session until they are
   acknowledged. After a reconnect all of them are sent again before anything new (`resend`).
3. A session's `backlog` names the subscriptions with waiting messages. `pump` sends them as far as there is room. It
   is called after each read from the client, when the client has read what was written to it, and when more of the
   log is safe.
4. Order: the messages of a subscription keep the order in which they were published, for each QoS. So where messages
   wait, new ones queue up behind them.
5. Shared subscriptions: when a member disconnects, its unacknowledged QoS 1 messages go to other members
   (`share_out_again`). QoS 2 messages stay with it: it may have received them (MQTT-4.8.2).
6. Nothing here loops over very many clients in one turn: that is cut into slices (`core/slices`).
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
"""Members of a group plus flights that come back to it, up to which both are handled in the turn itself."""


class Delivery:
    """Delivers spans to the subscriptions of a route, and backlogs to sessions (`broker.delivery`)."""

    def __init__(
        self, services: Services, turn: Turn, store: Store | None, held: BufferTotals, wide: WideDelivery
    ) -> None:
        """`held` counts what waits in all buffers together."""
        self._services = services
        self._turn = turn
        self.memory = MemoryDelivery(services, turn, held, wide, self.share_out_later)
        self.log: LogDelivery | None = None
        if store is not None:
            self.log = LogDelivery(services, turn, store, self.pump, self.share_out_later)

    def deliver(self, span: Span, route: Route, publisher: Session | None) -> tuple[int, int]:
        """Deliver a span to all receivers of a route with durable ones among them.

        Returns how many of its messages, from the front, any receiver took, and how many are in the log with their
        identifiers.
        """
        assert self.log is not None
        taken, stored = self.log.deliver(span, route, publisher)
        if route.subscriptions or route.groups:
            taken = max(taken, self.memory.deliver(span, route, publisher))
        return taken, stored

    def offer_retained(self, subscription: Subscription, span: Span) -> None:
        """Deliver retained messages to a new subscription."""
        if self.log is not None and subscription.spool is not None and span.qos:
            self.log.offer(subscription, span)
        else:
            self.memory.offer(subscription, span, {})

    def send_retained_first(self, topic: bytes, route: Route) -> None:
        """Deliver the retained message of a topic before a new one of the same topic is delivered.

        Retained messages go out in slices. A new message that overtook the retained one would seem to be the older.
        """
        for subscription in route.catching_up:
            if subscription.retained is not None:
                kept = subscription.retained.take(topic.decode())
                if kept is not None and not 0 < kept.expires <= self._services.now():
                    self.offer_retained(subscription, kept)

    def pump(self, session: Session) -> None:
        """Send the backlog of a session, as far as the client can take it."""
        if not session.outlet.open:
            return
        if session.window is not None and session.window.holds:
            self._send_held(session, session.window)
        backlog = session.backlog
        if not backlog:
            return
        now = self._services.now()
        # A copy, because entries are removed below.
        for subscription in list(backlog):
            buffer = subscription.buffer
            if buffer is not None and buffer.count:
                self.memory.pump(subscription, buffer, now)
            spool = subscription.spool
            # QoS 1 and 2 in the buffer date from before the subscription had a spool, so they go first.
            if self.log is not None and spool is not None and spool.count and not (buffer and buffer.waiting):
                self.log.pump(subscription)
            if not (buffer and buffer.count) and not (spool and spool.count):
                backlog.pop(subscription, None)

    def resend(self, session: Session) -> None:
        """After a reconnect: send everything in flight again, in the first order and with the first identifiers.

        What exceeds the client's receive maximum follows as it acknowledges.
        """
        window = session.window
        if window is None:
            return
        # The client has these messages; only PUBCOMP is missing, so PUBREL is sent again.
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
                    # The messages are not safe yet or cannot be read: they are tried again when more is safe.
                    window.hold_again(flights[index:])
                    return
                subscription, span = flight.subscription, flight.span
                assert span is not None
                if isinstance(span, MixedSpan) and outlet.one_by_one:
                    window.hold_again(flights[index:])
                    window.take_apart(flight, span)
                    break
                if sent and span.hold is None and not account.has_room(span.cost):
                    # The first flight is sent whatever it costs, or a small budget would stop the client for ever.
                    window.hold_again(flights[index:])  # acknowledgements of the others will make room
                    return
                span.charge(account)
                sent = True
                if too_large(self._services.now, subscription, span, flight.qos):
                    self._services.stats.too_large += flight.count
                    window.drop(flight)
                    continue
                # No shared rendering here: identifiers and DUP are this client's own.
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
        """A client has disconnected: give its unacknowledged QoS 1 messages of shared subscriptions to others."""
        back = session.window.take_back() if session.window else []
        groups: dict[ShareGroup, None] = {}
        # Each is put in front, so the last one goes first.
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
                self._services.slices.drop(group)  # begin anew: members that were already passed may have room now
                self._share_out(group)
            else:  # when many members disconnect at once, this runs once for all of them
                self.share_out_later(group)

    def share_out_later(self, group: ShareGroup) -> None:
        """Give the backlog of a group to its members in a later turn. If that is under way, it begins anew."""
        self._services.slices.drop(group)
        self._services.slices.later(group, partial(self._share_out, group))

    def _share_out(self, group: ShareGroup) -> None:
        """Give the backlog of a group to its members, in slices."""
        self._services.slices.begin(group, self._share_out_in_steps(group), lambda: None)

    def _share_out_in_steps(self, group: ShareGroup) -> Steps:
        """Round robin: some messages for each member, as long as any member can take more."""
        given = True
        while given:
            given = False
            for member in list(group.members):
                if not group.buffer.count and not (group.spool and group.spool.count):
                    return
                if member.session.subscriptions.get(member.filter) is member:  # it may have unsubscribed meanwhile
                    member.session.note_backlog(member)
                    given |= self._give_some(group, member)
                yield None

    def _give_some(self, group: ShareGroup, member: Subscription) -> bool:
        """Send a member some of the backlog of its group. Returns whether it took any."""
        sent = member.sent
        if member.outlet.open:
            if group.buffer.count:
                self.memory.pump(member, group.buffer, self._services.now(), _SHARED_AT_ONCE)
            if self.log is not None and group.spool is not None and group.spool.count and not group.buffer.waiting:
                self.log.pump(member, _SHARED_AT_ONCE)
        return member.sent != sent
