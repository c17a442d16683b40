"""Bringing a broker back to where it was: what the log says, put together to sessions and retained messages.

While the log is read, each session is a `_Kept`: what facts said of it, one after the other. When all has been read,
objects are made of that. A fact about a session that is not known is ignored: a checkpoint further on tells all of it.
"""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from heliograph.broker import facts
from heliograph.broker.queues.facts import QueueFacts
from heliograph.broker.session import Session
from heliograph.broker.span import Span
from heliograph.broker.spool import Spool
from heliograph.broker.subscription import Subscription
from heliograph.broker.window import Flight, Window
from heliograph.errors import Problem
from heliograph.log.cursor import Cursor
from heliograph.log.messages import (
    AMQP_MESSAGES,
    Messages,
    Receivers,
    decode_messages,
    form_of,
    publisher_of,
    qos_and_retain,
)
from heliograph.log.ranges import Ranges
from heliograph.log.record import Record
from heliograph.mqtt.runs import LAST_ID, ids_of
from heliograph.mqtt.strings import split_share

if TYPE_CHECKING:
    from heliograph.broker.broker import Broker
    from heliograph.broker.store import Clock, Store

Issued = tuple[int, int, int, int, int]
"""First identifier, count, QoS, number of the cursor, offset of the first message."""


_ISSUED_MOST = 4 * LAST_ID


class _Kept:
    """What is known of one session."""

    def __init__(self, fact: dict[str, Any]) -> None:
        self.number: int = fact["session"]
        self.client: str = fact["client"]
        self.presence = fact
        self.received: set[int] = set(fact["received"])
        self.next_id: int = fact["next_id"]
        self.issued: list[Issued] = [(*map(int, one),) for one in fact["sent"]]  # type: ignore[misc]
        self.released = Ranges((first, first + count) for first, count in fact["released"])
        self.subscriptions: dict[str, dict[str, Any]] = {one["filter"]: one for one in fact["subscriptions"]}
        self.retired: list[dict[str, Any]] = fact["retired"]

    def issue(self, first: int, count: int, qos: int, cursor: int, offset: int) -> None:
        """Messages were sent with these identifiers."""
        self.issued.append((first, count, qos, cursor, offset))
        if len(self.issued) > _ISSUED_MOST:
            self.forget_used_again()
        self.next_id = first + count if first + count <= LAST_ID else 1

    def forget_used_again(self) -> None:
        """An identifier that has been used again was free: what it stood for before is done with."""
        used = Ranges()
        kept: list[Issued] = []
        for one in reversed(self.issued):
            if used.within(one[0], one[0] + one[1]) < one[1]:
                kept.append(one)
                used.add(one[0], one[0] + one[1])
        self.issued = kept[::-1]


class Revival:
    """Gathers what the log says."""

    def __init__(self, clock: "Clock") -> None:
        self._clock = clock
        self._kept: dict[int, _Kept] = {}
        self._owners: dict[int, tuple[_Kept, dict[str, Any]]] = {}
        """Sessions and subscriptions by the number of their cursor; those of groups are not among them."""
        self._retained: dict[bytes, Messages] = {}
        self.streams: dict[str, dict[str, Any]] = {}
        self.queues = QueueFacts()
        self._last_number = 0
        self._last_moves: list[facts.Move] = []

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
            self._retain(decode_messages(record.body, record.count))
        if (publisher := publisher_of(record.body)) and (sender := self._kept.get(publisher)):
            messages = decode_messages(record.body, record.count)
            sender.received.update(ids_of(messages.data, messages.id_at, len(messages.data) // messages.number))

    def _retain(self, messages: Messages) -> None:
        if messages.topic.startswith(b"$SYS/"):  # in a stream, maybe, but what is retained there is made anew
            return
        if messages.payloads[-1]:
            self._retained[messages.topic] = messages
        else:
            self._retained.pop(messages.topic, None)

    def take_fact(self, record: Record) -> None:
        """A fact that the store has noted."""
        if record.kind == facts.MOVES:
            self._last_moves = facts.decode_moves(record.body)
            for move in self._last_moves:
                if kept := self._kept.get(move.session):
                    _apply(kept, move)
        elif record.kind == facts.RETAINED:
            self._retain(decode_messages(record.body, 1))
        elif record.kind == facts.STREAM:
            fact = json.loads(record.body)
            self.streams[fact["stream"]] = fact
        elif self.queues.take(record):
            pass
        elif record.kind > facts.STREAM:
            raise Problem(
                f"position {record.position}: a record of kind {record.kind}, which this version does not know"
            )
        elif record.kind == facts.SESSION:
            kept = _Kept(json.loads(record.body))
            self._last_number = max(self._last_number, kept.number)
            self._kept[kept.number] = kept
            for subscription in kept.subscriptions.values():
                self._own(kept, subscription)
        else:
            fact = json.loads(record.body)
            if kept := self._kept.get(fact["session"]):
                self._change(kept, record.kind, fact)

    def _own(self, kept: _Kept, subscription: dict[str, Any]) -> None:
        if subscription["cursor"] and split_share(subscription["filter"])[0] is None:
            self._owners[subscription["cursor"]] = kept, subscription

    def _change(self, kept: _Kept, kind: int, fact: dict[str, Any]) -> None:
        if kind == facts.ENDED:
            del self._kept[kept.number]
        elif kind == facts.PRESENCE:
            kept.presence = fact
            if fact["away"] is not None:
                kept.issued = _without_shared(kept)
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

    def readers(self) -> Iterator[tuple[str, str, int]]:
        """Clients, what they are subscribed to, and the numbers of the cursors with their messages."""
        for kept in self._kept.values():
            for subscription in kept.subscriptions.values():
                yield kept.client, subscription["filter"], subscription["cursor"]

    # What becomes of it

    def revive(self, broker: "Broker", store: "Store") -> int:
        """Give everything to the broker; the highest number that a session has had."""
        self._settle_last_moves(store)
        spools = {number: Spool(store.ledger, cursor, store.spooled) for number, cursor in store.ledger.cursors.items()}
        for kept in self._kept.values():
            session = broker.sessions[kept.client] = self._session(broker, kept, spools)
            if kept.presence["away"] is None:
                store.note_presence(session)  # or the time that it has been away would start anew with each restart
        owned = store.streams.revive(self.streams) | broker.queues.revive(self.queues)
        for session in broker.sessions.values():
            owned.update(s.spool.cursor.number for s in session.subscriptions.values() if s.spool)
        for session in broker.sessions.values():
            flights = session.window.sent if session.window else ()
            store.retired.update(f.cursor.number for f in flights if f.cursor and f.cursor.number not in owned)
        for number in set(spools) - owned - store.retired:  # of groups whose durable members have all gone, for example
            store.ledger.drop_cursor(spools[number].cursor)
        self._make_unsent(broker)
        for messages in self._retained.values():
            broker.retained.keep(self.span_of(messages), 0, None)
        return self._last_number

    def _settle_last_moves(self, store: "Store") -> None:
        """Acknowledge what clients have received: the log may have been cut between that and its acknowledgements."""
        for move in self._last_moves:
            cursor = store.ledger.cursors.get(move.cursor)
            if move.what == facts.RECEIVED and cursor is not None:
                store.ledger.acknowledge(cursor, move.offset, move.offset + move.number)

    def _session(self, broker: "Broker", kept: _Kept, spools: dict[int, Spool]) -> Session:
        session = broker.new_session(kept.client, kept.number)
        session.received = kept.received or None
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
        return session

    def _restore_window(
        self,
        broker: "Broker",
        kept: _Kept,
        session: Session,
        spools: dict[int, Spool],
        by_cursor: dict[int, Subscription],
    ) -> None:
        flights: list[Flight] = []
        for first, count, qos, number, offset in _without_shared(kept):
            spool, subscription = spools.get(number), by_cursor.get(number)
            if spool is None or subscription is None:
                continue
            for lo, hi in _pending_parts(spool.cursor, offset, offset + count):
                flights.append(
                    Flight(first + lo - offset, hi - lo, qos, subscription, None, lo - offset, spool.cursor, lo)
                )
        if flights or kept.released.count or kept.next_id > 1:
            window = session.window = Window(broker.limits.inflight, broker.settled)
            released = [(lo, hi - lo) for lo, hi in kept.released]
            window.restore(flights, released, kept.next_id)

    def _restore_presence(self, broker: "Broker", kept: _Kept, session: Session) -> None:
        presence = kept.presence
        session.expiry = presence["expiry"]
        session.set_will(facts.will_of(presence["will"]))
        if presence["away"] is None:  # connected when the server stopped being there
            broker.revive_presence(session, broker.now(), None)
        else:
            due = presence["will_due"]
            away = self._clock.from_wall(presence["away"])
            broker.revive_presence(session, away, self._clock.from_wall(due) if due is not None else None)

    def _make_unsent(self, broker: "Broker") -> None:
        """What is pending and on its way to nobody waits."""
        spools: dict[Spool, None] = {}
        for session in broker.sessions.values():
            for subscription in session.subscriptions.values():
                if subscription.spool is not None:
                    spools[subscription.spool] = None
                    session.note_backlog(subscription)
        for spool in spools:
            for lo, hi in spool.cursor.pending_ranges():
                spool.put(lo, hi)
        for session in broker.sessions.values():
            for flight in session.window.sent if session.window else ():
                if flight.subscription.spool is not None:
                    flight.subscription.spool.unsent.remove(flight.offset, flight.offset + flight.count)

    def span_of(self, messages: Messages) -> Span:
        """A span as it was before it was stored."""
        return revived_span(messages, self._clock)


def revived_span(messages: Messages, clock: "Clock") -> Span:
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


def _set_options(subscription: Subscription, fact: dict[str, Any]) -> None:
    subscription.qos = fact["qos"]
    subscription.no_local = fact["no_local"]
    subscription.retain_as_published = fact["retain_as_published"]
    subscription.extra = bytes.fromhex(fact["extra"])


def _apply(kept: _Kept, move: facts.Move) -> None:
    ids = move.first, move.first + move.number
    if move.what == facts.ISSUED:
        kept.issue(move.first, move.number, move.qos, move.cursor, move.offset)
    elif move.what == facts.RECEIVED:
        kept.released.add(*ids)
    elif move.what == facts.COMPLETED:
        kept.released.remove(*ids)
    elif move.what == facts.TAKEN:
        kept.received.update(range(*ids))
    elif move.what == facts.RELEASED:
        kept.received.difference_update(range(*ids))


def _without_shared(kept: _Kept) -> list[Issued]:
    """What was sent, without QoS 1 messages of groups: when the client goes, others get those."""
    shared = {one["cursor"] for one in kept.subscriptions.values() if split_share(one["filter"])[0] is not None}
    return [one for one in kept.issued if one[2] == 2 or one[3] not in shared]


def _pending_parts(cursor: Cursor, lo: int, hi: int) -> list[tuple[int, int]]:
    pending = Ranges([(lo, min(hi, cursor.next))])
    pending.remove(0, cursor.first)
    for start, end in cursor.acknowledged:
        pending.remove(start, end)
    return list(pending)
