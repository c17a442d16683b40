"""The store: everything durable of one broker, in the log.

Theory of operation
1. The store knows what is to be written and in which order; when it is written is up to the turn (`turn`), when it is
   forced to the disk to the log (`log/commit.py`). What has been told to a client was safe before.
2. Sessions, subscriptions, streams and retained messages have records (`record_kinds`). One is written when something
   changes, and one for all of it in each checkpoint. A record about something that is not known is ignored by those who
   read the log.
3. Messages are stored once for all receivers, each of which has a cursor. A record says with which packet identifiers
   they went out, if they did at once. Those of messages that were read back are written before the next message that
   goes out with an identifier: in the log, identifiers have the order in which they were sent.
4. Other *moves* of identifiers wait for the end of the turn, where acknowledgements are right behind them. A crash may
   cut the log between the two; who reads it (`session_recovery`) then takes the one for the other.
5. What only says how far receivers are (acknowledgements, identifiers of QoS 1 messages that were read back) is forced
   with whatever is forced next. A crash before that has messages sent again, as the clients' protocol allows.
6. While the disk is in trouble, what has been appended stays in memory, nothing is acknowledged, and publishers are not
   read from. When it is not known what has been stored, the store halts: nothing more is written until the next start.
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
"""Bytes on their way to the disk past which publishers are not read from; until half of it is safe."""
_WAITING_SHARE = 8
"""And no more than this part of all the memory there is for clients."""
_NEVER_TOO_MUCH = 1 << 20
"""So many bytes are neither counted nor waited for."""


ACKS_WAIT_MOST = 0.01
"""Seconds that acknowledgements may wait for something else that has to be written, before they are by themselves.

That keeps a server that is killed from sending again what its clients have had for long. They are not forced.
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
        """Open the log. `wake` is called in another thread when something that was held may leave.

        `new_identity` tells streams from others of their name.
        """
        options = replace(options, wall=clock.wall)
        self.clock = clock
        self.durability = "disk" if options.force else "memory"
        self.contents = LogContents()
        """What was found; the broker takes it over."""
        with collector_paused():
            self.ledger = MessageLog(directory, self.contents.take_record, self.contents.take_messages, wake, options)
        self.upkeep = Maintenance(self.ledger, self._all_records)
        self.streams = Streams(self.ledger, new_identity)
        self.set_aside = SetAsides()
        """What could not be opened."""
        self.defects: Defects
        """Set by the broker that takes this over."""
        self.sessions: dict[str, Session] = {}
        self.retained = Retained()
        self.spooled = SpoolTotals()
        self._queue_records: Callable[[], Iterable[ApplicationRecord]] = tuple
        self._last_session = 0
        self.settled: Settled = []
        """What windows are done with, until the end of the turn."""
        self._issued: list[bytes] = []
        """Identifiers of messages that were read back. The log has them in the order in which they went out: these are
        written before the next message that goes out with an identifier, which its own record tells."""
        self._moves: list[bytes] = []
        """Other moves. They wait for the end of the turn, where acknowledgements are right behind them."""
        self.retired: set[int] = set()
        """Cursors that get no more messages, and go when what is on its way has arrived."""
        self.commit_interval = options.interval
        self._acks_since = 0.0
        self._paused: dict[Outlet, None] = {}
        self._unwritten = Budget().account("log", "")

    def charge_to(self, memory: Budget) -> None:
        """What waits for the disk is part of this budget."""
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
        """Write down these from now on: what was in the log has been recovered. `queue_records` is for checkpoints."""
        self.sessions, self.retained, self._last_session = sessions, retained, last_session
        self._queue_records = queue_records
        self.set_aside = self.contents.set_aside
        del self.contents

    def settle_set_aside(self) -> None:
        """See to it that the log knows what is set aside, and what is not any more."""
        for one in self.set_aside.news():
            self.ledger.append_record(*one.record())
        if self.set_aside.outdated:
            self.upkeep.checkpoint()  # changes of what could be opened would come behind a fact that it could not

    # Sessions

    def begin_session(self, session: Session) -> None:
        """Keep a session from now on."""
        self._last_session += 1
        session.number = self._last_session
        self._note(record_kinds.SESSION, record_kinds.session_record(session, self._presence(session)))

    def end_session(self, session: Session) -> None:
        """A session is over, with everything in it."""
        self._note(record_kinds.ENDED, {"session": session.number})
        session.number = 0

    def note_presence(self, session: Session) -> None:
        """The client of a session has come or gone."""
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
        """A subscription of a durable session is new or has changed."""
        fact = record_kinds.subscription_record(subscription)
        self._note(record_kinds.SUBSCRIBED, {"session": subscription.session.number, **fact})

    def note_unsubscribed(self, session: Session, full: str) -> None:
        """A durable session has one subscription less."""
        self._note(record_kinds.UNSUBSCRIBED, {"session": session.number, "filter": full})

    def _note(self, kind: int, fact: dict[str, Any]) -> None:
        self.ledger.append_record(kind, record_kinds.as_json(fact))

    # Streams

    def open_streams(self, wanted: Sequence[StreamOptions]) -> list[Stream]:
        """Keep these streams from now on, beside those that were kept before; the ones that get new messages."""
        for stream in self.streams.configure(wanted):
            self._note(record_kinds.STREAM, stream.fields())
        if self.streams.by_name:
            self.ledger.wait()  # so that the index is there when the server is
            for stream, problem in self.streams.open_index():
                self.set_aside.add(Record(0, record_kinds.STREAM, record_kinds.as_json(stream.fields())), problem)
        self.streams.forget_index_of_others()
        return [stream for stream in self.streams.by_name.values() if stream.is_fed]

    def make_stream(self, options: StreamOptions) -> tuple[Stream, bool]:
        """See Streams.make. Readers find a new one when what `streams.index_of_new` tells has been done."""
        stream, is_new = self.streams.make(options)
        if is_new:
            self._note(record_kinds.STREAM, stream.fields())
        return stream, is_new

    def delete_stream(self, name: str, *, purge: bool) -> tuple[Stream, int]:
        """See Streams.delete; KeyError if there is none. Readers find it until this turn is safe."""
        stream, messages = self.streams.delete(name, purge=purge)
        self._note(record_kinds.STREAM_GONE, {"stream": name})
        for cursor in stream.cursors:
            self.upkeep.freed(cursor.bytes)
            self.ledger.drop_cursor(cursor)
        return stream, messages

    def retain_streams(self) -> Steps:
        """Let go what is older or more than streams are to keep, partition by partition."""
        now = round(self.clock.wall() * 1000)
        for stream in list(self.streams.by_name.values()):
            try:
                for freed in self.streams.retain(stream, now):
                    self.upkeep.freed(freed)
                    yield None
            except Exception:
                self.defects.note(f"retention of stream {stream.name}")

    # Messages

    def new_spool(self) -> Spool:
        """A place in the log for the messages of a subscription or of a group."""
        return Spool(self.ledger, self.ledger.new_cursor(), self.spooled)

    def retire_spool(self, spool: Spool, *, in_flight: bool) -> None:
        """Nobody subscribes any more. Messages on their way still have to arrive, the others are forgotten."""
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
        """Store a span for these cursors, sent to some with identifiers from these on; offsets of its first message."""
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
        """Identifiers of a durable session have come further."""
        (self._issued if move.what == record_kinds.ISSUED else self._moves).append(move.encode())

    def _write_moves(self) -> None:
        if self._issued or self._moves:
            # Where somebody waits for one, packets are held back, and the turn is in a hurry for these.
            self.ledger.append_record(record_kinds.MOVES, *self._issued, *self._moves, deferred=True)
            self._issued.clear()
            self._moves.clear()

    # Turns

    @property
    def is_behind(self) -> bool:
        """Whether too much waits for the disk."""
        waiting = self.ledger.waiting
        return waiting > _NEVER_TOO_MUCH and waiting > self._waiting_most

    def pause_if_behind(self, outlet: Outlet) -> None:
        """This client's messages are stored: do not read on while too much waits for the disk."""
        if self.is_behind:
            outlet.stop_reading()
            self._paused[outlet] = None

    def end_turn(self, *, awaited: bool, at_once: bool) -> None:
        """All that has happened since the last call belongs together; whether somebody waits for it, and in haste."""
        self.write_receipts()
        if awaited:
            self.ledger.end_turn(at_once=at_once)
            self._acks_since = 0.0
            self._note_unwritten()
        elif not self.ledger.has_unwritten:  # as after most reads
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
        """Something went wrong, and it is not known what is affected: acknowledge and store nothing more.

        All that has been acknowledged is in the log, where the next start finds it.
        """
        self.ledger.halt("internal error; nothing is acknowledged or stored any more until the server is restarted")
        self.forget_turn()

    def forget_turn(self) -> None:
        """What happens while nothing is stored leaves no trace."""
        for gathered in (self.settled, self._issued, self._moves):
            gathered.clear()

    def write_receipts(self) -> None:
        """Write down how far receivers are."""
        if self.settled:
            self._acknowledge_settled()
        if self._issued or self._moves:
            self._write_moves()

    @contextmanager
    def group(self) -> Iterator[RecordGroup]:
        """All that is stored within is there after a crash, or nothing of it."""
        # Receipts and the acknowledgements that belong to them stay next to each other: recovery counts on that.
        self.write_receipts()
        self.ledger.write_acks()
        try:
            with self.ledger.group() as group:
                yield group
                self._write_moves()
        except Exception:
            self._moves.clear()
            # Clients of MQTT may have been sent messages with identifiers that others will get.
            if self._issued:
                self.halt()
            raise

    def _have_waited(self) -> bool:
        """Whether acknowledgements have waited long enough for something else that has to be written."""
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
        """Less waits for the disk: publishers may be read from again, if it is not too much."""
        if self._unwritten.used:
            self._note_unwritten()
        if self._paused and self.ledger.waiting < self._waiting_most // 2:
            paused, self._paused = self._paused, {}
            for outlet in paused:
                outlet.go_on_reading()

    @property
    def trouble(self) -> str:
        """Why nothing can be stored at present, for people; empty if all is well."""
        error = self.ledger.trouble
        return "" if error is None else error.strerror or str(error)

    @property
    def refusal(self) -> Reason:
        """What publishers are told while there is trouble."""
        return Reason.QUOTA_EXCEEDED if self.disk_full else Reason.IMPLEMENTATION_SPECIFIC_ERROR

    @property
    def disk_full(self) -> bool:
        """Whether the trouble is that there is no room."""
        error = self.ledger.trouble
        return error is not None and error.errno in DISK_FULL

    # Checkpoints

    def _all_records(self) -> Iterator[ApplicationRecord]:
        for stream in list(self.streams.by_name.values()):  # what is made meanwhile is told behind the beginning anyway
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
        """Those of clients that are away, of this very moment: what happens next must come behind them in the log."""
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
            with suppress(Problem):  # then the next start takes longer, that is all
                self.upkeep.checkpoint()
            self.streams.close_index()
        self.ledger.close()
