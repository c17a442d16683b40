"""What clients publish in a turn, gathered into runs for the same receivers: see rules 3 to 7 of `turn`."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import groupby
from operator import itemgetter

from heliograph.broker.core.mixed_span import MixedSpan, single_span
from heliograph.broker.core.services import Services
from heliograph.broker.core.span import Published, Span
from heliograph.broker.delivery.answers import Answers
from heliograph.broker.routing.routes import Gathering, Publisher, Route, RouteTable
from heliograph.broker.sessions.session import Session
from heliograph.broker.storage import record_kinds as facts
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


class Gatherings:
    """`broker.gatherings`."""

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
        self._open: list[Gathering] = []
        self._arrived = 0
        self._is_out_of_order = False
        """A publisher has messages in several gatherings."""
        self._answers: dict[Publisher, list[_Answer]] | None = None
        """What is to be told when all gatherings are published, because it has to be told in the order of arrival."""

    def gather(
        self, publisher: Publisher, route: Route, key: int, packet: bytes, name_end: int, head: int, qos: int
    ) -> None:
        """A client has published a message. `key` is what the route has for it (`Route.gathering_key`)."""
        gathering = route.gatherings.get(key)
        before = publisher.gathering
        if before is not gathering and before is not None and (before.route is not route or not route.partitions):
            self.publish()  # what this client has published before goes first
            gathering = None
        elif gathering is not None and len(gathering.packets) >= route.most_gathered:
            self.publish()
            gathering = None
        if gathering is None:
            gathering = Gathering(route, self._routes.generation, qos, publisher.version5)
            route.gatherings[key] = gathering
            self._open.append(gathering)
            before = publisher.gathering
        if before is not gathering and before is not None:
            self._is_out_of_order = True
        publisher.gathering = gathering
        gathering.add(publisher, packet, name_end, head)
        if gathering.arrivals is not None:
            gathering.arrivals.append(self._arrived)
            self._arrived += 1

    def publish(self) -> None:
        """Publish all that has gathered."""
        if not self._open:
            return
        gatherings, self._open = self._open, []
        self._answers = {} if self._is_out_of_order else None
        self._is_out_of_order = False
        self._publish_all(gatherings)
        if self._answers:
            self._answer_in_order(self._answers)
        self._answers = None

    def _publish_all(self, gatherings: list[Gathering]) -> None:
        for gathering in gatherings:
            gathering.route.gatherings.clear()
            for publisher in gathering.publishers:
                publisher.gathering = None
        for gathering in gatherings:
            try:
                if gathering.generation == self._routes.generation:
                    self._publish(gathering)
                else:
                    for regrouped in self._regrouped(gathering):
                        self._publish(regrouped)
            except Exception:
                # Some have no answer, and nobody knows who. All of them can try again.
                self._services.defects.note("messages of several clients")
                self._services.defects.culprits += [publisher.outlet for publisher in gathering.publishers]

    def _regrouped(self, gathering: Gathering) -> Iterable[Gathering]:
        """The same messages by the routes that they have now. They have had one in common before."""
        routes, qos, version5 = self._routes, gathering.qos, gathering.version5
        found: dict[tuple[Route, int], Gathering] = {}
        columns = zip(gathering.publishers, gathering.packets, gathering.name_ends, gathering.heads, strict=True)
        for at, (publisher, packet, name_end, head) in enumerate(columns):
            topic = packet[topic_start(len(packet)) : name_end]
            try:
                route = publisher.find_route(topic)
            except ProtocolError as error:  # what a topic may be has changed
                publisher.end(error.reason, str(error), publish_will=True)
                continue
            key = route, route.gathering_key(topic, qos, version5)
            into = found.get(key)
            if into is None:
                into = found[key] = Gathering(route, routes.generation, qos, version5)
                into.arrivals = [] if gathering.arrivals is not None else None
            into.add(publisher, packet, name_end, head)
            if into.arrivals is not None and gathering.arrivals is not None:
                into.arrivals.append(gathering.arrivals[at])
        return found.values()

    def _publish(self, gathering: Gathering) -> None:
        if len(gathering.packets) > 1 and gathering.route.gathers and (gathering.qos < 2 or not gathering.route.bound):
            self._publish_together(gathering)
        else:
            self._publish_each(gathering)

    def _publish_together(self, gathering: Gathering) -> None:
        qos, defects = gathering.qos, self._services.defects
        sessions = [one.session.number if one.session else 0 for one in gathering.publishers] if qos == 2 else ()
        span = MixedSpan(
            gathering.packets,
            gathering.name_ends,
            gathering.heads,
            qos=qos,
            version5=gathering.version5,
            publishers=sessions,
        )
        try:
            published = not_at_present(self._store, span, gathering.route) or self._publish_span(
                span, None, gathering.route
            )
        except Exception:
            if self._store is not None and self._store.ledger.halted:
                defects.note("messages of several clients could not be published")
                return
            # One of them is at fault, and nobody knows which. What some receivers have got already comes again.
            self._publish_each(gathering)
            return
        self._services.stats.messages_received += span.count
        self._answer(gathering, published)

    def _publish_each(self, gathering: Gathering) -> None:
        """Publish message by message. Whoever sent one with which something goes wrong is cut off."""
        defects = self._services.defects
        before = defects.serving
        for at, publisher in enumerate(gathering.publishers):
            defects.serving = publisher.outlet
            try:
                self._publish_one(gathering, at)
            except Exception:
                if gathering.qos == 2 and publisher.session is not None:
                    publisher.session.forget_received(gathering.identifier(at))
                defects.note("a message that a client published", publisher.outlet)
        defects.serving = before

    def _publish_one(self, gathering: Gathering, at: int) -> None:
        publisher, route = gathering.publishers[at], gathering.route
        span = single_span(
            gathering.packets[at], gathering.name_ends[at], gathering.heads[at], gathering.qos, gathering.version5
        )
        with as_a_whole(self._turn, publisher.session, route) if gathering.qos == 2 else nullcontext():
            published = not_at_present(self._store, span, route) or self._publish_span(span, publisher.session, route)
            if gathering.qos == 2:
                self._note_taken(publisher, gathering.identifier(at), published, 0)
        self._services.stats.messages_received += 1
        if gathering.qos:
            self._acknowledge(gathering, at, published)
        elif self._store is not None:
            self._store.pause_if_behind(publisher.outlet)

    def _answer(self, gathering: Gathering, published: Published) -> None:
        """Tell all publishers what became of their messages."""
        qos, number = gathering.qos, len(gathering.packets)
        in_log = published.stored == number and published.taken == number
        if qos == 2 and not in_log:
            for at, publisher in enumerate(gathering.publishers):
                self._note_taken(publisher, gathering.identifier(at), published, at)
        is_failure = gathering.version5 and (published.reason or published.taken < number)
        is_late = self._answers is not None and gathering.arrivals is not None
        if qos and ((qos == 2 and not in_log) or is_failure or is_late):
            self._answer_each(gathering, published)
        else:
            self._answer_all(gathering, stored=published.stored > 0 or published.put)

    def _answer_each(self, gathering: Gathering, published: Published) -> None:
        for at in range(len(gathering.packets)):
            self._acknowledge(gathering, at, published._replace(taken=int(at < published.taken)))

    def _acknowledge(self, gathering: Gathering, at: int, published: Published) -> None:
        """Tell a publisher what became of one message: now, or when it is known of those that came before it."""
        publisher, packet_id = gathering.publishers[at], gathering.identifier(at)
        if self._answers is None or gathering.arrivals is None:
            self._answer_clients.acknowledge(publisher, gathering.qos, [packet_id], published)
        else:
            answer = gathering.arrivals[at], gathering.qos, packet_id, published
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

    def _answer_all(self, gathering: Gathering, *, stored: bool) -> None:
        """The same for all: plain success."""
        store = self._store
        outlets = [publisher.outlet for publisher in gathering.publishers]
        if gathering.qos:
            head = _PUBACK if gathering.qos == 1 else _PUBREC
            columns = zip(gathering.packets, gathering.name_ends, strict=True)
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
        store.note_move(Move(facts.TAKEN, 2, packet_id, 1, session.number))
