"""The store: writes everything durable of one broker to the log.

Theory of operation
1. The store decides what is written and in which order. The turn (`turn`) decides when it is written, the log
   (`log/commit.py`) when it is forced to the disk. Nothing is promised to a client before it is safe.
2. Sessions, subscriptions, streams and retained messages have records (`record_kinds`): one for each change, and one
   for the whole state in each checkpoint. A record about an unknown object is ignored when the log is read.
3. Messages are stored once for all receivers, each of which has a cursor. The record has the packet identifiers with
   which they were sent at once. Identifiers of messages that were read back are written (`_issued`) before the next
   message that is sent with an identifier: in the log, identifiers have the order in which they were sent.
4. Other *moves* of identifiers wait for the end of the turn, where acknowledgements follow right behind them. A crash
   may cut the log between the two; `session_recovery` then takes the one for the other.
5. Records that only tell the progress of receivers (acknowledgements, identifiers of QoS 1 messages that were read
   back) are forced with whatever is forced next. After a crash before that, messages are sent again, as MQTT allows.
6. While the disk is in trouble, what was appended stays in memory, nothing is acknowledged, and the server does not
read
   from publishers. When it is not known what has been stored, the store halts: nothing is written until the next start.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from heliograph.broker.core.defects import Defects
from heliograph.broker.core.memory import Budget
from heliograph.broker.core.mixed_span import MixedSpan
from heliograph.broker.core.names import random_name
from heliograph.broker.core.outlet import Outlet
from heliograph.broker.core.retained import Retained
from heliograph.broker.core.slices import Steps
from heliograph.broker.core.span import Span
from heliograph.broker.core.timers import Clock
from heliograph.broker.sessions.session import Session, Subscription
from heliograph.broker.sessions.spool import Spool, SpoolTotals
from heliograph.broker.sessions.window import Settled
from heliograph.broker.storage import offline_sessions, record_kinds
from heliograph.broker.storage.log_contents import LogContents
from heliograph.broker.storage.record_kinds import Move
from heliograph.broker.storage.set_aside import SetAsides
from heliograph.broker.storage.streams import Stream, StreamOptions, Streams
from heliograph.common.collector import collector_paused
from heliograph.errors import Problem
from heliograph.log import (
    DISK_FULL,
    ApplicationRecord,
    Cursor,
    LogOptions,
    Maintenance,
    MessageLog,
    MixedMessages,
    Receivers,
    Record,
    RecordGroup,
    UniformMessages,
    encode_uniform_messages,
)
from heliograph.mqtt import Reason

WAITING_MOST = 64 << 20
"""Bytes waiting for the disk above which the server stops reading from publishers, until half of them is safe."""
_WAITING_SHARE = 8
"""The same as a part (one eighth) of the memory budget, if that is less."""
_NEVER_TOO_MUCH = 1 << 20
"""Up to so many waiting bytes are neither charged nor waited for."""


ACKS_WAIT_MOST = 0.01
"""Seconds that acknowledgements may wait for another write, before they are written by themselves (not forced).

This keeps a server that was killed from sending messages again that its clients acknowledged long ago.
"""


class Store:
    """Everything durable of one broker."""

    def __init__(
        self,
        directory: Path,
        clock: Clock,
        wake: Callable[[], None],
        options: LogOptions,
        new_identity: Callable[[], str] = random_name,
    ) -> None:
        """Open the log. `wake` is called in another thread when more of the log is safe.

        `new_identity` makes the identities of streams, which tell a stream from an earlier one of the same name.
        """
        options = replace(options, wall=clock.wall)
        self.clock = clock
        self.durability = "disk" if options.force else "memory"
        self.contents = LogContents()
        """The state that was found in the log, until `take_over`."""
        with collector_paused():
            self.ledger = MessageLog(directory, self.contents.take_record, self.contents.take_messages, wake, options)
        self.upkeep = Maintenance(self.ledger, self._all_records)
        self.streams = Streams(self.ledger, new_identity)
        self.set_aside = SetAsides()
        """Objects that could not be opened."""
        self.defects: Defects
        """Set by the broker that owns this store."""
        self.sessions: dict[str, Session] = {}
        self.retained = Retained()
        self.spooled = SpoolTotals()
        self._queue_records: Callable[[], Iterable[ApplicationRecord]] = tuple
        self._last_session = 0
        self.settled: Settled = []
        """Messages that windows settled in this turn; they are acknowledged to their cursors at its end."""
        self._issued: list[bytes] = []
        """Encoded moves: identifiers of messages that were read back (see 3 above)."""
        self._moves: list[bytes] = []
        """Other encoded moves, which wait for the end of the turn (see 4 above)."""
        self.retired: set[int] = set()
        """Numbers of cursors that get no more messages, and are dropped when nothing is in flight any more."""
        self.commit_interval = options.interval
        self._acks_since = 0.0
        self._paused: dict[Outlet, None] = {}
        self._unwritten = Budget().account("log", "")

    def charge_to(self, memory: Budget) -> None:
        """Charge bytes that wait for the disk to this budget."""
        self._unwritten = memory.account("log", "not written yet")

    @property
    def _waiting_most(self) -> int:
        return min(WAITING_MOST, self._unwritten.budget.limit // _WAITING_SHARE)

    def take_over(
        self,
        sessions: dict[str, Session],
        retained: Retained,
        queue_records: Callable[[], Iterable[ApplicationRecord]],
        last_session: int,
    ) -> None:
        """Take these objects, which were recovered from the log, into checkpoints from now on."""
        self.sessions, self.retained, self._last_session = sessions, retained, last_session
        self._queue_records = queue_records
        self.set_aside = self.contents.set_aside
        del self.contents

    def settle_set_aside(self) -> None:
        """Bring the log up to date with what is set aside."""
        for one in self.set_aside.news():
            self.ledger.append_record(*one.record())
        if self.set_aside.outdated:
            self.upkeep.checkpoint()  # otherwise changes of an object would follow a record that says it is set aside

    # Sessions.

    def begin_session(self, session: Session) -> None:
        """Make a session durable: give it a number and write its record."""
        self._last_session += 1
        session.number = self._last_session
        self._note(record_kinds.SESSION, record_kinds.session_record(session, self._presence(session)))

    def end_session(self, session: Session) -> None:
        """Write that a session has ended. Its number is 0 afterwards."""
        self._note(record_kinds.ENDED, {"session": session.number})
        session.number = 0

    def note_presence(self, session: Session) -> None:
        """Write that the client of a session has connected or disconnected."""
        self._note(record_kinds.PRESENCE, self._presence(session))

    def _presence(self, session: Session) -> dict[str, Any]:
        due = session.will_timer[0] if session.will_timer else None
        return {
            "session": session.number,
            "expiry": session.expiry,
            "away": None if session.away is None else self.clock.to_wall(session.away),
            "will": record_kinds.will_record(session.will),
            "will_due": self.clock.to_wall(due) if isinstance(due, float | int) else None,
        }

    def note_subscribed(self, subscription: Subscription) -> None:
        """Write a new or changed subscription of a durable session."""
        fact = record_kinds.subscription_record(subscription)
        self._note(record_kinds.SUBSCRIBED, {"session": subscription.session.number, **fact})

    def note_unsubscribed(self, session: Session, full: str) -> None:
        """Write that a durable session has unsubscribed."""
        self._note(record_kinds.UNSUBSCRIBED, {"session": session.number, "filter": full})

    def _note(self, kind: int, fact: dict[str, Any]) -> None:
        self.ledger.append_record(kind, record_kinds.as_json(fact))

    # Streams

    def open_streams(self, wanted: Sequence[StreamOptions]) -> list[Stream]:
        """Open the streams of the configuration and those found in the log.

        Returns the streams that get new messages.
        """
        for stream in self.streams.configure(wanted):
            self._note(record_kinds.STREAM, stream.fields())
        if self.streams.by_name:
            self.ledger.wait()  # so that the index is complete when the server begins to serve
            for stream, problem in self.streams.open_index():
                self.set_aside.add(Record(0, record_kinds.STREAM, record_kinds.as_json(stream.fields())), problem)
        self.streams.forget_index_of_others()
        return [stream for stream in self.streams.by_name.values() if stream.is_fed]

    def make_stream(self, options: StreamOptions) -> tuple[Stream, bool]:
        """See `Streams.make`.

        Readers find a new stream once the callable from `streams.index_of_new` has been called.
        """
        stream, is_new = self.streams.make(options)
        if is_new:
            self._note(record_kinds.STREAM, stream.fields())
        return stream, is_new

    def delete_stream(self, name: str, *, purge: bool) -> tuple[Stream, int]:
        """See `Streams.delete`; KeyError if there is none. Readers see the stream until this turn is safe."""
        stream, messages = self.streams.delete(name, purge=purge)
        self._note(record_kinds.STREAM_GONE, {"stream": name})
        for cursor in stream.cursors:
            self.upkeep.freed(cursor.bytes)
            self.ledger.drop_cursor(cursor)
        return stream, messages

    def retain_streams(self) -> Steps:
        """Apply the retention of all streams, partition by partition."""
        now = round(self.clock.wall() * 1000)
        for stream in list(self.streams.by_name.values()):
            try:
                for freed in self.streams.retain(stream, now):
                    self.upkeep.freed(freed)
                    yield None
            except Exception:
                self.defects.note(f"retention of stream {stream.name}")

    # Messages.

    def new_spool(self) -> Spool:
        """A spool with a new cursor, for a subscription or a group."""
        return Spool(self.ledger, self.ledger.new_cursor(), self.spooled)

    def retire_spool(self, spool: Spool, *, in_flight: bool) -> None:
        """Retire the spool of a subscription that has ended.

        With messages in flight, the cursor stays until they are acknowledged; everything else is acknowledged now.
        """
        if not in_flight:
            spool.forget()
            self._drop(spool.cursor)
            return
        while spool.unsent.count:
            self.ledger.acknowledge(spool.cursor, *spool.take_any())
        self.retired.add(spool.cursor.number)

    def _drop(self, cursor: Cursor) -> None:
        self.retired.discard(cursor.number)
        if self.ledger.cursors.get(cursor.number) is cursor:
            self.ledger.drop_cursor(cursor)

    def keep(self, span: Span, cursors: list[Cursor], identifiers: list[int], publisher: Session | None) -> list[int]:
        """Store a span for these cursors. Returns the offset of its first message in each.

        `identifiers` has, per cursor, the first packet identifier with which the span was sent, or 0.
        """
        if self._issued and any(identifiers):
            self.ledger.append_record(record_kinds.MOVES, *self._issued)
            self._issued.clear()
        return self.ledger.store(self._messages(span, publisher), cursors, identifiers)

    def _messages(self, span: Span, publisher: Session | None) -> UniformMessages | MixedMessages:
        if isinstance(span, MixedSpan):
            return span.messages
        return self._uniform_messages(span, publisher)

    def _uniform_messages(self, span: Span, publisher: Session | None) -> UniformMessages:
        return UniformMessages(
            span.topic,
            span.data,
            span.count,
            span.head,
            span.qos,
            span.id_at,
            span.version5,
            span.retain,
            span.verbatim,
            span.is_retained,
            span.properties,
            publisher.number if publisher is not None and span.qos == 2 and span.id_at else 0,
            self.clock.to_wall(span.expires) if span.expires else 0,
            span.retold,
        )

    def note_move(self, move: Move) -> None:
        """Note a move of packet identifiers of a durable session; it is written later (see 3 and 4 above)."""
        (self._issued if move.what == record_kinds.ISSUED else self._moves).append(move.encode())

    def _write_moves(self) -> None:
        if self._issued or self._moves:
            # Deferred: if a client waits for one of these, packets are held back, and these force the turn anyway.
            self.ledger.append_record(record_kinds.MOVES, *self._issued, *self._moves, deferred=True)
            self._issued.clear()
            self._moves.clear()

    # Turns.

    @property
    def is_behind(self) -> bool:
        """Whether too many bytes wait for the disk."""
        waiting = self.ledger.waiting
        return waiting > _NEVER_TOO_MUCH and waiting > self._waiting_most

    def pause_if_behind(self, outlet: Outlet) -> None:
        """Stop reading from a client whose messages are stored, while too many bytes wait for the disk."""
        if self.is_behind:
            outlet.stop_reading()
            self._paused[outlet] = None

    def end_turn(self, *, awaited: bool, at_once: bool) -> None:
        """End a turn in the log. `awaited`: something is held until it is safe; `at_once`: force the disk at once."""
        self.write_receipts()
        if awaited:
            self.ledger.end_turn(at_once=at_once)
            self._acks_since = 0.0
            self._note_unwritten()
        elif not self.ledger.has_unwritten:  # the most frequent case
            return
        elif self.ledger.has_urgent:
            self._acks_since = 0.0
            self.ledger.end_turn(at_once=False)
            self._note_unwritten()
        elif self._have_waited():
            self.ledger.write_deferred()

    def _note_unwritten(self) -> None:
        waiting = self.ledger.waiting
        if waiting > _NEVER_TOO_MUCH or self._unwritten.used:
            self._unwritten.add((waiting if waiting > _NEVER_TOO_MUCH else 0) - self._unwritten.used)

    def halt(self) -> None:
        """Stop storing and acknowledging: an internal error left memory and log in disagreement.

        Everything that was acknowledged is in the log, where the next start finds it.
        """
        self.ledger.halt("internal error; nothing is acknowledged or stored any more until the server is restarted")
        self.forget_turn()

    def forget_turn(self) -> None:
        """Drop what was gathered for the log in this turn, because nothing is stored any more."""
        for gathered in (self.settled, self._issued, self._moves):
            gathered.clear()

    def write_receipts(self) -> None:
        """Append the progress of receivers: acknowledgements and moves."""
        if self.settled:
            self._acknowledge_settled()
        if self._issued or self._moves:
            self._write_moves()

    @contextmanager
    def group(self) -> Iterator[RecordGroup]:
        """A context whose records are one unit: after a crash all of them are there, or none."""
        # Moves and the acknowledgements that belong to them must be neighbours in the log: recovery relies on that. So
        # those of before are written before the group.
        self.write_receipts()
        self.ledger.write_acks()
        try:
            with self.ledger.group() as group:
                yield group
                self._write_moves()
        except Exception:
            self._moves.clear()
            # MQTT clients may have been sent messages with identifiers that will be issued again.
            if self._issued:
                self.halt()
            raise

    def _have_waited(self) -> bool:
        """Whether acknowledgements have waited long enough for another write."""
        now = self.clock.now()
        self._acks_since = self._acks_since or now
        if now - self._acks_since < ACKS_WAIT_MOST:
            return False
        self._acks_since = 0.0
        return True

    def _acknowledge_settled(self) -> None:
        ledger = self.ledger
        for cursor, offset, count in self.settled:
            if ledger.cursors.get(cursor.number) is cursor:
                ledger.acknowledge(cursor, offset, offset + count)
                if cursor.number in self.retired and not cursor.pending:
                    self._drop(cursor)
        self.settled.clear()

    def let_go_on(self) -> None:
        """Read from paused publishers again, if few enough bytes wait for the disk."""
        if self._unwritten.used:
            self._note_unwritten()
        if self._paused and self.ledger.waiting < self._waiting_most // 2:
            paused, self._paused = self._paused, {}
            for outlet in paused:
                outlet.go_on_reading()

    @property
    def trouble(self) -> str:
        """Why nothing can be stored at present, as text; empty if the disk works."""
        error = self.ledger.trouble
        return "" if error is None else error.strerror or str(error)

    @property
    def refusal(self) -> Reason:
        """The reason code for publishers while the disk is in trouble."""
        return Reason.QUOTA_EXCEEDED if self.disk_full else Reason.IMPLEMENTATION_SPECIFIC_ERROR

    @property
    def disk_full(self) -> bool:
        """Whether the trouble is a full disk."""
        error = self.ledger.trouble
        return error is not None and error.errno in DISK_FULL

    # Checkpoints.

    def _all_records(self) -> Iterator[ApplicationRecord]:
        for stream in list(
            self.streams.by_name.values()
        ):  # one made meanwhile has a record after the checkpoint's start
            if self.streams.by_name.get(stream.name) is stream:
                yield record_kinds.STREAM, record_kinds.as_json(stream.fields())
        yield from self._queue_records()
        yield from self._session_records()
        for one in self.set_aside:
            yield one.record()
        for span in self.retained.all():
            if not span.topic.startswith(b"$SYS/"):
                body = encode_uniform_messages(self._uniform_messages(span, None), Receivers((), (), ()))
                yield record_kinds.RETAINED, body + span.data

    def _session_records(self) -> Iterator[ApplicationRecord]:
        some: list[Session] = []
        weight = 0
        for session in list(self.sessions.values()):
            if session.number:
                some.append(session)
                weight += 1 + len(session.subscriptions)
            if weight >= offline_sessions.AT_ONCE:
                yield from self._records_of(some)
                some, weight = [], 0
        yield from self._records_of(some)

    def _records_of(self, sessions: list[Session]) -> Iterator[ApplicationRecord]:
        """The records of some sessions.

        The short ones are packed and yielded in one step: a change of such a session in between would come before its
        record in the log, and be lost.
        """
        away = [session for session in sessions if offline_sessions.is_simple(session)]
        others = [session for session in sessions if not offline_sessions.is_simple(session)]
        if away:
            to_wall = self.clock.to_wall
            packed = [offline_sessions.of_session(session, to_wall(session.away or 0.0)).encode() for session in away]
            yield record_kinds.AWAY, b"".join(packed)
        for session in others:
            if session.number:  # it may have ended meanwhile
                yield (
                    record_kinds.SESSION,
                    record_kinds.as_json(record_kinds.session_record(session, self._presence(session))),
                )

    def close(self) -> None:
        """Write a last checkpoint, so that the next start is quick, and close the log."""
        if not self.ledger.halted:
            self.end_turn(awaited=True, at_once=True)
            with suppress(Problem):  # without it, the next start only takes longer
                self.upkeep.checkpoint()
            self.streams.close_index()
        self.ledger.close()
