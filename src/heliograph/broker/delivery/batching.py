"""Batches: what several clients publish in one turn to the same receivers, published in one go.

Theory of operation

1. Why: devices send one small message each. Rendering, storing and routing them one by one costs more than the
   messages; as one `MixedSpan` they pay for it once. See also rules 3 to 7 of `storage/turn.py`.
2. `gather` puts a message into the open batch of its route, QoS and protocol version. `publish` publishes all open
   batches: at the end of the turn, when a batch is full, or when something must not overtake them.
3. The messages of one publisher keep their order. When it publishes to another route, everything that is gathered is
   published first. The exception are routes with partitioned streams: there only the order per topic counts, so one
   publisher may be in several batches of the route. Its acknowledgements then wait until all batches are published,
   and are sent in the order of arrival (MQTT-4.6.0).
4. A batch knows the generation of the routes. If subscriptions changed since, its messages are grouped anew.
5. If a batch fails, its messages are published one by one, so that only the client at fault is disconnected. If the
   log has halted, that is not tried: nothing can be stored.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import groupby
from operator import itemgetter

from heliograph.broker.core.mixed_span import MixedSpan, single_span
from heliograph.broker.core.services import Services
from heliograph.broker.core.span import Published, Span
from heliograph.broker.delivery.answers import Answers
from heliograph.broker.routing.routes import Batch, Publisher, Route, RouteTable
from heliograph.broker.sessions.session import Session
from heliograph.broker.storage import record_kinds
from heliograph.broker.storage.record_kinds import Move
from heliograph.broker.storage.store import Store
from heliograph.broker.storage.turn import Turn
from heliograph.log import topic_start
from heliograph.mqtt import ProtocolError, Reason

LARGEST = 4096
"""Bytes of the largest packet that is put into a batch. For larger ones the copy costs more than the batch saves."""
_PUBACK, _PUBREC = b"\x40\x02", b"\x50\x02"
"""The fixed header of an acknowledgement; the packet identifier follows."""

_NOT_STORED = Published(Reason.SUCCESS, 1)

_Answer = tuple[int, int, int, Published]
"""Order of arrival of a message in the turn, QoS, packet identifier, and the outcome."""
_ARRIVAL, _OUTCOME = itemgetter(0), itemgetter(1, 3)


class Batches:
    """Gathers messages and publishes them in batches (`broker.batches`)."""

    def __init__(
        self,
        services: Services,
        turn: Turn,
        store: Store | None,
        routes: RouteTable,
        answers: Answers,
        publish: Callable[[Span, Session | None, Route], Published],
    ) -> None:
        """`publish` publishes a span to all receivers of a route."""
        self._services = services
        self._turn = turn
        self._store = store
        self._routes = routes
        self._answer_clients = answers
        self._publish_span = publish
        self._open: list[Batch] = []
        self._arrived = 0
        self._is_out_of_order = False
        """A publisher has messages in several batches."""
        self._answers: dict[Publisher, list[_Answer]] | None = None
        """Acknowledgements that wait until all batches are published, to be sent in the order of arrival."""

    def gather(
        self, publisher: Publisher, route: Route, key: int, packet: bytes, name_end: int, head: int, qos: int
    ) -> None:
        """Put a message that a client has published into the batch for `key` (from `Route.batch_key`).

        `name_end` is where the topic ends in the packet, `head` the number of bytes before the payload.
        """
        batch = route.batches.get(key)
        before = publisher.batch
        if before is not batch and before is not None and (before.route is not route or not route.partitions):
            self.publish()  # what this client has published before to another route must not be overtaken
            batch = None
        elif batch is not None and len(batch.packets) >= route.most_batched:
            self.publish()
            batch = None
        if batch is None:
            batch = Batch(route, self._routes.generation, qos, publisher.version5)
            route.batches[key] = batch
            self._open.append(batch)
            # `publish` sets this field to None, so it is read again after a `publish`.
            before = publisher.batch
        if before is not batch and before is not None:
            self._is_out_of_order = True
        publisher.batch = batch
        batch.add(publisher, packet, name_end, head)
        if batch.arrivals is not None:
            batch.arrivals.append(self._arrived)
            self._arrived += 1

    def publish(self) -> None:
        """Publish all open batches."""
        if not self._open:
            return
        batches, self._open = self._open, []
        self._answers = {} if self._is_out_of_order else None
        self._is_out_of_order = False
        self._publish_all(batches)
        if self._answers:
            self._answer_in_order(self._answers)
        self._answers = None

    def _publish_all(self, batches: list[Batch]) -> None:
        for batch in batches:
            batch.route.batches.clear()
            for publisher in batch.publishers:
                publisher.batch = None
        for batch in batches:
            try:
                if batch.generation == self._routes.generation:
                    self._publish(batch)
                else:
                    for regrouped in self._regrouped(batch):
                        self._publish(regrouped)
            except Exception:
                # Some publishers have no acknowledgement, and it is not known which. All are disconnected: they send
                # again.
                self._services.defects.note("messages of several clients")
                self._services.defects.culprits += [publisher.outlet for publisher in batch.publishers]

    def _regrouped(self, batch: Batch) -> Iterable[Batch]:
        """The messages of a batch, in batches of the routes that they have now."""
        routes, qos, version5 = self._routes, batch.qos, batch.version5
        found: dict[tuple[Route, int], Batch] = {}
        columns = zip(batch.publishers, batch.packets, batch.name_ends, batch.heads, strict=True)
        for at, (publisher, packet, name_end, head) in enumerate(columns):
            topic = packet[topic_start(len(packet)) : name_end]
            try:
                route = publisher.find_route(topic)
            except ProtocolError as error:  # the limits of topic names were changed meanwhile
                publisher.end(error.reason, str(error), publish_will=True)
                continue
            key = route, route.batch_key(topic, qos, version5)
            into = found.get(key)
            if into is None:
                into = found[key] = Batch(route, routes.generation, qos, version5)
                into.arrivals = [] if batch.arrivals is not None else None
            into.add(publisher, packet, name_end, head)
            if into.arrivals is not None and batch.arrivals is not None:
                into.arrivals.append(batch.arrivals[at])
        return found.values()

    def _publish(self, batch: Batch) -> None:
        if len(batch.packets) > 1 and batch.route.gathers and (batch.qos < 2 or not batch.route.bound):
            self._publish_together(batch)
        else:
            self._publish_each(batch)

    def _publish_together(self, batch: Batch) -> None:
        qos, defects = batch.qos, self._services.defects
        sessions = [one.session.number if one.session else 0 for one in batch.publishers] if qos == 2 else ()
        span = MixedSpan.of_packets(
            batch.packets,
            batch.name_ends,
            batch.heads,
            qos=qos,
            version5=batch.version5,
            publishers=sessions,
        )
        try:
            published = not_at_present(self._store, span, batch.route) or self._publish_span(span, None, batch.route)
        except Exception:
            if self._store is not None and self._store.ledger.halted:
                defects.note("messages of several clients could not be published")
                return
            # One message is at fault, and it is not known which. Some receivers may get messages twice.
            self._publish_each(batch)
            return
        self._services.stats.messages_received += span.count
        self._answer(batch, published)

    def _publish_each(self, batch: Batch) -> None:
        """Publish message by message. A publisher whose message fails is disconnected."""
        defects = self._services.defects
        before = defects.serving
        for at, publisher in enumerate(batch.publishers):
            defects.serving = publisher.outlet
            try:
                self._publish_one(batch, at)
            except Exception:
                if batch.qos == 2 and publisher.session is not None:
                    publisher.session.forget_received(batch.identifier(at))
                defects.note("a message that a client published", publisher.outlet)
        defects.serving = before

    def _publish_one(self, batch: Batch, at: int) -> None:
        publisher, route = batch.publishers[at], batch.route
        span = single_span(batch.packets[at], batch.name_ends[at], batch.heads[at], batch.qos, batch.version5)
        with as_a_whole(self._turn, publisher.session, route) if batch.qos == 2 else nullcontext():
            published = not_at_present(self._store, span, route) or self._publish_span(span, publisher.session, route)
            if batch.qos == 2:
                self._note_taken(publisher, batch.identifier(at), published, 0)
        self._services.stats.messages_received += 1
        if batch.qos:
            self._acknowledge(batch, at, published)
        elif self._store is not None:
            self._store.pause_if_behind(publisher.outlet)

    def _answer(self, batch: Batch, published: Published) -> None:
        """Acknowledge all messages of a batch that was published in one go."""
        qos, number = batch.qos, len(batch.packets)
        in_log = published.stored == number and published.taken == number
        if qos == 2 and not in_log:
            for at, publisher in enumerate(batch.publishers):
                self._note_taken(publisher, batch.identifier(at), published, at)
        # MQTT 3 acknowledgements have no reason code: they are the same for success and failure.
        is_failure = batch.version5 and (published.reason or published.taken < number)
        is_late = self._answers is not None and batch.arrivals is not None
        if qos and ((qos == 2 and not in_log) or is_failure or is_late):
            self._answer_each(batch, published)
        else:
            self._answer_all(batch, stored=published.stored > 0 or published.put)

    def _answer_each(self, batch: Batch, published: Published) -> None:
        for at in range(len(batch.packets)):
            self._acknowledge(batch, at, published._replace(taken=int(at < published.taken)))

    def _acknowledge(self, batch: Batch, at: int, published: Published) -> None:
        """Acknowledge one message: now, or after the acknowledgements of all that this client sent before it."""
        publisher, packet_id = batch.publishers[at], batch.identifier(at)
        if self._answers is None or batch.arrivals is None:
            self._answer_clients.acknowledge(publisher, batch.qos, [packet_id], published)
        else:
            answer = batch.arrivals[at], batch.qos, packet_id, published
            self._answers.setdefault(publisher, []).append(answer)

    def _answer_in_order(self, answers: dict[Publisher, list[_Answer]]) -> None:
        """Send the acknowledgements that waited, in the order of arrival.

        Neighbours with the same outcome share a call.
        """
        for publisher, own in answers.items():
            own.sort(key=_ARRIVAL)
            for (qos, published), run in groupby(own, key=_OUTCOME):
                ids = [packet_id for _, _, packet_id, _ in run]
                self._answer_clients.acknowledge(
                    publisher, qos, ids, published._replace(taken=len(ids) if published.taken else 0)
                )

    def _answer_all(self, batch: Batch, *, stored: bool) -> None:
        """Acknowledge all messages of a batch with plain success."""
        store = self._store
        outlets = [publisher.outlet for publisher in batch.publishers]
        if batch.qos:
            head = _PUBACK if batch.qos == 1 else _PUBREC
            columns = zip(batch.packets, batch.name_ends, strict=True)
            # The identifier is copied from the packet as it came: decoding and encoding it would cost more.
            answers = [head + packet[name_end : name_end + 2] for packet, name_end in columns]
            self._answer_clients.answer_all(outlets, answers, stored=stored)
        if store is not None and stored and store.is_behind:
            for outlet in outlets:
                store.pause_if_behind(outlet)

    def _note_taken(self, publisher: Publisher, packet_id: int, published: Published, at: int) -> None:
        """Remember the identifier of a QoS 2 message if it was taken, else forget it, so that it can be sent again."""
        session = publisher.session
        assert session is not None
        if published.reason >= Reason.UNSPECIFIED_ERROR or at >= published.taken:
            session.forget_received(packet_id)
        # Of messages that were stored, the record has the identifiers.
        elif at >= published.stored:
            note_taken(self._store, session, [packet_id], _NOT_STORED)


_NOTHING = nullcontext()


def not_at_present(store: Store | None, span: Span, route: Route) -> Published | None:
    """The refusal for MQTT 5 clients while nothing can be stored, else None.

    MQTT 3 has no acknowledgement that refuses. Messages of such clients wait until the disk is back.
    """
    if span.version5 and span.qos and store is not None and store.trouble and route.needs_disk(span):
        return Published(store.refusal, span.count)
    return None


def as_a_whole(turn: Turn, session: Session | None, route: Route) -> AbstractContextManager[None]:
    """A context in which all records become one unit on disk, if that is needed for QoS 2.

    Queues store messages apart from the packet identifiers. After a crash, both must be there or neither.
    """
    if route.bound is None or session is None or not session.number:
        return _NOTHING
    return turn.together()


def note_taken(store: Store | None, session: Session | None, ids: Sequence[int], published: Published) -> None:
    """Store the identifiers of QoS 2 messages that were taken but not stored themselves.

    The identifiers of stored messages are part of the message record.
    """
    if store is None or session is None or not session.number:
        return
    for packet_id in ids[published.stored : published.taken]:
        store.note_move(Move(record_kinds.TAKEN, 2, packet_id, 1, session.number))
