"""Recovery: makes sessions and retained messages of the state that was read from the log.

Theory of operation
1. All that the log says has been read (`log_contents`). What an earlier start has set aside is tried again first.
2. The last record of moves may have been cut off from the acknowledgements behind it: these follow from the moves.
3. Sessions of clients that are away are made from their packed form, all others from their records. A session is made
   as a whole or not at all: one that fails is taken back and set aside with its cursors. A client that finds no session
   subscribes again; one that finds half of it does not.
4. Then streams and queues are taken up. Each says which cursors are its own. Those of unsubscribed filters with
   messages in flight are *retired*; those that nobody owns, not even something that is set aside, are dropped.
5. What is pending in a cursor waits (`spool.put`), except for what is in flight (`spool.sent_before`): so all cursors
   are known before any flight is taken out.
6. Retained messages come last. Nothing here is written to the log but that clients are away which had been connected.
"""

from collections.abc import Callable
from typing import Any, Protocol

from heliograph.broker.core.limits import Limits
from heliograph.broker.core.mixed_span import stored_span
from heliograph.broker.core.retained import Retained
from heliograph.broker.errors import MalformedObject
from heliograph.broker.routing.subscriptions import Subscriptions
from heliograph.broker.sessions.identifier_set import IdentifierSet
from heliograph.broker.sessions.session import FOR_EVER, Session, Subscription
from heliograph.broker.sessions.spool import Spool, SpoolTotals
from heliograph.broker.sessions.window import Flight, Window
from heliograph.broker.storage import offline_sessions, record_kinds
from heliograph.broker.storage.log_contents import LogContents
from heliograph.broker.storage.offline_sessions import OfflineSession
from heliograph.broker.storage.queue_records import QueueRecords
from heliograph.broker.storage.recovered_session import RecoveredSession, without_shared
from heliograph.broker.storage.store import Store
from heliograph.log import (
    Cursor,
    MessageLog,
    Ranges,
    Receivers,
    Record,
    UniformMessages,
    encode_uniform_messages,
)
from heliograph.mqtt import STRING_MAX, check_topic_name, decode_utf8
from heliograph.objects import Range, text_mistake


class RecoveringBroker(Protocol):
    """The broker, as far as sessions and subscriptions are made with it."""

    sessions: dict[str, Session]
    retained: Retained

    @property
    def limits(self) -> Limits:
        """Those of the configuration."""

    @property
    def now(self) -> Callable[[], float]:
        """The clock."""

    def new_session(self, client_id: str, number: int = 0) -> Session:
        """A session that is not open yet; `number` is what the log calls it."""

    def restore_presence(self, session: Session, away: float, will_due: float | None) -> None:
        """The client of a session that was found in the log is away since then."""


class SessionRecovery:
    """Makes the objects of a broker from the contents of the log."""

    def __init__(
        self,
        contents: LogContents,
        store: Store,
        broker: RecoveringBroker,
        subscriptions: Subscriptions,
        restore_queues: Callable[[QueueRecords, Callable[[Record, Exception], None]], set[int]],
    ) -> None:
        """`restore_queues` takes up queues, and says which cursors are theirs; it is told what to do with failures."""
        self._contents = contents
        self._store = store
        self._broker = broker
        self._subscriptions = subscriptions
        self._restore_queues = restore_queues
        self._spools = Spools(store.ledger, store.spooled)
        self._set_aside = contents.set_aside

    def recover(self) -> int:
        """Give everything to the broker; the highest number that a session has had."""
        self._contents.try_again()
        self._settle_last_moves()
        owned = self._restore_offline()
        sessions = [
            session for kept in list(self._contents.sessions.values()) if (session := self._restore_session(kept))
        ]
        owned |= self._store.streams.recover(self._contents.streams, self._set_aside.add)
        owned |= self._restore_queues(self._contents.queues, self._set_aside.add)
        owned.update(group.spool.cursor.number for group in self._subscriptions.groups.values() if group.spool)
        for session in sessions:
            owned.update(s.spool.cursor.number for s in session.subscriptions.values() if s.spool)
        for session in sessions:
            flights = session.window.sent if session.window else ()
            self._store.retired.update(f.cursor.number for f in flights if f.cursor and f.cursor.number not in owned)
        owned |= self._store.retired
        there = set(self._store.ledger.cursors)
        owned |= self._set_aside.keep_cursors(there, owned)
        for number in there - owned:  # of groups whose durable members have all gone, for example
            self._store.ledger.drop_cursor(self._store.ledger.cursors[number])
        for session in sessions:
            for subscription in session.subscriptions.values():
                _make_unsent(subscription)
        for group in self._subscriptions.groups.values():  # a member may have been there before the group had a spool
            for member in group.members:
                _make_unsent(member)
        for session in sessions:
            for flight in session.window.sent if session.window else ():
                if flight.subscription.spool is not None:
                    flight.subscription.spool.sent_before(flight.offset, flight.offset + flight.count)
        for messages in self._contents.retained.values():
            self._restore_retained(messages)
        return self._contents.last_number

    def _restore_offline(self) -> set[int]:
        """Make sessions to which nothing has happened; their cursors. What fails is left to `_restore_session`."""
        owned: set[int] = set()
        for number in list(self._contents.away):
            one = self._contents.away.pop(number)  # what is made of it takes the room
            session = None
            try:
                away = offline_sessions.decode(one)
                session = self._broker.new_session(away.client, number)
                self._fill_offline(session, away)
            except Exception:
                if session is not None:
                    self._withdraw(session)
                self._contents.away[number] = one
                self._contents.known(number)
                continue
            self._broker.sessions[away.client] = session
            owned.update([s.spool.cursor.number for s in session.subscriptions.values() if s.spool and s.group is None])
        return owned

    def _fill_offline(self, session: Session, away: OfflineSession) -> None:
        _check_client(away.client)
        session.expiry = _expiry(away.expiry)
        for one in away.subscriptions:
            one.set_options(self._subscriptions.restore(session, one.filter, self._spools.get(one.cursor)))
        if away.next_id > 1:
            session.window = Window(self._broker.limits.inflight, self._store.settled)
            session.window.restore([], [], away.next_id)
        self._broker.restore_presence(session, self._store.clock.from_wall(away.away), None)
        for subscription in session.subscriptions.values():
            if subscription.group is None:
                _make_unsent(subscription)

    def _restore_session(self, kept: RecoveredSession) -> Session | None:
        session = self._broker.new_session(kept.client, kept.number)
        try:
            self._fill(session, kept)
        except Exception as error:
            # All of it goes: a client that finds no session subscribes again, and one that finds half of it does not.
            self._withdraw(session)
            del self._contents.sessions[kept.number]
            self._set_aside.add(kept.record(), error)
            return None
        self._broker.sessions[kept.client] = session
        if kept.presence["away"] is None:
            self._store.note_presence(session)  # or the time that it has been away would start anew with each restart
        return session

    def _restore_retained(self, messages: UniformMessages) -> None:
        try:
            check_topic_name(decode_utf8(messages.topic))
            self._broker.retained.keep(stored_span(messages, self._store.clock), 0, None)
        except Exception as error:
            body = encode_uniform_messages(messages, Receivers((), (), ())) + messages.data
            self._set_aside.add(Record(0, record_kinds.RETAINED, body), error)

    def _settle_last_moves(self) -> None:
        """Acknowledge what clients have received: the log may have been cut between that and its acknowledgements."""
        for move in self._contents.last_moves:
            cursor = self._store.ledger.cursors.get(move.cursor)
            if move.what == record_kinds.RECEIVED and cursor is not None:
                self._store.ledger.acknowledge(cursor, move.offset, move.offset + move.number)

    def _fill(self, session: Session, kept: RecoveredSession) -> None:
        _check_client(kept.client)
        if kept.received:
            session.received = IdentifierSet((number, number + 1) for number in sorted(kept.received))
        by_cursor: dict[int, Subscription] = {}
        for fact in kept.retired:
            retired = by_cursor[fact["cursor"]] = Subscription(session, fact["filter"])
            _set_options(retired, fact)
            retired.spool = self._spools.get(fact["cursor"])
        for fact in kept.subscriptions.values():
            subscription = self._subscriptions.restore(session, fact["filter"], self._spools.get(fact["cursor"]))
            _set_options(subscription, fact)
            by_cursor[fact["cursor"]] = subscription
        self._restore_window(kept, session, by_cursor)
        self._restore_presence(kept, session)

    def _restore_window(
        self,
        kept: RecoveredSession,
        session: Session,
        by_cursor: dict[int, Subscription],
    ) -> None:
        flights: list[Flight[Subscription]] = []
        for first, count, qos, number, offset in without_shared(kept):
            spool, subscription = self._spools.get(number), by_cursor.get(number)
            if spool is None or subscription is None:
                continue
            for lo, hi in _pending_parts(spool.cursor, offset, offset + count):
                flights.append(
                    Flight(first + lo - offset, hi - lo, qos, subscription, None, lo - offset, spool.cursor, lo)
                )
        if flights or kept.released.count or kept.next_id > 1:
            window = session.window = Window(self._broker.limits.inflight, self._store.settled)
            released = [(lo, hi - lo) for lo, hi in kept.released]
            window.restore(flights, released, kept.next_id)

    def _restore_presence(self, kept: RecoveredSession, session: Session) -> None:
        presence = kept.presence
        session.expiry = _expiry(presence["expiry"])
        session.set_will(record_kinds.will_of(presence["will"]))
        if presence["away"] is None:  # connected when the server stopped being there
            self._broker.restore_presence(session, self._broker.now(), None)
        else:
            due = presence["will_due"]
            away = self._store.clock.from_wall(presence["away"])
            self._broker.restore_presence(session, away, self._store.clock.from_wall(due) if due is not None else None)

    def _withdraw(self, session: Session) -> None:
        """Undo the restoring of a session, without writing to the log."""
        session.number = 0
        for full, subscription in list(session.subscriptions.items()):
            subscription.spool = None
            self._subscriptions.unsubscribe(session, full)
        session.refund()


class Spools:
    """The spools of cursors, made for those who ask for them."""

    def __init__(self, ledger: MessageLog, total: SpoolTotals) -> None:
        self._ledger = ledger
        self._total = total
        self._made: dict[int, Spool] = {}

    def get(self, number: int) -> Spool | None:
        """The spool of the cursor of this number, the same one for all; None if there is no such cursor."""
        spool = self._made.get(number)
        if spool is None and (cursor := self._ledger.cursors.get(number)):
            spool = self._made[number] = Spool(self._ledger, cursor, self._total)
        return spool


def _make_unsent(subscription: Subscription) -> None:
    """Put everything pending into the backlog; messages in flight are taken out later (`sent_before`)."""
    spool = subscription.spool
    if spool is not None and spool.cursor.pending:
        subscription.session.note_backlog(subscription)
        for lo, hi in spool.cursor.pending_ranges():
            spool.put(lo, hi)


def _check_client(name: str) -> None:
    if mistake := text_mistake(name, STRING_MAX):
        raise MalformedObject(f"client identifier: {mistake}")


def _expiry(seconds: int) -> int:
    if seconds == FOR_EVER:
        return FOR_EVER  # one object for all
    if seconds not in Range(0, FOR_EVER):
        raise MalformedObject(f"expected an expiry {Range(0, FOR_EVER)}, found {seconds}")
    return seconds


def _set_options(subscription: Subscription, fact: dict[str, Any]) -> None:
    if fact["qos"] not in {0, 1, 2}:
        raise MalformedObject(f"expected a QoS of 0, 1 or 2, found {fact['qos']}")
    subscription.qos = fact["qos"]
    subscription.no_local = fact["no_local"]
    subscription.retain_as_published = fact["retain_as_published"]
    subscription.extra = bytes.fromhex(fact["extra"])


def _pending_parts(cursor: Cursor, lo: int, hi: int) -> list[tuple[int, int]]:
    pending = Ranges([(lo, min(hi, cursor.next))])
    pending.remove(0, cursor.first)
    for start, end in cursor.acknowledged:
        pending.remove(start, end)
    return list(pending)
