"""The state that is read from the log at start: sessions, streams, queues and retained messages.

Theory of operation
1. Records come in the order in which they were written: first those of the last checkpoint, then what has changed
   since.
2. Each session is a `RecoveredSession`, to which its records are applied one after the other. A session of a
   disconnected client without messages in flight is packed into bytes meanwhile (see `offline_sessions`). So a session
   is either in `sessions` or in `away`, never in both.
3. A record about an unknown session is ignored: a later checkpoint record has its whole state.
4. Of message records, three things matter here: the packet identifiers with which they were sent to clients, the
   identifiers that QoS 2 publishers used, and retained messages. Cursors are replayed by the log itself.
5. A record that cannot be read is set aside (`set_aside`), and reading goes on. What an earlier start set aside is
   tried again when everything has been read (`try_again`).

The objects are made of this by `session_recovery`, `Streams` and `Queues`.
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
    """Gathers the state of the broker while the log is read."""

    def __init__(self) -> None:
        self.sessions: dict[int, RecoveredSession] = {}
        self.away: dict[int, bytes] = {}
        """Packed sessions (see `offline_sessions`), by number. They are not in `sessions`."""
        self._owners: dict[int, tuple[RecoveredSession, dict[str, Any]]] = {}
        """Session and subscription by the number of the cursor.

        Shared subscriptions are not in it: many share a cursor.
        """
        self.retained: dict[bytes, UniformMessages] = {}
        self.streams: dict[str, Record] = {}
        """The record of each stream, by name."""
        self.queues = QueueRecords()
        self.last_number = 0
        self.last_moves: list[record_kinds.Move] = []
        self.set_aside = SetAsides()

    # Records.

    def take_messages(self, record: Record, receivers: Receivers) -> None:
        """Take a message record: identifiers it was sent with and came with, and whether it is retained."""
        if form_of(record.body) == AMQP_MESSAGES:
            return  # messages of queues are read when a queue is loaded
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
                        # The packets have the identifiers with which they came: storing the message stored those too.
                        publishing.received.add(packet_id)
            return
        if (publisher := publisher_of(record.body)) and (sender := self.known(publisher)):
            messages = decode_uniform_messages(record.body, record.count)
            sender.received.update(ids_of(messages.data, messages.id_at, len(messages.data) // messages.number))

    def _retain(self, messages: UniformMessages) -> None:
        if messages.topic.startswith(b"$SYS/"):  # it may be in a stream, but the server retains these topics anew
            return
        if messages.payloads[-1]:
            self.retained[messages.topic] = messages
        else:
            self.retained.pop(messages.topic, None)

    def take_record(self, record: Record) -> None:
        """Take an application record of the store."""
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
        """Forget the object that was set aside after it had been read. Another of the same name stays."""
        with suppress(Exception):  # a record that cannot be read was never taken
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
        """Pack the session of a disconnected client, if the short form has room for its state."""
        if one := kept.packed():
            self.away[kept.number] = one
            del self.sessions[kept.number]
            for subscription in kept.subscriptions.values():
                self._owners.pop(subscription["cursor"], None)

    def known(self, number: int) -> RecoveredSession | None:
        """A session that a record changes, unpacked if necessary; None if it is unknown."""
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
        """Try again to read what an earlier start set aside: this program version or this disk may be able to."""
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
        """The clients that have sessions."""
        clients = {kept.client for kept in self.sessions.values()}
        for number, one in list(self.away.items()):
            try:
                clients.add(offline_sessions.decode(one).client)
            except Exception:
                self.known(number)  # which sets it aside
        return clients

    def _is_free(self, one: SetAside, clients: set[str]) -> bool:
        """Whether an object that was set aside can be taken: it is a whole one, and its name is not in use."""
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
