"""Rules for what MQTT clients publish, alone or together with others."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from heliograph.broker.core.published import Published
from heliograph.broker.core.span import Span
from heliograph.broker.routing.routes import Route
from heliograph.broker.sessions.session import Session
from heliograph.broker.storage import record_kinds as facts
from heliograph.broker.storage.record_kinds import Move
from heliograph.broker.storage.store import Store
from heliograph.broker.storage.turn import Turn

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
