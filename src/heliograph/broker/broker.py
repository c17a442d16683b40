"""The broker: sessions, subscriptions and retained messages, and what happens when one of them changes.

It is synchronous and deterministic. Time and new identifiers are handed in, bytes for clients pile up in outlets that
the server empties. Whoever calls a method that may have produced output looks at what is dirty in the turn afterwards.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from heliograph.broker.core.defects import Defects
from heliograph.broker.core.journal import Journal, NoJournal
from heliograph.broker.core.limits import Limits
from heliograph.broker.core.memory import Budget
from heliograph.broker.core.outlet import Outlet
from heliograph.broker.core.published import Published
from heliograph.broker.core.queue_definition import QueueDefinition
from heliograph.broker.core.retained import Retained
from heliograph.broker.core.slices import Slices, Steps, one_by_one
from heliograph.broker.core.span import Span, carried_properties, message
from heliograph.broker.core.statistics import Statistics
from heliograph.broker.core.timers import Timers
from heliograph.broker.core.topics import TopicTree
from heliograph.broker.delivery.delivery import Delivery
from heliograph.broker.delivery.wide_delivery import WideDelivery, in_parts
from heliograph.broker.mqtt import subscribing
from heliograph.broker.mqtt.admission import Pace
from heliograph.broker.queues.queues import Queues
from heliograph.broker.routing.bindings import Bindings
from heliograph.broker.routing.routes import Receiver, Route, RouteTable
from heliograph.broker.sessions.buffer import Buffer, Held
from heliograph.broker.sessions.session import FOR_EVER, Session
from heliograph.broker.sessions.spool import Spool
from heliograph.broker.sessions.subscription import ShareGroup, Subscription, subscription_cost
from heliograph.broker.storage.store import Store
from heliograph.broker.storage.streams import Stream, StreamOptions
from heliograph.broker.storage.turn import Turn
from heliograph.common.collector import collector_paused
from heliograph.mqtt import ProtocolError, Reason, Will, check_topic_filter, packets, split_share

if TYPE_CHECKING:
    from heliograph.broker.administration.management import Pipelines, QueueManagers
    from heliograph.broker.mqtt.connection import Connection


_FORGOTTEN_ONE_BY_ONE = 20
"""Subscriptions of a client that comes: with more of them it is simpler to forget all routes there are."""


class Broker:
    """One topic space and all who use it."""

    def __init__(
        self,
        limits: Limits,
        now: Callable[[], float],
        new_identifier: Callable[[], str],
        journal: Journal | None = None,
        store: Store | None = None,
        streams: Sequence[StreamOptions] = (),
        queues: Sequence[QueueDefinition] = (),
        wall: Callable[[], float] = time.time,
    ) -> None:
        """With a store, the broker takes up where the last one left off; without, it forgets all when it goes.

        Streams are kept in the store. Queues are made or changed to be as they are given here. Without a store, which
        has a clock, `wall` is the time in seconds since 1970.
        """
        self.limits = limits
        self.journal: Journal = journal or NoJournal()
        self.now = now
        self.new_identifier = new_identifier
        """Makes names that nobody has: of clients that bring none, and of queues and topics made for one client."""
        self.stats = Statistics()
        self.defects = Defects(self.stats, self.journal)
        self.pace = Pace()
        self.sessions: dict[str, Session] = {}
        self.connections: dict[str, Connection] = {}
        """Connected clients by client identifier."""
        self.groups: dict[tuple[str, str], ShareGroup] = {}
        self.memory = Budget(limits.memory)
        """What clients may make the server keep in memory, and who has how much of it."""
        self.retained = Retained(self.memory.account("retained messages", ""))
        self.held = Held()
        self.timers = Timers(self.defects)
        self.slices = Slices(now, self.defects)
        self.wide = WideDelivery(self)
        self.turn = Turn(self, store)
        self.delivery = Delivery(self, store)
        self._tree: TopicTree[Receiver] = TopicTree()
        self.routes = RouteTable(self._tree, self.memory)
        self.subscription_count = 0
        self.store = store
        self.bindings = Bindings(self, self._tree)
        self.queues = Queues(self, store.clock.wall if store else wall)
        self.queue_managers: QueueManagers | None = None
        self.pipelines: Pipelines | None = None
        """The server as a process and those beside it; None where a broker is all there is."""
        self.stopping = False
        """The server is about to go. Wills of durable sessions are left to the next one, as the standard allows."""
        if store is not None:
            store.charge_to(self.memory)
            store.defects = self.defects
            with collector_paused():
                store.take_over(self.sessions, self.retained, self.queues, store.revival.revive(self, store))
            for stream in store.open_streams(streams):
                self.feed(stream)
        self.queues.open(queues)
        if store is not None:
            store.settle_set_aside()
            self.timers.run(now())  # what became due while nobody was there

    def feed(self, stream: Stream) -> None:
        """Messages that match its filter go into this stream from now on."""
        self._tree.add(stream.options.filter, stream)
        self.routes.forget(stream.options.filter)

    def feed_no_more(self, stream: Stream) -> None:
        """The other way round."""
        if stream.is_fed:
            self._tree.remove(stream.options.filter, stream)
            self.routes.forget(stream.options.filter)

    # Publishing

    def publish(self, span: Span, publisher: Session | None = None, route: Route | None = None) -> Published:
        """Retain (if asked for) and deliver a span."""
        if route is None:
            route = self.routes.find(span.topic, self.limits.topic_levels)
        published = self.publish_to_mqtt(span, publisher, route)
        if route.bound is None:
            return published
        put = self.bindings.put_span(span, route.bound)
        taken = min(put.refused, default=span.count)
        if published.reason is Reason.SUCCESS:
            taken = max(taken, published.taken)
        return Published(Reason.SUCCESS, taken, published.stored, put.stored)

    def publish_to_mqtt(self, span: Span, publisher: Session | None, route: Route) -> Published:
        """Publish to all but queues: retained, subscriptions, streams."""
        if route.catching_up:
            subscribing.send_retained_first(self, span.topic, route)
        kept = not span.retain or span.retold or self.retained.keep(span, span.count - 1, self.limits)
        if self.store is not None and not kept:
            span.retain = False  # or the next start would find it in the log, and retain it
        if self.store is not None and self.is_stored(span, route):
            taken, stored = self.delivery.deliver(span, route, publisher)
        else:
            taken, stored = self.delivery.memory.deliver(span, route, publisher), 0
        if not (route.subscriptions or route.groups or route.streams):
            return Published(Reason.NO_MATCHING_SUBSCRIBERS if kept else Reason.QUOTA_EXCEEDED, span.count, stored)
        # A message that was delivered but could not be retained is no failure: sent again, it would come twice.
        return Published(Reason.SUCCESS, taken, stored)

    def needs_disk(self, span: Span, route: Route) -> bool:
        """Whether the log gets these messages, for whomever."""
        return self.is_stored(span, route) or (span.qos > 0 and route.bound is not None and route.bound.is_durable)

    def is_stored(self, span: Span, route: Route) -> bool:
        """Whether MQTT needs them in the log: somebody wants them who may be away, or they are to be retained."""
        if route.streams:
            return True
        if span.retain and not span.retold and not span.topic.startswith(b"$SYS/"):
            return True
        return span.qos > 0 and bool(route.durable)

    def publish_message(self, topic: str, payload: bytes, *, qos: int = 0, retain: bool = False) -> None:
        """Publish one message of the broker's own."""
        self.publish(message(topic.encode(), payload, qos=qos, retain=retain))

    # Subscriptions

    def subscribe(self, session: Session, asked: packets.Subscription, identifier: int | None = None) -> Reason:
        """Add or change a subscription; what SUBACK says about it."""
        try:
            check_topic_filter(asked.filter)
            group_name, topic_filter = split_share(asked.filter)
        except ProtocolError as error:
            return error.reason
        if topic_filter.count("/") >= self.limits.topic_levels:
            return Reason.TOPIC_FILTER_INVALID
        subscription = session.subscriptions.get(asked.filter)
        if subscription is None:
            if len(session.subscriptions) >= self.limits.subscriptions_per_client:
                return Reason.QUOTA_EXCEEDED
            if not session.account.has_room(subscription_cost(asked.filter)):
                return Reason.QUOTA_EXCEEDED
            subscription = self._add(session, asked.filter, group_name, topic_filter)
        subscription.set_options(asked.qos, asked.no_local, asked.retain_as_published, identifier)
        if self.store is not None and session.number:
            self._keep(self.store, subscription)
        self.routes.forget(topic_filter)
        return Reason(asked.qos)

    def _keep(self, store: Store, subscription: Subscription) -> None:
        """A durable session has subscribed: from now on the log keeps its messages, unless it wants none with QoS."""
        group = subscription.group
        if subscription.qos and subscription.spool is None:
            subscription.spool = store.new_spool()
            if group is not None:
                group.spool = subscription.spool
                for member in group.members:
                    member.spool = group.spool
        elif not subscription.qos and group is None and subscription.spool is not None:
            self._leave_behind(subscription)
            self._retire(store, subscription.spool)
            subscription.spool = None
        store.note_subscribed(subscription)

    def _leave_behind(self, subscription: Subscription) -> None:
        """What is on its way for a subscription goes on under what it was, which is like one that was unsubscribed."""
        was = subscription.copy()
        window = subscription.session.window
        for flight in window.sent if window else ():
            if flight.subscription is subscription:
                flight.subscription = was

    def _retire(self, store: Store, spool: Spool) -> None:
        store.retire_spool(spool, in_flight=spool.cursor.pending > spool.count)

    def revive_subscription(self, session: Session, full: str, spool: Spool | None) -> Subscription:
        """Put a subscription where it was before the broker was started; ProtocolError if there cannot be such."""
        check_topic_filter(full)
        group_name, topic_filter = split_share(full)
        subscription = self._add(session, full, group_name, topic_filter)
        group = subscription.group
        if group is None or spool is None:
            subscription.spool = group.spool if group else spool
        else:
            group.spool = spool
            for member in group.members:
                member.spool = spool
        return subscription

    def _add(self, session: Session, full: str, group_name: str | None, topic_filter: str) -> Subscription:
        group = None
        if group_name is not None:
            group = self.groups.get((group_name, topic_filter))
            if group is None:
                account = self.memory.account("shared subscription", full)
                group = self.groups[group_name, topic_filter] = ShareGroup(group_name, topic_filter, self.held, account)
                self._tree.add(topic_filter, group)
        subscription = session.subscriptions[full] = Subscription(session, full, group)
        session.account.add(subscription_cost(full))
        self.subscription_count += 1
        if group is None:
            self._tree.add(topic_filter, subscription)
        else:
            group.members.append(subscription)
            if group.buffer.count or (group.spool and group.spool.count):
                session.note_backlog(subscription)
        return subscription

    def unsubscribe(self, session: Session, full: str) -> Reason:
        """Remove a subscription with what waits for it; what UNSUBACK says about it."""
        subscription = session.subscriptions.get(full)
        if subscription is None:
            return Reason.NO_SUBSCRIPTION_EXISTED
        self._do_all([self._remove(session, subscription)])
        return Reason.SUCCESS

    def _do_all(self, work: list[Steps | None]) -> None:
        """Do what the end of subscriptions leaves to do: a client can have millions of messages in their buffers."""
        there = [steps for steps in work if steps is not None]
        if there:
            self.slices.begin(object(), one_by_one(there), lambda: None)

    def _remove(self, session: Session, subscription: Subscription) -> Steps | None:
        """Remove a subscription; how what waits for it is forgotten."""
        full = subscription.filter
        del session.subscriptions[full]
        session.account.refund(subscription_cost(full))
        self.subscription_count -= 1
        if session.backlog:
            session.backlog.pop(subscription, None)
        group = subscription.group
        topic_filter = group.filter if group else full
        if self.store is not None:
            if session.number:
                self.store.note_unsubscribed(session, full)
            if subscription.spool is not None and (group is None or group.members == [subscription]):
                self._retire(self.store, subscription.spool)
        left: Steps | None = None
        if group is None:
            left = subscription.buffer.clear() if subscription.buffer is not None else None
            self._tree.remove(full, subscription)
        else:
            group.members.remove(subscription)
            if not group.members:
                left = group.buffer.clear()
                del self.groups[group.name, group.filter]
                self._tree.remove(group.filter, group)
        self.routes.forget(topic_filter)
        return left

    def backlogs(self) -> Iterator[tuple[Subscription | ShareGroup, list[Buffer | Spool]]]:
        """All who have had to let messages wait, with where these wait: in memory, in the log, or both.

        Others may come and go while somebody goes through them.
        """
        for owner in self._owners():
            places: list[Buffer | Spool] = [place for place in (owner.buffer, owner.spool) if place is not None]
            if places:
                yield owner, places

    def _owners(self) -> Iterator[Subscription | ShareGroup]:
        yield from list(self.groups.values())
        for session in list(self.sessions.values()):
            yield from [one for one in session.subscriptions.values() if one.group is None]

    @property
    def waiting(self) -> int:
        """Messages that wait for a subscription or a group: the sum over all `backlogs`."""
        return self.held.messages + (self.store.spooled.messages if self.store is not None else 0)

    # Sessions

    def open_session(
        self, client_id: str, *, clean_start: bool, expiry: int = 0, will: Will | None = None
    ) -> tuple[Session, bool]:
        """The session of a client that connects, and whether there was one. An old connection has been ended before."""
        session = self.sessions.get(client_id)
        if session is not None and (clean_start or self._has_expired(session)):
            self.end_session(session)
            session = None
        present = session is not None
        if session is None:
            session = self.sessions[client_id] = self.new_session(client_id)
        else:
            self._cancel_timers(session)
        session.expiry, session.away = expiry, None
        if will is not session.will:
            session.set_will(will)
        if self.store is not None:
            if session.number:
                self.store.note_presence(session)
            elif expiry:
                self.store.begin_session(session)
        return session, present

    def _has_expired(self, session: Session) -> bool:
        """Whether its time is over, though nobody has seen to that yet."""
        return session.away is not None and session.expiry != FOR_EVER and session.away + session.expiry <= self.now()

    def new_session(self, client_id: str, number: int = 0) -> Session:
        """A session that is not open yet; `number` is what the log calls it."""
        return Session(client_id, self.turn.settled, self.memory.account("client", client_id), number)

    def attach(self, session: Session, outlet: Outlet, receive_maximum: int) -> None:
        """The client of a session is here: its deliveries go on."""
        session.attach(outlet, self.limits, receive_maximum)
        if len(session.subscriptions) > _FORGOTTEN_ONE_BY_ONE:
            self.routes.forget_all()
            return
        for subscription in session.subscriptions.values():  # of a device, these are topics that only it has
            self.routes.forget(subscription.group.filter if subscription.group else subscription.filter)

    def detach(self, session: Session, *, publish_will: bool) -> None:
        """The client of a session has gone. The session ends now, later or never; its will may be due now or later."""
        self._do_all(session.detach())
        if session.window is not None:
            self.delivery.share_out_again(session)
        session.away = now = self.now()
        if session.will is not None:
            self._will_is_due(session, session.will, now, publish=publish_will)
        if not session.expiry:
            self.end_session(session)
            return
        self._end_in_time(session, now)
        if self.store is not None and session.number:
            self.store.note_presence(session)

    def _will_is_due(self, session: Session, will: Will, now: float, *, publish: bool) -> None:
        """The client has gone, and its will is published now, or later, or never."""
        delay = min(will.properties.get("will_delay_interval", 0), session.expiry)
        deferred = self.stopping and session.number > 0
        if not publish and not deferred:
            session.set_will(None)
        elif not delay and not deferred:
            self._publish_will(session)
        else:
            session.will_timer = self.timers.at(now + delay, lambda _: self._publish_will(session))

    def _end_in_time(self, session: Session, away: float) -> None:
        if session.expiry != FOR_EVER:
            session.end_timer = self.timers.at(away + session.expiry, _Expiry(self, session))

    def revive_presence(self, session: Session, away: float, will_due: float | None) -> None:
        """The client of a session that was found in the log is away since then."""
        session.away = away
        self._end_in_time(session, away)
        if session.will is None:
            return
        if will_due is None:  # connected when the server went: as if the connection had been lost now
            delay = session.will.properties.get("will_delay_interval", 0)
            will_due = away + min(delay, session.expiry)
        session.will_timer = self.timers.at(will_due, lambda _: self._publish_will(session))

    def end_session(self, session: Session) -> None:
        """Forget a session: subscriptions, what waits and what is on its way."""
        if session.will_timer is not None:
            self._publish_will(session)
        self._cancel_timers(session)
        if self.store is not None and session.number:
            self.store.end_session(session)
        if session.window is not None:
            for flight in session.window.sent:
                if self.store is not None and flight.cursor is not None:
                    self.store.ledger.acknowledge(flight.cursor, flight.offset, flight.offset + flight.count)
        if session.subscriptions:
            self._do_all([self._remove(session, one) for one in list(session.subscriptions.values())])
        session.window = None  # what was on its way leads back to the session, and would keep it in memory
        if self.sessions.get(session.client_id) is session:
            del self.sessions[session.client_id]
            session.refund()

    def _cancel_timers(self, session: Session) -> None:
        if session.will_timer is not None or session.end_timer is not None:
            self.timers.cancel(session.will_timer)
            self.timers.cancel(session.end_timer)
            session.will_timer = session.end_timer = None

    def _publish_will(self, session: Session) -> None:
        self.timers.cancel(session.will_timer)
        will, session.will_timer = session.will, None
        session.set_will(None)
        assert will is not None
        span = self._span_of(will)
        try:
            route = self.routes.find(span.topic, self.limits.topic_levels)
        except ProtocolError:  # a will from the log: what a topic may be is not what it was when the client connected
            self.stats.publishes_refused += 1
            self._note_presence(session)
            return
        if route.wide:
            self.wide.begin(self._publish_will_in_parts(span, session, route))
        else:
            self.publish(span, session, route)
            self._note_presence(session)

    def _publish_will_in_parts(self, span: Span, session: Session, route: Route) -> Steps:
        """A crash meanwhile makes it come again, to some once more: better than never."""
        yield from in_parts(self, span, session, route)
        self._note_presence(session)

    def _note_presence(self, session: Session) -> None:
        if self.store is not None and session.number:
            self.store.note_presence(session)

    # The log

    def look_after_log(self, seconds: float) -> None:
        """Spend about this much time on the upkeep of the log; a Problem if the disk does not let us."""
        assert self.store is not None
        # A checkpoint tells what is known now. What happened in this turn must be in the log before it: afterwards it
        # would be taken for something that happened once more.
        self.turn.write_down()
        if not self.store.ledger.halted and self.queues.loading is None:  # which needs messages to stay where they are
            self.store.upkeep.work(seconds)

    def retain_streams(self) -> None:
        """Let go what streams are not to keep any more: in slices, for there may be very many partitions."""
        if self.store is not None and not self.slices.is_working(self.store.streams):
            self.slices.begin(self.store.streams, self.store.retain_streams(), lambda: None)

    def _span_of(self, will: Will) -> Span:
        expiry = will.properties.get("message_expiry_interval")
        return message(
            will.topic.encode(),
            will.payload,
            qos=will.qos,
            retain=will.retain,
            properties=carried_properties(will.properties),
            expires=self.now() + expiry if expiry is not None else 0.0,
        )


class _Expiry:
    """Ends a session when its time has come. There is one for each client that is away: a closure would take four times
    as much memory."""

    __slots__ = ("_broker", "_session")

    def __init__(self, broker: Broker, session: Session) -> None:
        self._broker = broker
        self._session = session

    def __call__(self, now: float) -> None:
        self._broker.stats.sessions_expired += 1
        self._broker.end_session(self._session)
