"""The broker: sessions, subscriptions and retained messages, and what happens when one of them changes.

It is synchronous and deterministic. Time and new identifiers are handed in, bytes for clients pile up in outlets that
the server empties. Whoever calls a method that may have produced output looks at what is dirty in the turn afterwards.
"""

import time
from collections.abc import Callable, Generator, Iterator, Sequence

from heliograph.broker.core.interfaces import Journal, NoJournal, Pipelines, QueueManagers
from heliograph.broker.core.limits import Limits, Pace
from heliograph.broker.core.outlet import Outlet
from heliograph.broker.core.queue_definition import QueueDefinition
from heliograph.broker.core.retained import Retained
from heliograph.broker.core.services import Services
from heliograph.broker.core.slices import ENOUGH, Steps
from heliograph.broker.core.span import Published, Span, carried_properties, message
from heliograph.broker.delivery.answers import Answers
from heliograph.broker.delivery.batching import Batches
from heliograph.broker.delivery.delivery import Delivery
from heliograph.broker.delivery.wide_delivery import WideDelivery
from heliograph.broker.queues.binding import Binding
from heliograph.broker.queues.queues import Queues
from heliograph.broker.routing.bindings import Bindings
from heliograph.broker.routing.routes import WORTH_COPYING, Publisher, Receiver, Route, RouteTable
from heliograph.broker.routing.subscriptions import Subscriptions
from heliograph.broker.session_recovery import SessionRecovery
from heliograph.broker.sessions.buffer import Buffer, BufferTotals
from heliograph.broker.sessions.session import FOR_EVER, Session, ShareGroup, Subscription
from heliograph.broker.sessions.spool import Spool
from heliograph.broker.storage.store import Store
from heliograph.broker.storage.streams import Stream, StreamOptions
from heliograph.broker.storage.turn import Turn
from heliograph.common.collector import collector_paused
from heliograph.mqtt import ProtocolError, Reason, Will

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
        self.services = Services(
            limits, now, store.clock.wall if store else wall, new_identifier, journal or NoJournal()
        )
        self.journal = self.services.journal
        self.now = now
        self.new_identifier = new_identifier
        """Makes names that nobody has: of clients that bring none, and of queues and topics made for one client."""
        self.stats = self.services.stats
        self.defects = self.services.defects
        self.pace = Pace()
        self.sessions: dict[str, Session] = {}
        self.connections: dict[str, Publisher] = {}
        """Connected clients of MQTT by client identifier."""
        self.memory = self.services.memory
        """What clients may make the server keep in memory, and who has how much of it."""
        self.retained = Retained(self.memory.account("retained messages", ""))
        self.held = BufferTotals()
        """What waits in all buffers together."""
        self.timers = self.services.timers
        self.slices = self.services.slices
        self.store = store
        self.turn = Turn(self.services, store)
        self.answers = Answers(self.turn, store)
        self.wide = WideDelivery(self.services)
        self.delivery = Delivery(self.services, self.turn, store, self.held, self.wide)
        self.routes = RouteTable(self.memory)
        self.subscriptions = Subscriptions(self.services, store, self.routes, self.held)
        self.queues = Queues(self.services, self.turn, store)
        self.bindings = Bindings(self.services, self.queues, self.routes, self.retained)
        self.queues.bindings = self.bindings
        self.batches = Batches(self.services, self.turn, store, self.routes, self.answers, self.publish)
        self.turn.join(self.batches, self.queues, self.delivery.log)
        self.queue_managers: QueueManagers | None = None
        self.pipelines: Pipelines | None = None
        """The server as a process and those beside it; None where a broker is all there is."""
        self.stopping = False
        """Prepare for the end of the server.

        Wills of durable sessions are left to its next start, as the standard allows.
        """
        if store is not None:
            store.charge_to(self.memory)
            store.defects = self.defects
            with collector_paused():
                recovery = SessionRecovery(store.contents, store, self, self.subscriptions, self.queues.recover)
                store.take_over(self.sessions, self.retained, self.queues.all_records, recovery.recover())
            for stream in store.open_streams(streams):
                self.feed(stream)
        self.queues.open(queues)
        if store is not None:
            store.settle_set_aside()
            self.timers.run(now())  # what became due while nobody was there

    @property
    def limits(self) -> Limits:
        """What one client, or all together, may ask for; other limits can be set while the broker runs."""
        return self.services.limits

    @limits.setter
    def limits(self, limits: Limits) -> None:
        self.services.limits = limits

    def feed(self, stream: Stream) -> None:
        """Store messages that match its filter in this stream from now on."""
        self.routes.tree.add(stream.options.filter, stream)
        self.routes.forget(stream.options.filter)

    def feed_no_more(self, stream: Stream) -> None:
        """The other way round."""
        if stream.is_fed:
            self.routes.tree.remove(stream.options.filter, stream)
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
        """Publish to retained messages, subscriptions and streams, but not to queues."""
        if route.catching_up:
            self.delivery.send_retained_first(span.topic, route)
        kept = not span.retain or span.retold or self.retained.keep(span, span.count - 1, self.limits)
        if self.store is not None and not kept:
            span.retain = False  # or the next start would find it in the log, and retain it
        if self.store is not None and route.stores(span):
            taken, stored = self.delivery.deliver(span, route, publisher)
        else:
            taken, stored = self.delivery.memory.deliver(span, route, publisher), 0
        if not (route.subscriptions or route.groups or route.streams):
            return Published(Reason.NO_MATCHING_SUBSCRIBERS if kept else Reason.QUOTA_EXCEEDED, span.count, stored)
        # A message that was delivered but not retained is no failure: the publisher would send it again, as a
        # duplicate.
        return Published(Reason.SUCCESS, taken, stored)

    def publish_in_parts(
        self, span: Span, publisher: Session | None, route: Route
    ) -> Generator[bool | None, None, Published]:
        """Publish a span to all receivers of a wide route, part by part."""
        self.delivery.send_retained_first(span.topic, route)
        answers: list[Published] = []
        some = span
        for part in self.parts_there(route, span.stride):
            answers.append(self.publish(some, publisher, part))
            yield ENOUGH
            some = span.for_others()
        taken = [one.taken for one in answers if one.reason is Reason.SUCCESS]
        return Published(
            Reason.SUCCESS if taken else answers[0].reason,
            max(taken) if taken else answers[0].taken,
            max([one.stored for one in answers]),
            any(one.put for one in answers),
        )

    def parts_there(self, route: Route, size: int) -> Iterator[Route]:
        """The parts of a route for a message of this size, without receivers that were removed since it was found."""
        generation = self.routes.generation
        for part in route.parts() if route.wide and size <= WORTH_COPYING else (route,):
            if self.routes.generation == generation:
                yield part
            else:
                yield Route(tuple([one for one in part.receivers if self._is_there(one)]))

    def _is_there(self, receiver: Receiver) -> bool:
        match receiver:
            case Subscription():
                return receiver.is_there
            case ShareGroup():
                return self.subscriptions.groups.get((receiver.name, receiver.filter)) is receiver
            case Stream():
                return self.store is not None and self.store.streams.by_name.get(receiver.name) is receiver
            case Binding():
                return not receiver.queue.deleted and receiver in self.bindings.of(receiver.queue)

    def publish_message(self, topic: str, payload: bytes, *, qos: int = 0, retain: bool = False) -> None:
        """Publish one message of the broker's own."""
        self.publish(message(topic.encode(), payload, qos=qos, retain=retain))

    def backlogs(self) -> Iterator[tuple[Subscription | ShareGroup, list[Buffer | Spool]]]:
        """All who have had to let messages wait, with where these wait: in memory, in the log, or both.

        Others may come and go while somebody goes through them.
        """
        for owner in self._owners():
            places: list[Buffer | Spool] = [place for place in (owner.buffer, owner.spool) if place is not None]
            if places:
                yield owner, places

    def _owners(self) -> Iterator[Subscription | ShareGroup]:
        yield from list(self.subscriptions.groups.values())
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
        """Whether it has expired, although its timer has not run yet."""
        return session.away is not None and session.expiry != FOR_EVER and session.away + session.expiry <= self.now()

    def new_session(self, client_id: str, number: int = 0) -> Session:
        """A session that is not open yet; `number` is what the log calls it."""
        return Session(client_id, self.turn.settled, self.memory.account("client", client_id), number)

    def attach(self, session: Session, outlet: Outlet, receive_maximum: int) -> None:
        """The client of a session has connected: deliveries go on."""
        session.attach(outlet, self.limits, receive_maximum)
        if len(session.subscriptions) > _FORGOTTEN_ONE_BY_ONE:
            self.routes.forget_all()
            return
        for subscription in session.subscriptions.values():  # of a device, these are topics that only it has
            self.routes.forget(subscription.group.filter if subscription.group else subscription.filter)

    def detach(self, session: Session, *, publish_will: bool) -> None:
        """The client of a session has disconnected.

        The session ends now, later or never; its will is due now or later.
        """
        self.slices.do_all(session.detach())
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
        """The client has disconnected: publish its will now, later, or never."""
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

    def restore_presence(self, session: Session, away: float, will_due: float | None) -> None:
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
        """End a session: remove its subscriptions, backlog and messages in flight."""
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
            self.slices.do_all(
                [self.subscriptions.remove(session, one) for one in list(session.subscriptions.values())]
            )
        session.window = None  # flights refer back to the session: this breaks the reference cycle
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
        yield from self.publish_in_parts(span, session, route)
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
        """Apply the retention of streams, in slices: there may be very many partitions."""
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
