"""A turn: one round of the server, from the first read to the last byte that is written.

Theory of operation
1. In a turn, what clients have sent is handled, then everything that follows from it is written: to the log, and to
   clients. This module knows all work that is left for the end of the turn.
2. Bytes for a client go into its outlet (`write`). Outlets with bytes are *dirty*; the server writes each once.
3. Single messages gather in batches until the turn ends (`delivery/batching.py`): QoS 1 and 2, and QoS 0 if it is
   stored. The messages of all clients to the same receivers are published as one span (`mixed_span`). However many
   clients and topics there are, that is one record of the log, one range of packet identifiers for each receiver, and
   one entry in its window.
4. Messages for the same receivers have the same `Route`. A batch has messages of one QoS, one protocol version and one
   partition of each stream.
5. The order of each publisher is kept. If a client that has messages in a batch does anything else in the same turn,
all
   batches are published first. The only exception are streams with several partitions, between which there is no order
   anyway: there, the order is kept for each topic, as MQTT demands.
6. Subscribing or unsubscribing while messages are gathered may change their routes. They are looked up anew.
7. Batches are bounded: by the number and size of messages, and because every turn ends.
8. The end of a turn (`end`) has a fixed order. Batches are published. Queues write what was put into them to the log.
   Then the acknowledgements of receivers are written, and the log is told to make all of it safe.
9. Packets that promise or reveal something that is stored are held back until the whole turn is safe (`held_back`). So
   no client knows of anything that a crash could undo. When the log is safe up to the end of a turn, what was held is
   released, and sessions that were stalled because messages were not safe are pumped (`more_is_safe`).
10. When all traffic is paced by the disk, the server need not read until shortly before the disk is forced again: what
    clients send until then becomes safe at the same time, and one turn handles all of it (`pause`). That holds while
    all recent turns were *patient*: no client in conversation waited for the disk, and nothing was written to clients
    except what had waited for the disk, and answers that are not urgent (`write_patiently`).
11. When it is not known what has been stored, the store halts, and what was held is dropped.
"""

from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from itertools import chain
from typing import Protocol

from heliograph.broker.core.outlet import Outlet
from heliograph.broker.core.services import Services
from heliograph.broker.core.slices import SLICE
from heliograph.broker.sessions.window import Settled
from heliograph.broker.storage.held_back import HeldBack
from heliograph.broker.storage.store import Store
from heliograph.log import Cursor, RecordGroup

_SERVED_AT_ONCE = 200
"""Outlets to write and queues with messages, above which releasing stops and the server does other work first."""

_IMPATIENT_FOR = 10
"""Commit intervals without an impatient turn, after which the server may pause reading."""


class Gathered(Protocol):
    """The batches of this turn."""

    def publish(self) -> None:
        """Publish all batches."""


class Puts(Protocol):
    """Messages that were put into queues in this turn and are not in the log yet."""

    def flush_puts(self, *, whole: bool = False) -> None:
        """Write them to the log; with `whole`, all of them or none."""

    def forget_puts(self) -> None:
        """Drop them."""


class QueuesInTurn(Protocol):
    """All queues, as far as a turn needs them."""

    @property
    def writes(self) -> Puts | None:
        """The pending writes to the log; None if there is no log."""

    @property
    def awake(self) -> int:
        """How many queues may have messages for consumers."""

    def hand_out(self) -> None:
        """Deliver messages to consumers with credit."""

    def end_turn(self) -> None:
        """Deliver messages to consumers, and write what was put into queues to the log."""

    def cursors(self) -> Iterable[Cursor]:
        """The cursors of all queues."""


class Stalled(Protocol):
    """Deliveries that wait until more of the log is safe."""

    @property
    def stalled(self) -> Sized:
        """Sessions that have room for messages which are not safe yet ..."""

    @property
    def stalled_groups(self) -> Sized:
        """... and groups of sharers whose members have."""

    def go_on(self) -> None:
        """More of the log is safe now: deliver."""


class Turn:
    """The work at the end of a turn, and the bytes for clients (`broker.turn`)."""

    _gathered: Gathered
    _queues: QueuesInTurn
    _stalled: Stalled | None

    def __init__(self, services: Services, store: Store | None) -> None:
        """`join` must be called before the first turn ends."""
        self._services = services
        self._store = store
        self.dirty: list[Outlet] = []
        """Outlets with bytes to write."""
        self._patient = 0
        """How many of them have only packets that are not urgent."""
        self._impatient_at = 0.0
        """The time of the last turn that was not patient."""
        self.settled: Settled = store.settled if store is not None else []
        """Messages that windows settled in this turn."""
        self.at_end: list[Callable[[], None]] = []
        """Called at the end of every turn, when everything else has happened, to put last bytes into outlets."""
        self.restless = False
        """Set when there is work to do right after outlets are written: the server then runs another turn."""
        self.held: HeldBack
        """What is held back until it is safe. The attribute exists only if there is a log."""
        if store is not None:
            self.held = HeldBack(store.ledger, store.commit_interval, store.clock.now, services.defects)

    def join(self, gathered: Gathered, queues: QueuesInTurn, stalled: Stalled | None) -> None:
        """Connect the parts that have work at the end of each turn; `stalled` if there is a log."""
        self._gathered, self._queues, self._stalled = gathered, queues, stalled

    # Bytes for clients.

    def write(self, outlet: Outlet, chunk: bytes) -> None:
        """Queue bytes for one client; they leave at the end of this turn."""
        if not outlet.chunks:
            self.dirty.append(outlet)
        outlet.chunks.append(chunk)

    def write_patiently(self, outlet: Outlet, chunk: bytes) -> None:
        """Like `write`, for an answer that is not urgent: it may wait some milliseconds."""
        if not outlet.chunks:
            self.dirty.append(outlet)
            self._patient += 1
        outlet.chunks.append(chunk)

    def take_dirty(self) -> list[Outlet]:
        """Take the outlets with bytes to write. The server calls this."""
        dirty, self.dirty, self._patient = self.dirty, [], 0
        return dirty

    def look_at(self, outlet: Outlet) -> None:
        """Put an outlet on the dirty list even if there are no bytes for it, for example to close it."""
        if not outlet.chunks:
            self.dirty.append(outlet)

    # The log.

    @contextmanager
    def together(self) -> Iterator[None]:
        """A context whose records, for queues and sessions, are one unit: after a crash all are there, or none."""
        store, writes = self._store, self._queues.writes
        assert store is not None
        assert writes is not None
        writes.flush_puts()  # earlier puts are not part of the unit, and come before it
        mark = self.held.mark()
        group: RecordGroup | None = None
        try:
            with store.group() as group:
                yield
                writes.flush_puts(whole=True)
        except Exception:
            writes.forget_puts()
            self.held.forget_actions(mark)
            # Undoing the rest is up to the caller. But MQTT sessions may have been sent messages with offsets that
            # other messages will get, and that cannot be undone.
            if group is not None and self._is_for_sessions(store, group):
                store.halt()
            raise

    def _is_for_sessions(self, store: Store, group: RecordGroup) -> bool:
        known = {
            id(one)
            for one in chain(self._queues.cursors(), *[stream.cursors for stream in store.streams.by_name.values()])
        }
        return any(id(cursor) not in known for cursor in group.receivers)

    def write_down(self) -> None:
        """Publish what was gathered, and write everything that happened in this turn to the log."""
        self._gathered.publish()
        try:
            self._queues.end_turn()
            if self._store is None:
                self.settled.clear()
            elif self._store.ledger.halted:
                self._store.forget_turn()
                self.held.forget()
            else:
                self._end_in_log(self._store, self.held)
        except Exception:
            self._services.defects.note("a turn could not be written down")
            if self._store is not None:
                self._store.halt()
                self.held.forget()

    def _end_in_log(self, store: Store, held: HeldBack) -> None:
        awaited, at_once = held.is_awaited, held.at_once
        store.end_turn(awaited=awaited, at_once=at_once)
        if awaited:
            held.end_turn()
            if at_once:
                self._impatient_at = self._services.now()

    def end(self) -> None:
        """End the turn: everything that clients sent has been handled."""
        self.write_down()
        if self._store is not None and self.held.ready:
            self.more_is_safe()  # something was held behind others, while nothing new had to be written for it
        for action in self.at_end:
            try:
                action()
            except Exception:
                self._services.defects.note("the end of a turn")
        if len(self.dirty) > self._patient:
            self._impatient_at = self._services.now()

    def pause(self, now: float) -> float:
        """Seconds for which the server need not read: what clients send would not become safe any sooner."""
        if self._store is None or not self.is_patient(now):
            return 0.0
        return self._store.ledger.until_force(now)

    def is_patient(self, now: float) -> bool:
        """Whether all recent turns were patient."""
        assert self._store is not None
        return now >= self._impatient_at + _IMPATIENT_FOR * self._store.commit_interval

    # What is safe.

    def more_is_safe(self) -> None:
        """More of the log is safe: release what was held, then pump stalled sessions.

        In this order, because packets of stalled sessions must not overtake packets that were held earlier.
        """
        store, held = self._store, self.held
        assert store is not None
        is_more = held.ready and self._release(held)
        store.let_go_on()
        if is_more:
            self._come_back()
        elif (stalled := self._stalled) is not None and (stalled.stalled or stalled.stalled_groups):
            stalled.go_on()
        if self._queues.awake:
            self._queues.hand_out()
        self._patient = len(self.dirty)

    def _release(self, held: HeldBack) -> bool:
        """Release packets that are safe, as many as one turn has time for. Returns whether there are more."""
        queues, now = self._queues, self._services.now
        until = now() + SLICE / 2  # the other half is for queues, which deliver what has just become visible

        def is_enough() -> bool:
            return len(self.dirty) + queues.awake > _SERVED_AT_ONCE or now() > until

        held.release(self.dirty, is_enough)
        return held.ready

    def _come_back(self) -> None:
        """Ask for another turn: more is safe than could be released in this one."""
        slices = self._services.slices
        if not slices.is_working(self):
            slices.later(self, lambda: None)
