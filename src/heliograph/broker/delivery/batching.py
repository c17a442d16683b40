"""What clients publish in a turn, gathered into runs for the same receivers: see rules 3 to 7 of `storage/turn.py`."""

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
"""Bytes of the largest packet that gathers. What is done for each message is little beside copying larger ones."""
_PUBACK, _PUBREC = b"\x40\x02", b"\x50\x02"
"""What an acknowledgement begins with; its packet identifier follows."""

_NOT_STORED = Published(Reason.SUCCESS, 1)

_Answer = tuple[int, int, int, Published]
"""The place of a message among all of a turn, its QoS, its packet identifier, and what became of it."""
_ARRIVAL, _OUTCOME = itemgetter(0), itemgetter(1, 3)


class Batches:
    """`broker.batches`."""

    def __init__(
        self,
        services: Services,
        turn: Turn,
        store: Store | None,
        routes: RouteTable,
        answers: Answers,
        publish: Callable[[Span, Session | None, Route], Published],
    ) -> None:
        """`publish` is what publishes a span to all who want it."""
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
        """What is to be told when all batches are published, because it has to be told in the order of arrival."""

    def gather(
        self, publisher: Publisher, route: Route, key: int, packet: bytes, name_end: int, head: int, qos: int
    ) -> None:
        """A client has published a message. `key` is what the route has for it (`Route.batch_key`)."""
        batch = route.batches.get(key)
        before = publisher.batch
        if before is not batch and before is not None and (before.route is not route or not route.partitions):
            self.publish()  # what this client has published before goes first
            batch = None
        elif batch is not None and len(batch.packets) >= route.most_batched:
            self.publish()
            batch = None
        if batch is None:
            batch = Batch(route, self._routes.generation, qos, publisher.version5)
            route.batches[key] = batch
            self._open.append(batch)
            before = publisher.batch
        if before is not batch and before is not None:
            self._is_out_of_order = True
        publisher.batch = batch
        batch.add(publisher, packet, name_end, head)
        if batch.arrivals is not None:
            batch.arrivals.append(self._arrived)
            self._arrived += 1

    def publish(self) -> None:
        """Publish all that has gathered."""
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
                # Some have no answer, and nobody knows who. All of them can try again.
                self._services.defects.note("messages of several clients")
                self._services.defects.culprits += [publisher.outlet for publisher in batch.publishers]

    def _regrouped(self, batch: Batch) -> Iterable[Batch]:
        """The same messages by the routes that they have now. They have had one in common before."""
        routes, qos, version5 = self._routes, batch.qos, batch.version5
        found: dict[tuple[Route, int], Batch] = {}
        columns = zip(batch.publishers, batch.packets, batch.name_ends, batch.heads, strict=True)
        for at, (publisher, packet, name_end, head) in enumerate(columns):
            topic = packet[topic_start(len(packet)) : name_end]
            try:
                route = publisher.find_route(topic)
            except ProtocolError as error:  # what a topic may be has changed
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
            # One of them is at fault, and nobody knows which. What some receivers have got already comes again.
            self._publish_each(batch)
            return
        self._services.stats.messages_received += span.count
        self._answer(batch, published)

    def _publish_each(self, batch: Batch) -> None:
        """Publish message by message. Whoever sent one with which something goes wrong is cut off."""
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
        """Tell all publishers what became of their messages."""
        qos, number = batch.qos, len(batch.packets)
        in_log = published.stored == number and published.taken == number
        if qos == 2 and not in_log:
            for at, publisher in enumerate(batch.publishers):
                self._note_taken(publisher, batch.identifier(at), published, at)
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
        """Tell a publisher what became of one message: now, or when it is known of those that came before it."""
        publisher, packet_id = batch.publishers[at], batch.identifier(at)
        if self._answers is None or batch.arrivals is None:
            self._answer_clients.acknowledge(publisher, batch.qos, [packet_id], published)
        else:
            answer = batch.arrivals[at], batch.qos, packet_id, published
            self._answers.setdefault(publisher, []).append(answer)

    def _answer_in_order(self, answers: dict[Publisher, list[_Answer]]) -> None:
        """Acknowledge messages in the order in which they came, as the standard demands; in runs that went alike."""
        for publisher, own in answers.items():
            own.sort(key=_ARRIVAL)
            for (qos, published), run in groupby(own, key=_OUTCOME):
                ids = [packet_id for _, _, packet_id, _ in run]
                self._answer_clients.acknowledge(
                    publisher, qos, ids, published._replace(taken=len(ids) if published.taken else 0)
                )

    def _answer_all(self, batch: Batch, *, stored: bool) -> None:
        """The same for all: plain success."""
        store = self._store
        outlets = [publisher.outlet for publisher in batch.publishers]
        if batch.qos:
            head = _PUBACK if batch.qos == 1 else _PUBREC
            columns = zip(batch.packets, batch.name_ends, strict=True)
            answers = [head + packet[name_end : name_end + 2] for packet, name_end in columns]
            self._answer_clients.answer_all(outlets, answers, stored=stored)
        if store is not None and stored and store.is_behind:
            for outlet in outlets:
                store.pause_if_behind(outlet)

    def _note_taken(self, publisher: Publisher, packet_id: int, published: Published, at: int) -> None:
        """Remember the identifier of the QoS 2 message with this index if it was taken."""
        session = publisher.session
        assert session is not None
        if published.reason >= Reason.UNSPECIFIED_ERROR or at >= published.taken:
            session.forget_received(packet_id)
        elif at >= published.stored:
            note_taken(self._store, session, [packet_id], _NOT_STORED)


_NOTHING = nullcontext()


def not_at_present(store: Store | None, span: Span, route: Route) -> Published | None:
    """What MQTT 5 clients are told while nothing can be stored. Older ones have no such answer: theirs waits."""
    if span.version5 and span.qos and store is not None and store.trouble and route.needs_disk(span):
        return Published(store.refusal, span.count)
    return None


def as_a_whole(turn: Turn, session: Session | None, route: Route) -> AbstractContextManager[None]:
    """For QoS 2: queues store messages apart from their identifiers, but a crash must leave both, or none of them."""
    if route.bound is None or session is None or not session.number:
        return _NOTHING
    return turn.together()


def note_taken(store: Store | None, session: Session | None, ids: Sequence[int], published: Published) -> None:
    """Identifiers of QoS 2 messages are remembered with the messages; those of messages that nobody stores, here."""
    if store is None or session is None or not session.number:
        return
    for packet_id in ids[published.stored : published.taken]:
        store.note_move(Move(record_kinds.TAKEN, 2, packet_id, 1, session.number))
