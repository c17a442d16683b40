"""Bringing a broker back to where it was: what the log says, put together to sessions and retained messages.

While the log is read, each session is a `KeptSession`: what facts said of it, one after the other. Those that are away,
and of which there is not much to say, are bytes meanwhile (see `away_facts`). When all has been read, objects are made
of that. A fact about a session that is not known is ignored: a checkpoint further on tells all of it.

Whatever cannot be read or made is set aside, and the rest goes on.
"""

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from heliograph.broker.core.span import Span
from heliograph.broker.sessions.identifier_set import IdentifierSet
from heliograph.broker.sessions.session import FOR_EVER, Session
from heliograph.broker.sessions.spool import Spool, Total
from heliograph.broker.sessions.subscription import Subscription
from heliograph.broker.sessions.window import Flight, Window
from heliograph.broker.storage import offline_sessions as away_facts
from heliograph.broker.storage import record_kinds as facts
from heliograph.broker.storage.offline_sessions import AwaySession
from heliograph.broker.storage.queue_records import QueueFacts
from heliograph.broker.storage.recovered_session import KeptSession, apply, without_shared
from heliograph.broker.storage.set_aside import SetAside, SetAsides
from heliograph.errors import Problem
from heliograph.log import (
    AMQP_MESSAGES,
    MIXED_PACKETS,
    Cursor,
    MessageLog,
    Ranges,
    Receivers,
    Record,
    UniformMessages,
    decode_mixed_messages,
    decode_uniform_messages,
    encode_uniform_messages,
    form_of,
    publisher_of,
    qos_and_retain,
)
from heliograph.mqtt import STRING_MAX, check_topic_name, decode_utf8, ids_of, split_share
from heliograph.objects import Range, text_mistake

if TYPE_CHECKING:
    from heliograph.broker.broker import Broker
    from heliograph.broker.storage.store import Clock, Store


class UnknownKind(Problem):
    """The log is that of a later version."""


class Revival:
    """Gathers what the log says."""

    def __init__(self, clock: "Clock") -> None:
        self._clock = clock
        self._kept: dict[int, KeptSession] = {}
        self._away: dict[int, bytes] = {}
        """Sessions as `away_facts` has them. They are not in `_kept`."""
        self._owners: dict[int, tuple[KeptSession, dict[str, Any]]] = {}
        """Sessions and subscriptions by the number of their cursor; those of groups are not among them."""
        self._retained: dict[bytes, UniformMessages] = {}
        self.streams: dict[str, Record] = {}
        """By name, the fact that tells of each."""
        self.queues = QueueFacts()
        self._last_number = 0
        self._last_moves: list[facts.Move] = []
        self.set_aside = SetAsides()

    # What the log says

    def take_messages(self, record: Record, receivers: Receivers) -> None:
        """Messages: identifiers they went out with and came with, and what is retained of them."""
        if form_of(record.body) == AMQP_MESSAGES:
            return  # of queues, which look for them when somebody wants them
        qos, retain = qos_and_retain(record.body)
        for number, offset, first in zip(*receivers, strict=True):
            if first and (owner := self._owners.get(number)):
                kept, subscription = owner
                kept.issue(first, record.count, min(qos, subscription["qos"]), number, offset)
        if retain:
            try:
                self._retain(decode_uniform_messages(record.body, record.count))
            except Exception as error:
                self.set_aside.add(record, error)
        if form_of(record.body) == MIXED_PACKETS:
            if qos == 2:
                for session, packet_id in decode_mixed_messages(record.body, record.count).identifiers():
                    if publishing := self._known(session):
                        publishing.received.add(packet_id)
            return
        if (publisher := publisher_of(record.body)) and (sender := self._known(publisher)):
            messages = decode_uniform_messages(record.body, record.count)
            sender.received.update(ids_of(messages.data, messages.id_at, len(messages.data) // messages.number))

    def _retain(self, messages: UniformMessages) -> None:
        if messages.topic.startswith(b"$SYS/"):  # in a stream, maybe, but what is retained there is made anew
            return
        if messages.payloads[-1]:
            self._retained[messages.topic] = messages
        else:
            self._retained.pop(messages.topic, None)

    def take_fact(self, record: Record) -> None:
        """A fact that the store has noted."""
        if record.kind > facts.LAST:
            raise UnknownKind(
                f"position {record.position}: a record of kind {record.kind}, which this version does not know"
            )
        if record.kind == facts.SET_ASIDE:
            self._without(self.set_aside.take(record.body))
            return
        try:
            self._take_fact(record)
        except Exception as error:
            self.set_aside.add(record, error)

    def _without(self, one: SetAside) -> None:
        """Forget what was known before it was set aside. Another of the same name stays."""
        with suppress(Exception):  # of a fact that cannot even be read, nothing was known
            fact = json.loads(one.body)
            if one.kind == facts.SESSION:
                self._last_number = max(self._last_number, fact["session"])
                self._kept.pop(fact["session"], None)
                self._away.pop(fact["session"], None)
            for kind, records, key in (
                (facts.STREAM, self.streams, "stream"),
                (facts.QUEUE, self.queues.records, "queue"),
            ):
                if one.kind == kind and (known := records.get(fact[key])) and known.body == one.body:
                    self._forget(kind, fact[key])

    def _forget(self, kind: int, name: str) -> None:
        if kind == facts.STREAM:
            del self.streams[name]
        else:
            self.queues.forget(name)

    def _take_fact(self, record: Record) -> None:
        if record.kind == facts.MOVES:
            self._last_moves = facts.decode_moves(record.body)
            for move in self._last_moves:
                if kept := self._known(move.session):
                    apply(kept, move)
        elif record.kind == facts.RETAINED:
            self._retain(decode_uniform_messages(record.body, 1))
        elif record.kind == facts.STREAM:
            self.streams[json.loads(record.body)["stream"]] = record
        elif record.kind == facts.STREAM_GONE:
            self.streams.pop(json.loads(record.body)["stream"], None)
        elif self.queues.take(record):
            pass
        elif record.kind == facts.SESSION:
            kept = KeptSession(json.loads(record.body), record.position)
            self._take_session(kept)
            self._pack(kept)
        elif record.kind == facts.AWAY:
            for number, one in list(away_facts.split(record.body)):
                self._last_number = max(self._last_number, number)
                self._kept.pop(number, None)
                self._away[number] = one
        else:
            fact = json.loads(record.body)
            if kept := self._known(fact["session"]):
                self._change(kept, record.kind, fact)

    def _take_session(self, kept: KeptSession) -> None:
        self._last_number = max(self._last_number, kept.number)
        self._away.pop(kept.number, None)
        self._kept[kept.number] = kept
        for subscription in kept.subscriptions.values():
            self._own(kept, subscription)

    def _pack(self, kept: KeptSession) -> None:
        """The client is away: if there is not much to say of its session, keep that as bytes."""
        if one := kept.packed():
            self._away[kept.number] = one
            del self._kept[kept.number]
            for subscription in kept.subscriptions.values():
                self._owners.pop(subscription["cursor"], None)

    def _known(self, number: int) -> KeptSession | None:
        """A session to which something happens."""
        if one := self._away.get(number):
            try:
                self._take_session(KeptSession(away_facts.decode(one).fact(), 0))
            except Exception as error:
                del self._away[number]
                self.set_aside.add(Record(0, facts.AWAY, one), error)
        return self._kept.get(number)

    def _own(self, kept: KeptSession, subscription: dict[str, Any]) -> None:
        if subscription["cursor"] and split_share(subscription["filter"])[0] is None:
            self._owners[subscription["cursor"]] = kept, subscription

    def _change(self, kept: KeptSession, kind: int, fact: dict[str, Any]) -> None:
        if kind == facts.ENDED:
            del self._kept[kept.number]
        elif kind == facts.PRESENCE:
            kept.presence = fact
            if fact["away"] is not None:
                kept.issued = without_shared(kept)
                self._pack(kept)
        elif kind == facts.SUBSCRIBED:
            before = kept.subscriptions.get(fact["filter"])
            if before is not None and before["cursor"] != fact["cursor"]:
                kept.retired.append(before)
            kept.subscriptions[fact["filter"]] = fact
            self._own(kept, fact)
        elif kind == facts.UNSUBSCRIBED:
            gone = kept.subscriptions.pop(fact["filter"], None)
            if gone is not None:
                kept.retired.append(gone)

    # What becomes of it

    def revive(self, broker: "Broker", store: "Store") -> int:
        """Give everything to the broker; the highest number that a session has had."""
        self._try_again()
        self._settle_last_moves(store)
        spools = Spools(store.ledger, store.spooled)
        owned = self._revive_away(broker, spools)
        sessions = [
            session
            for kept in list(self._kept.values())
            if (session := self._revive_session(broker, store, kept, spools))
        ]
        owned |= store.streams.revive(self.streams, self.set_aside.add)
        owned |= broker.queues.revive(self.queues, self.set_aside.add)
        owned.update(group.spool.cursor.number for group in broker.groups.values() if group.spool)
        for session in sessions:
            owned.update(s.spool.cursor.number for s in session.subscriptions.values() if s.spool)
        for session in sessions:
            flights = session.window.sent if session.window else ()
            store.retired.update(f.cursor.number for f in flights if f.cursor and f.cursor.number not in owned)
        owned |= store.retired
        there = set(store.ledger.cursors)
        owned |= self.set_aside.keep_cursors(there, owned)
        for number in there - owned:  # of groups whose durable members have all gone, for example
            store.ledger.drop_cursor(store.ledger.cursors[number])
        for session in sessions:
            for subscription in session.subscriptions.values():
                _make_unsent(subscription)
        for group in broker.groups.values():  # a member may have been there before the group had a spool
            for member in group.members:
                _make_unsent(member)
        for session in sessions:
            for flight in session.window.sent if session.window else ():
                if flight.subscription.spool is not None:
                    flight.subscription.spool.sent_before(flight.offset, flight.offset + flight.count)
        for messages in self._retained.values():
            self._revive_retained(broker, messages)
        return self._last_number

    def _try_again(self) -> None:
        """What an earlier start could not open, this one may: in another version, or with another disk."""
        if not len(self.set_aside):
            return
        clients = self._clients()
        for one in self.set_aside:
            record = Record(one.position, one.kind, one.body)
            try:
                if self._is_free(one, clients):
                    self._take_fact(record)
                    self.set_aside.remove(one)
            except Exception as error:
                self.set_aside.add(record, error)

    def _clients(self) -> set[str]:
        """Those that have sessions."""
        clients = {kept.client for kept in self._kept.values()}
        for number, one in list(self._away.items()):
            try:
                clients.add(away_facts.decode(one).client)
            except Exception:
                self._known(number)  # which sets it aside
        return clients

    def _is_free(self, one: SetAside, clients: set[str]) -> bool:
        """Whether nobody else has the name of what is set aside, and it is something that stands for itself."""
        if one.kind == facts.RETAINED:
            return decode_uniform_messages(one.body, 1).topic not in self._retained
        if one.kind not in {facts.SESSION, facts.STREAM, facts.QUEUE}:
            return False
        fact = json.loads(one.body)
        if one.kind == facts.SESSION:
            return fact["client"] not in clients
        if one.kind == facts.STREAM:
            return fact["stream"] not in self.streams
        return fact["queue"] not in self.queues.records

    def _revive_away(self, broker: "Broker", spools: "Spools") -> set[int]:
        """Revive sessions to which nothing has happened; their cursors. What fails is left to `_revive_session`."""
        owned: set[int] = set()
        for number in list(self._away):
            one = self._away.pop(number)  # what is made of it takes the room
            session = None
            try:
                away = away_facts.decode(one)
                session = broker.new_session(away.client, number)
                self._fill_away(session, broker, away, spools)
            except Exception:
                if session is not None:
                    _withdraw(broker, session)
                self._away[number] = one
                self._known(number)
                continue
            broker.sessions[away.client] = session
            owned.update([s.spool.cursor.number for s in session.subscriptions.values() if s.spool and s.group is None])
        return owned

    def _fill_away(self, session: Session, broker: "Broker", away: AwaySession, spools: "Spools") -> None:
        _check_client(away.client)
        session.expiry = _expiry(away.expiry)
        for one in away.subscriptions:
            one.set_options(broker.revive_subscription(session, one.filter, spools.get(one.cursor)))
        if away.next_id > 1:
            session.window = Window(broker.limits.inflight, broker.turn.settled)
            session.window.restore([], [], away.next_id)
        broker.revive_presence(session, self._clock.from_wall(away.away), None)
        for subscription in session.subscriptions.values():
            if subscription.group is None:
                _make_unsent(subscription)

    def _revive_session(self, broker: "Broker", store: "Store", kept: KeptSession, spools: "Spools") -> Session | None:
        session = broker.new_session(kept.client, kept.number)
        try:
            self._fill(session, broker, kept, spools)
        except Exception as error:
            # All of it goes: a client that finds no session subscribes again, and one that finds half of it does not.
            _withdraw(broker, session)
            del self._kept[kept.number]
            self.set_aside.add(kept.record(), error)
            return None
        broker.sessions[kept.client] = session
        if kept.presence["away"] is None:
            store.note_presence(session)  # or the time that it has been away would start anew with each restart
        return session

    def _revive_retained(self, broker: "Broker", messages: UniformMessages) -> None:
        try:
            check_topic_name(decode_utf8(messages.topic))
            broker.retained.keep(self.span_of(messages), 0, None)
        except Exception as error:
            body = encode_uniform_messages(messages, Receivers((), (), ())) + messages.data
            self.set_aside.add(Record(0, facts.RETAINED, body), error)

    def _settle_last_moves(self, store: "Store") -> None:
        """Acknowledge what clients have received: the log may have been cut between that and its acknowledgements."""
        for move in self._last_moves:
            cursor = store.ledger.cursors.get(move.cursor)
            if move.what == facts.RECEIVED and cursor is not None:
                store.ledger.acknowledge(cursor, move.offset, move.offset + move.number)

    def _fill(self, session: Session, broker: "Broker", kept: KeptSession, spools: "Spools") -> None:
        _check_client(kept.client)
        if kept.received:
            session.received = IdentifierSet((number, number + 1) for number in sorted(kept.received))
        by_cursor: dict[int, Subscription] = {}
        for fact in kept.retired:
            retired = by_cursor[fact["cursor"]] = Subscription(session, fact["filter"])
            _set_options(retired, fact)
            retired.spool = spools.get(fact["cursor"])
        for fact in kept.subscriptions.values():
            subscription = broker.revive_subscription(session, fact["filter"], spools.get(fact["cursor"]))
            _set_options(subscription, fact)
            by_cursor[fact["cursor"]] = subscription
        self._restore_window(broker, kept, session, spools, by_cursor)
        self._restore_presence(broker, kept, session)

    def _restore_window(
        self,
        broker: "Broker",
        kept: KeptSession,
        session: Session,
        spools: "Spools",
        by_cursor: dict[int, Subscription],
    ) -> None:
        flights: list[Flight] = []
        for first, count, qos, number, offset in without_shared(kept):
            spool, subscription = spools.get(number), by_cursor.get(number)
            if spool is None or subscription is None:
                continue
            for lo, hi in _pending_parts(spool.cursor, offset, offset + count):
                flights.append(
                    Flight(first + lo - offset, hi - lo, qos, subscription, None, lo - offset, spool.cursor, lo)
                )
        if flights or kept.released.count or kept.next_id > 1:
            window = session.window = Window(broker.limits.inflight, broker.turn.settled)
            released = [(lo, hi - lo) for lo, hi in kept.released]
            window.restore(flights, released, kept.next_id)

    def _restore_presence(self, broker: "Broker", kept: KeptSession, session: Session) -> None:
        presence = kept.presence
        session.expiry = _expiry(presence["expiry"])
        session.set_will(facts.will_of(presence["will"]))
        if presence["away"] is None:  # connected when the server stopped being there
            broker.revive_presence(session, broker.now(), None)
        else:
            due = presence["will_due"]
            away = self._clock.from_wall(presence["away"])
            broker.revive_presence(session, away, self._clock.from_wall(due) if due is not None else None)

    def span_of(self, messages: UniformMessages) -> Span:
        """A span as it was before it was stored."""
        return revived_span(messages, self._clock)


class Spools:
    """The spools of cursors, made for those who ask for them."""

    def __init__(self, ledger: MessageLog, total: Total) -> None:
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
    """What is pending waits, except for what turns out to be on its way."""
    spool = subscription.spool
    if spool is not None and spool.cursor.pending:
        subscription.session.note_backlog(subscription)
        for lo, hi in spool.cursor.pending_ranges():
            spool.put(lo, hi)


def revived_span(messages: UniformMessages, clock: "Clock") -> Span:
    """A span as it was before it was stored."""
    return Span(
        messages.topic,
        messages.data,
        messages.number,
        head=messages.head,
        qos=messages.qos,
        id_at=messages.id_at,
        version5=messages.version5,
        retain=messages.retain,
        verbatim=messages.verbatim,
        properties=messages.properties,
        expires=clock.from_wall(messages.expires) if messages.expires else 0.0,
        from_store=messages.from_store,
    )


def _withdraw(broker: "Broker", session: Session) -> None:
    """Take back what has been made of a session. The log need not know of that."""
    session.number = 0
    for full, subscription in list(session.subscriptions.items()):
        subscription.spool = None
        broker.unsubscribe(session, full)
    session.refund()


def _check_client(name: str) -> None:
    if mistake := text_mistake(name, STRING_MAX):
        raise Problem(f"client identifier: {mistake}")


def _expiry(seconds: int) -> int:
    if seconds == FOR_EVER:
        return FOR_EVER  # one object for all
    if seconds not in Range(0, FOR_EVER):
        raise Problem(f"expected an expiry {Range(0, FOR_EVER)}, found {seconds}")
    return seconds


def _set_options(subscription: Subscription, fact: dict[str, Any]) -> None:
    if fact["qos"] not in {0, 1, 2}:
        raise Problem(f"expected a QoS of 0, 1 or 2, found {fact['qos']}")
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
