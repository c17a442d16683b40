"""Rules for what MQTT clients publish, alone or together with others."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from heliograph.broker.core.published import Published
from heliograph.broker.core.span import Span
from heliograph.broker.routing.routes import Route
from heliograph.broker.sessions.session import Session
from heliograph.broker.storage import record_kinds as facts
from heliograph.broker.storage.record_kinds import Move

if TYPE_CHECKING:
    from heliograph.broker.broker import Broker

_NOTHING = nullcontext()


def not_at_present(broker: "Broker", span: Span, route: Route) -> Published | None:
    """What MQTT 5 clients are told while nothing can be stored. Older ones have no such answer: theirs waits."""
    store = broker.store
    if span.version5 and span.qos and store is not None and store.trouble and broker.needs_disk(span, route):
        return Published(store.refusal, span.count)
    return None


def as_a_whole(broker: "Broker", session: Session | None, route: Route) -> AbstractContextManager[None]:
    """For QoS 2: queues store messages apart from their identifiers, but a crash must leave both, or none of them."""
    if route.bound is None or broker.store is None or session is None or not session.number:
        return _NOTHING
    return broker.turn.together()


def note_taken(broker: "Broker", session: Session | None, ids: Sequence[int], published: Published) -> None:
    """Identifiers of QoS 2 messages are remembered with the messages; those of messages that nobody stores, here."""
    if broker.store is None or session is None or not session.number:
        return
    for packet_id in ids[published.stored : published.taken]:
        broker.store.note_move(Move(facts.TAKEN, 2, packet_id, 1, session.number))
