"""The store: what the broker puts into the log, and what waits until it is safe there.

A *turn* is one round of the server: whatever clients sent is taken in, then everything is written out. What a turn
changes goes into the log as it happens; packets that acknowledge any of it are held, and leave when all of the turn is
safe.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heliograph.broker import facts
from heliograph.broker.defects import Defects
from heliograph.broker.facts import Move
from heliograph.broker.memory import Budget
from heliograph.broker.outlet import Outlet
from heliograph.broker.retained import Retained
from heliograph.broker.revival import Revival
from heliograph.broker.session import Session
from heliograph.broker.set_aside import SetAsides
from heliograph.broker.slices import Steps
from heliograph.broker.span import Span
from heliograph.broker.spool import Spool, Total
from heliograph.broker.streams import Stream, StreamOptions, Streams
from heliograph.broker.subscription import ShareGroup, Subscription
from heliograph.broker.window import Settled
from heliograph.errors import Problem
from heliograph.log.commit import NO_ROOM
from heliograph.log.cursor import Cursor
from heliograph.log.group import Group
from heliograph.log.ledger import Ledger
from heliograph.log.log import LogOptions
from heliograph.log.messages import Messages, Receivers, encode_messages
from heliograph.log.record import Record
from heliograph.log.upkeep import Fact, Upkeep
from heliograph.mqtt.reasons import Reason

if TYPE_CHECKING:
    from heliograph.broker.queues.queues import Queues

WAITING_MOST = 64 << 20
"""Bytes on their way to the disk past which publishers are not read from; until half of it is safe."""
_WAITING_SHARE = 8
"""And no more than this part of all the memory there is for clients."""
_NEVER_TOO_MUCH = 1 << 20
"""So many bytes are neither counted nor waited for."""


_RELEASED_AT_ONCE = 100
_DONE_AT_ONCE = 16
"""Packets that leave, and actions that are done, before it is seen whether that is enough for one turn."""

ACKS_WAIT_MOST = 0.01
"""Seconds that acknowledgements may wait for something else that has to be written, if nobody waits for them.

Forcing the disk once for a message and once more for its acknowledgement would be twice the price. What a crash takes
back is sent again, as it would have been if the client had been slower by this much.
"""


Action = tuple[Callable[[], None], Outlet | None]
"""What is done when a turn is safe, and the client on whose account."""


class Clock:
    """The broker's clock starts anywhere; the log needs a time that outlives the process."""

    def __init__(self, now: Callable[[], float], wall: Callable[[], float]) -> None:
        self.now = now
        self.wall = wall

    def to_wall(self, when: float) -> int:
        """A time of the broker's clock as milliseconds since 1970."""
        return round((when - self.now() + self.wall()) * 1000)

    def from_wall(self, milliseconds: int) -> float:
        """The other way round."""
        return milliseconds / 1000 - self.wall() + self.now()


class Store:
    """Everything durable of one broker."""

    def __init__(self, directory: Path, clock: Clock, wake: Callable[[], None], options: LogOptions) -> None:
        """Open the log. `wake` is called in another thread when `release` has something to do."""
        self.clock = clock
        self.durability = "disk" if options.force else "memory"
        self.revival = Revival(clock)
        """What was found; the broker takes it over."""
        self.ledger = Ledger(directory, self.revival.take_fact, self.revival.take_messages, wake, options)
        self.upkeep = Upkeep(self.ledger, self._all_facts)
        self.streams = Streams(self.ledger)
        self.set_aside = SetAsides()
        """What could not be opened."""
        self.defects: Defects
        """Set by the broker that takes this over."""
        self.sessions: dict[str, Session] = {}
        self.retained = Retained()
        self.spooled = Total()
        self._queues: Queues | None = None
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
        self._holding: list[tuple[Outlet, bytes]] = []
        self._then: list[Action] = []
        self._acks_since = 0.0
        self._ended = -1
        """Where the log ended when the last turn was written."""
        self._held: deque[tuple[int, deque[tuple[Outlet, bytes]], deque[Action]]] = deque()
        self.stalled: dict[Session, None] = {}
        """Clients that could take messages which are not safe yet."""
        self.stalled_groups: dict[ShareGroup, None] = {}
        self._paused: dict[Outlet, None] = {}
        self._unwritten = Budget().account("log", "")
        self.last_stored = 0
        """How many messages of the span published last are in the log, with the identifiers that they came with."""
        self.last_put = False
        """Whether a queue keeps messages of the span published last in the log."""

    def charge_to(self, memory: Budget) -> None:
        """What waits for the disk is part of this budget."""
        self._unwritten = memory.account("log", "not written yet")

    @property
    def _waiting_most(self) -> int:
        return min(WAITING_MOST, self._unwritten.budget.limit // _WAITING_SHARE)

    def take_over(self, sessions: dict[str, Session], retained: Retained, queues: "Queues", last_session: int) -> None:
        """Look at these from now on: the broker has been revived."""
        self.sessions, self.retained, self._last_session = sessions, retained, last_session
        self._queues = queues
        self.set_aside = self.revival.set_aside
        del self.revival

    def settle_set_aside(self) -> None:
        """See to it that the log knows what is set aside, and what is not any more."""
        for one in self.set_aside.news():
            self.ledger.note(*one.fact())
        if self.set_aside.outdated:
            self.upkeep.checkpoint()  # changes of what could be opened would come behind a fact that it could not

    # Sessions

    def begin_session(self, session: Session) -> None:
        """Keep a session from now on."""
        self._last_session += 1
        session.number = self._last_session
        self._note(facts.SESSION, facts.session_fact(session, self._presence(session)))

    def end_session(self, session: Session) -> None:
        """A session is over, with everything in it."""
        self._note(facts.ENDED, {"session": session.number})
        session.number = 0

    def note_presence(self, session: Session) -> None:
        """The client of a session has come or gone."""
        self._note(facts.PRESENCE, self._presence(session))

    def _presence(self, session: Session) -> dict[str, Any]:
        due = session.will_timer[0] if session.will_timer else None
        return {
            "session": session.number,
            "expiry": session.expiry,
            "away": None if session.away is None else self.clock.to_wall(session.away),
            "will": facts.will_fact(session.will),
            "will_due": self.clock.to_wall(due) if isinstance(due, float | int) else None,
        }

    def note_subscribed(self, subscription: Subscription) -> None:
        """A subscription of a durable session is new or has changed."""
        fact = facts.subscription_fact(subscription)
        self._note(facts.SUBSCRIBED, {"session": subscription.session.number, **fact})

    def note_unsubscribed(self, session: Session, full: str) -> None:
        """A durable session has one subscription less."""
        self._note(facts.UNSUBSCRIBED, {"session": session.number, "filter": full})

    def _note(self, kind: int, fact: dict[str, Any]) -> None:
        self.ledger.note(kind, facts.as_json(fact))

    # Streams

    def open_streams(self, wanted: Sequence[StreamOptions]) -> list[Stream]:
        """Keep these streams from now on, beside those that were kept before; the ones that get new messages."""
        for stream in self.streams.configure(wanted):
            self._note(facts.STREAM, stream.fact())
        if self.streams.by_name:
            self.ledger.wait()  # so that the index is there when the server is
            for stream, problem in self.streams.open_index():
                self.set_aside.add(Record(0, facts.STREAM, facts.as_json(stream.fact())), problem)
        self.streams.forget_index_of_others()
        return [stream for stream in self.streams.by_name.values() if stream.is_fed]

    def make_stream(self, options: StreamOptions) -> tuple[Stream, bool]:
        """See Streams.make. Readers find a new one when what `streams.index_of_new` tells has been done."""
        stream, is_new = self.streams.make(options)
        if is_new:
            self._note(facts.STREAM, stream.fact())
        return stream, is_new

    def delete_stream(self, name: str, *, purge: bool) -> tuple[Stream, int]:
        """See Streams.delete; KeyError if there is none. Readers find it until this turn is safe."""
        stream, messages = self.streams.delete(name, purge=purge)
        self._note(facts.STREAM_GONE, {"stream": name})
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
            self.ledger.note(facts.MOVES, *self._issued)
            self._issued.clear()
        return self.ledger.store(self._messages(span, publisher), cursors, identifiers)

    def _messages(self, span: Span, publisher: Session | None) -> Messages:
        return Messages(
            span.topic,
            span.data,
            span.count,
            span.head,
            span.qos,
            span.id_at,
            span.version5,
            span.retain,
            span.verbatim,
            span.from_store,
            span.properties,
            publisher.number if publisher is not None and span.qos == 2 and span.id_at else 0,
            self.clock.to_wall(span.expires) if span.expires else 0,
            span.retold,
        )

    def note_move(self, move: Move) -> None:
        """Identifiers of a durable session have come further."""
        (self._issued if move.what == facts.ISSUED else self._moves).append(move.encode())

    def _write_moves(self) -> None:
        if self._issued or self._moves:
            self.ledger.note(facts.MOVES, *self._issued, *self._moves)
            self._issued.clear()
            self._moves.clear()

    @contextmanager
    def together(self) -> Iterator[None]:
        """All that is stored within, for queues and sessions, is there after a crash, or nothing of it."""
        turn = self._queues.turn if self._queues is not None else None
        assert turn is not None
        turn.flush_puts()  # what came before stays before
        # Receipts and the acknowledgements that belong to them stay next to each other: revival counts on that.
        self._acknowledge_settled()
        self._write_moves()
        self.ledger.write_acks()
        before = len(self._then)
        group: Group | None = None
        try:
            with self.ledger.group() as group:
                yield
                turn.flush_puts(whole=True)
                self._write_moves()
        except Exception:
            turn.forget_puts()
            del self._then[before:]
            self._moves.clear()
            # The rest is up to whoever wanted all this. But clients of MQTT may have been sent messages with offsets
            # that others will get, and it is too late to take these back.
            if self._issued or any(map(self._is_for_session, group.receivers if group else ())):
                self.halt()
            raise

    def _is_for_session(self, cursor: Cursor) -> bool:
        queues = self._queues.all() if self._queues is not None else []
        others = [queue.shelf.cursor for queue in queues if queue.shelf is not None]
        return not any(one is cursor for one in chain(others, *[s.cursors for s in self.streams.by_name.values()]))

    # Turns

    def hold(self, outlet: Outlet, chunk: bytes) -> None:
        """Write these packets when this turn is safe."""
        outlet.unsafe += 1
        self._holding.append((outlet, chunk))

    def when_safe(self, action: Callable[[], None]) -> None:
        """Do this when this turn is safe, on account of the client that is being served."""
        self._then.append((action, self.defects.serving))

    def pause_if_behind(self, outlet: Outlet) -> None:
        """This client's messages are stored: do not read on while too many wait for the disk."""
        waiting = self.ledger.waiting
        if waiting > _NEVER_TOO_MUCH and waiting > self._waiting_most:
            outlet.stop_reading()
            self._paused[outlet] = None

    def end_turn(self) -> None:
        """All that has happened since the last call belongs together."""
        if self.ledger.halted:
            self._forget_turn()
            return
        if self.settled:
            self._acknowledge_settled()
        if self._issued or self._moves:
            self._write_moves()
        if self._holding or self._then:
            self._commit()
            self._held.append((self._ended, deque(self._holding), deque(self._then)))
            self._holding, self._then = [], []
        elif not self._may_wait():
            self._commit()

    def _commit(self) -> None:
        self.ledger.end_turn()
        self._ended = self.ledger.end
        self._note_unwritten()

    def _note_unwritten(self) -> None:
        waiting = self.ledger.waiting
        if waiting > _NEVER_TOO_MUCH or self._unwritten.used:
            self._unwritten.add((waiting if waiting > _NEVER_TOO_MUCH else 0) - self._unwritten.used)

    def halt(self) -> None:
        """Something went wrong, and it is not known what is affected: acknowledge and store nothing more.

        All that has been acknowledged is in the log, where the next start finds it.
        """
        self.ledger.halt("internal error; nothing is acknowledged or stored any more until the server is restarted")
        self._forget_turn()

    def _forget_turn(self) -> None:
        """What happens while nothing is stored leaves no trace, and nobody is told that it has happened."""
        for gathered in (self.settled, self._issued, self._moves, self._holding, self._then, self._held):
            gathered.clear()

    def _may_wait(self) -> bool:
        """Whether this turn can be written together with the next ones: it has only acknowledgements, or nothing."""
        if not self.ledger.only_acks:
            self._acks_since = 0.0
            return self.ledger.end == self._ended
        now = self.clock.now()
        self._acks_since = self._acks_since or now
        if now - self._acks_since < ACKS_WAIT_MOST:
            return True
        self._acks_since = 0.0
        return False

    def _acknowledge_settled(self) -> None:
        ledger = self.ledger
        for cursor, offset, count in self.settled:
            if ledger.cursors.get(cursor.number) is cursor:
                ledger.acknowledge(cursor, offset, offset + count)
                if cursor.number in self.retired and not cursor.pending:
                    self._drop(cursor)
        self.settled.clear()

    @property
    def ready(self) -> bool:
        """Whether something that was held may leave."""
        return bool(self._held) and self._held[0][0] <= self.ledger.safe and not self.ledger.halted

    def release(self, is_enough: Callable[[], bool]) -> Iterator[tuple[Outlet, bytes]]:
        """What may leave now that more is safe; the caller writes it.

        Where there is so much that it `is_enough`, the rest is left for another call: `ready` says so.
        """
        while self.ready:
            _, chunks, then = self._held[0]
            while chunks:
                for _ in range(min(len(chunks), _RELEASED_AT_ONCE)):
                    outlet, chunk = chunks.popleft()
                    outlet.unsafe -= 1
                    if not outlet.finished:
                        yield outlet, chunk
                if chunks and is_enough():
                    return
            for number in range(1, len(then) + 1):
                action, client = then.popleft()
                try:
                    action()
                except Exception:
                    # All of the turn is in the log. At worst it takes a restart until everybody can see it.
                    self.defects.note("what was to be done when something is safe", client)
                if then and not number % _DONE_AT_ONCE and is_enough():
                    return
            if self._held:  # unless an action has halted all
                self._held.popleft()
            if is_enough():
                break

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
        return error is not None and error.errno in NO_ROOM

    # Checkpoints

    def _all_facts(self) -> Iterator[Fact]:
        for stream in list(self.streams.by_name.values()):  # what is made meanwhile is told behind the beginning anyway
            if self.streams.by_name.get(stream.name) is stream:
                yield facts.STREAM, facts.as_json(stream.fact())
        if self._queues is not None:
            yield from self._queues.all_facts()
        for session in list(self.sessions.values()):
            if session.number:
                yield facts.SESSION, facts.as_json(facts.session_fact(session, self._presence(session)))
        for one in self.set_aside:
            yield one.fact()
        for span in self.retained.all():
            if not span.topic.startswith(b"$SYS/"):
                body = encode_messages(self._messages(span, None), Receivers((), (), ()))
                yield facts.RETAINED, body + span.data

    def close(self) -> None:
        """Write a last checkpoint, so that the next start is quick, and close the log."""
        if not self.ledger.halted:
            self.end_turn()
            with suppress(Problem):  # then the next start takes longer, that is all
                self.upkeep.checkpoint()
            self.streams.close_index()
        self.ledger.close()
