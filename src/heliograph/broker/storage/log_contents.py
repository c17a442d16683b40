"""What the log says, while it is read: sessions, streams, queues and retained messages, as far as they are known.

Theory of operation
1. Records come in the order in which they were written: first those of the last checkpoint, then what has changed
   since.
2. Each session is a `RecoveredSession`: what records said of it, one after the other. Those that are away, and of which
   there is not much to say, are bytes meanwhile (see `offline_sessions`): a session is in `sessions` or in `away`.
3. A record about a session that is not known is ignored: a checkpoint further on tells all of it.
4. Messages tell which packet identifiers a client has been sent (they were stored with them), which a publisher has
   used (QoS 2), and what is retained. All else of them is an affair of cursors.
5. Whatever cannot be read is set aside (`set_aside`), and the rest goes on. What was set aside before is tried again
   when all has been read (`try_again`).

Objects are made of all this by `session_recovery`, `Streams` and `Queues`.
"""

import json
from contextlib import suppress
from typing import Any

from heliograph.broker.errors import UnknownRecordKind
from heliograph.broker.storage import offline_sessions, record_kinds
from heliograph.broker.storage.queue_records import QueueRecords
from heliograph.broker.storage.recovered_session import RecoveredSession, apply, without_shared
from heliograph.broker.storage.set_aside import SetAside, SetAsides
from heliograph.log import (
    AMQP_MESSAGES,
    MIXED_PACKETS,
    Receivers,
    Record,
    UniformMessages,
    decode_mixed_messages,
    decode_uniform_messages,
    form_of,
    publisher_of,
    qos_and_retain,
)
from heliograph.mqtt import ids_of, split_share


class LogContents:
    """Gathers what the log says."""

    def __init__(self) -> None:
        self.sessions: dict[int, RecoveredSession] = {}
        self.away: dict[int, bytes] = {}
        """Sessions as `offline_sessions` has them. They are not in `_kept`."""
        self._owners: dict[int, tuple[RecoveredSession, dict[str, Any]]] = {}
        """Sessions and subscriptions by the number of their cursor; those of groups are not among them."""
        self.retained: dict[bytes, UniformMessages] = {}
        self.streams: dict[str, Record] = {}
        """By name, the fact that tells of each."""
        self.queues = QueueRecords()
        self.last_number = 0
        self.last_moves: list[record_kinds.Move] = []
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
                    if publishing := self.known(session):
                        publishing.received.add(packet_id)
            return
        if (publisher := publisher_of(record.body)) and (sender := self.known(publisher)):
            messages = decode_uniform_messages(record.body, record.count)
            sender.received.update(ids_of(messages.data, messages.id_at, len(messages.data) // messages.number))

    def _retain(self, messages: UniformMessages) -> None:
        if messages.topic.startswith(b"$SYS/"):  # in a stream, maybe, but what is retained there is made anew
            return
        if messages.payloads[-1]:
            self.retained[messages.topic] = messages
        else:
            self.retained.pop(messages.topic, None)

    def take_record(self, record: Record) -> None:
        """A fact that the store has noted."""
        if record.kind > record_kinds.LAST:
            raise UnknownRecordKind(
                f"position {record.position}: a record of kind {record.kind}, which this version does not know"
            )
        if record.kind == record_kinds.SET_ASIDE:
            self._without(self.set_aside.take(record.body))
            return
        try:
            self._take_record(record)
        except Exception as error:
            self.set_aside.add(record, error)

    def _without(self, one: SetAside) -> None:
        """Forget what was known before it was set aside. Another of the same name stays."""
        with suppress(Exception):  # of a fact that cannot even be read, nothing was known
            fact = json.loads(one.body)
            if one.kind == record_kinds.SESSION:
                self.last_number = max(self.last_number, fact["session"])
                self.sessions.pop(fact["session"], None)
                self.away.pop(fact["session"], None)
            for kind, records, key in (
                (record_kinds.STREAM, self.streams, "stream"),
                (record_kinds.QUEUE, self.queues.records, "queue"),
            ):
                if one.kind == kind and (known := records.get(fact[key])) and known.body == one.body:
                    self._forget(kind, fact[key])

    def _forget(self, kind: int, name: str) -> None:
        if kind == record_kinds.STREAM:
            del self.streams[name]
        else:
            self.queues.forget(name)

    def _take_record(self, record: Record) -> None:
        if record.kind == record_kinds.MOVES:
            self.last_moves = record_kinds.decode_moves(record.body)
            for move in self.last_moves:
                if kept := self.known(move.session):
                    apply(kept, move)
        elif record.kind == record_kinds.RETAINED:
            self._retain(decode_uniform_messages(record.body, 1))
        elif record.kind == record_kinds.STREAM:
            self.streams[json.loads(record.body)["stream"]] = record
        elif record.kind == record_kinds.STREAM_GONE:
            self.streams.pop(json.loads(record.body)["stream"], None)
        elif self.queues.take(record):
            pass
        elif record.kind == record_kinds.SESSION:
            kept = RecoveredSession(json.loads(record.body), record.position)
            self._take_session(kept)
            self._pack(kept)
        elif record.kind == record_kinds.AWAY:
            for number, one in list(offline_sessions.split(record.body)):
                self.last_number = max(self.last_number, number)
                self.sessions.pop(number, None)
                self.away[number] = one
        else:
            fact = json.loads(record.body)
            if kept := self.known(fact["session"]):
                self._change(kept, record.kind, fact)

    def _take_session(self, kept: RecoveredSession) -> None:
        self.last_number = max(self.last_number, kept.number)
        self.away.pop(kept.number, None)
        self.sessions[kept.number] = kept
        for subscription in kept.subscriptions.values():
            self._own(kept, subscription)

    def _pack(self, kept: RecoveredSession) -> None:
        """The client is away: if there is not much to say of its session, keep that as bytes."""
        if one := kept.packed():
            self.away[kept.number] = one
            del self.sessions[kept.number]
            for subscription in kept.subscriptions.values():
                self._owners.pop(subscription["cursor"], None)

    def known(self, number: int) -> RecoveredSession | None:
        """A session to which something happens."""
        if one := self.away.get(number):
            try:
                self._take_session(RecoveredSession(offline_sessions.decode(one).fields(), 0))
            except Exception as error:
                del self.away[number]
                self.set_aside.add(Record(0, record_kinds.AWAY, one), error)
        return self.sessions.get(number)

    def _own(self, kept: RecoveredSession, subscription: dict[str, Any]) -> None:
        if subscription["cursor"] and split_share(subscription["filter"])[0] is None:
            self._owners[subscription["cursor"]] = kept, subscription

    def _change(self, kept: RecoveredSession, kind: int, fact: dict[str, Any]) -> None:
        if kind == record_kinds.ENDED:
            del self.sessions[kept.number]
        elif kind == record_kinds.PRESENCE:
            kept.presence = fact
            if fact["away"] is not None:
                kept.issued = without_shared(kept)
                self._pack(kept)
        elif kind == record_kinds.SUBSCRIBED:
            before = kept.subscriptions.get(fact["filter"])
            if before is not None and before["cursor"] != fact["cursor"]:
                kept.retired.append(before)
            kept.subscriptions[fact["filter"]] = fact
            self._own(kept, fact)
        elif kind == record_kinds.UNSUBSCRIBED:
            gone = kept.subscriptions.pop(fact["filter"], None)
            if gone is not None:
                kept.retired.append(gone)

    def try_again(self) -> None:
        """What an earlier start could not open, this one may: in another version, or with another disk."""
        if not len(self.set_aside):
            return
        clients = self._clients()
        for one in self.set_aside:
            record = Record(one.position, one.kind, one.body)
            try:
                if self._is_free(one, clients):
                    self._take_record(record)
                    self.set_aside.remove(one)
            except Exception as error:
                self.set_aside.add(record, error)

    def _clients(self) -> set[str]:
        """Those that have sessions."""
        clients = {kept.client for kept in self.sessions.values()}
        for number, one in list(self.away.items()):
            try:
                clients.add(offline_sessions.decode(one).client)
            except Exception:
                self.known(number)  # which sets it aside
        return clients

    def _is_free(self, one: SetAside, clients: set[str]) -> bool:
        """Whether nobody else has the name of what is set aside, and it is something that stands for itself."""
        if one.kind == record_kinds.RETAINED:
            return decode_uniform_messages(one.body, 1).topic not in self.retained
        if one.kind not in {record_kinds.SESSION, record_kinds.STREAM, record_kinds.QUEUE}:
            return False
        fact = json.loads(one.body)
        if one.kind == record_kinds.SESSION:
            return fact["client"] not in clients
        if one.kind == record_kinds.STREAM:
            return fact["stream"] not in self.streams
        return fact["queue"] not in self.queues.records
