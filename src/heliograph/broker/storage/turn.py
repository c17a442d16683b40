"""A turn: one round of the server, from the first read to the last byte that is written.

Theory of operation
1. In a turn, what clients have sent is taken in, then all that follows from it is written out: to the log, and to
   clients. Everything that is left for the end of the turn is known here.
2. Bytes for a client go into its outlet (`write`). Outlets with bytes are *dirty*; the server writes each once.
3. Messages that come alone gather in batches until the turn ends (`delivery/batching.py`): QoS 1 and 2, and QoS 0 if
   they are stored. Those of all clients for the same receivers are published as one span (`mixed_span`). However many
   clients and topics there are, it is one record of the log, one range of packet identifiers for each receiver, and one
   entry in its window.
4. Messages for the same receivers have the same `Route`. They gather only with others of their QoS, their protocol
   version and their partition of each stream.
5. The order of each publisher is kept. What else a client does in a turn in which it has published something that still
   gathers comes behind that: all that has gathered is published first. The only exception are streams with several
   partitions, between which there is no order anyway: there, the order is kept for each topic, as MQTT demands.
6. A subscription that comes or goes while messages gather may change their routes: they are looked up anew.
7. What gathers is bounded: by the number and size of messages, and because every turn ends.
8. The end of a turn (`end`) has an order. What has gathered is published. Queues put into the log what was put into
   them. Then receivers' acknowledgements are written down, and the log is told to make all of it safe.
9. What tells of something that is stored is held back until the whole turn is safe (`held_back`). Nobody is told of
   anything that a crash could take back. When the log is safe up to the end of a turn, what was held leaves, and
   clients that have waited for messages to be safe get them (`more_is_safe`).
10. When all traffic is paced by the disk, the server need not read until shortly before the disk is forced again: what
   clients send until then becomes safe at the same time, and one turn takes all of it (`pause`). That holds while all
   turns of late were *patient*: no client in conversation waited for the disk, and nothing was written to clients but
   what had waited for the disk, and answers that nobody is in a hurry for (`write_patiently`).
11. Where it is not known what has been stored, nothing more is: the store halts, and what was held is forgotten.
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
"""Clients that are written to, and queues that have messages for them, before others have their turn."""

_IMPATIENT_FOR = 10
"""Intervals between two commits without an impatient turn, after which there are pauses."""


class Gathered(Protocol):
    """Messages that have come alone in this turn."""

    def publish(self) -> None:
        """Publish all of them."""


class Puts(Protocol):
    """What has been put into queues in this turn."""

    def flush_puts(self, *, whole: bool = False) -> None:
        """Put it into the log; with `whole`, all of it or nothing."""

    def forget_puts(self) -> None:
        """It shall not be stored."""


class QueuesInTurn(Protocol):
    """All queues, as far as turns have to do with them."""

    @property
    def writes(self) -> Puts | None:
        """What is to be put into the log for them; None if there is no log."""

    @property
    def awake(self) -> int:
        """How many may have something to hand out."""

    def hand_out(self) -> None:
        """Give what there is to those who want it."""

    def end_turn(self) -> None:
        """Hand out what there is, and give what has gathered to the log."""

    def cursors(self) -> Iterable[Cursor]:
        """Where their messages are in the log."""


class Stalled(Protocol):
    """Deliveries that wait until more is safe."""

    @property
    def stalled(self) -> Sized:
        """Clients that could take messages which are not safe yet ..."""

    @property
    def stalled_groups(self) -> Sized:
        """... and groups of sharers that could."""

    def go_on(self) -> None:
        """More is safe now."""


class Turn:
    """`broker.turn`."""

    _gathered: Gathered
    _queues: QueuesInTurn
    _stalled: Stalled | None

    def __init__(self, services: Services, store: Store | None) -> None:
        """`join` is to be called before the first turn ends."""
        self._services = services
        self._store = store
        self.dirty: list[Outlet] = []
        """Outlets that have something to write."""
        self._patient = 0
        """How many of them nobody is in a hurry for."""
        self._impatient_at = 0.0
        """When a turn was last not patient."""
        self.settled: Settled = store.settled if store is not None else []
        """What windows are done with."""
        self.at_end: list[Callable[[], None]] = []
        """Called when all has happened that can happen: those with something to say put it into outlets."""
        self.restless = False
        """Something is to be done as soon as what is in outlets has been written: another turn is wanted then."""
        self.held: HeldBack
        """What waits until it is safe. It is only there where there is a log."""
        if store is not None:
            self.held = HeldBack(store.ledger, store.commit_interval, store.clock.now, services.defects)

    def join(self, gathered: Gathered, queues: QueuesInTurn, stalled: Stalled | None) -> None:
        """Those who have something to do at the end of each turn; `stalled` if there is a log."""
        self._gathered, self._queues, self._stalled = gathered, queues, stalled

    # Bytes for clients

    def write(self, outlet: Outlet, chunk: bytes) -> None:
        """Queue bytes for one client; they leave at the end of this turn."""
        if not outlet.chunks:
            self.dirty.append(outlet)
        outlet.chunks.append(chunk)

    def write_patiently(self, outlet: Outlet, chunk: bytes) -> None:
        """Like `write`, for an answer that its client can wait for some milliseconds."""
        if not outlet.chunks:
            self.dirty.append(outlet)
            self._patient += 1
        outlet.chunks.append(chunk)

    def take_dirty(self) -> list[Outlet]:
        """Outlets that have something to write, for the server to see to."""
        dirty, self.dirty, self._patient = self.dirty, [], 0
        return dirty

    def look_at(self, outlet: Outlet) -> None:
        """See to an outlet at the end of the turn, even if there are no bytes for it."""
        if not outlet.chunks:
            self.dirty.append(outlet)

    # The log

    @contextmanager
    def together(self) -> Iterator[None]:
        """All that is stored within, for queues and sessions, is there after a crash, or nothing of it."""
        store, writes = self._store, self._queues.writes
        assert store is not None
        assert writes is not None
        writes.flush_puts()  # what came before stays before
        mark = self.held.mark()
        group: RecordGroup | None = None
        try:
            with store.group() as group:
                yield
                writes.flush_puts(whole=True)
        except Exception:
            writes.forget_puts()
            self.held.forget_actions(mark)
            # The rest is up to whoever wanted all this. But clients of MQTT may have been sent messages with offsets
            # that others will get, and it is too late to take these back.
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
        """Put all that has happened into the log."""
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
        """All that clients have sent has been taken in: what is to be stored goes to the disk now."""
        self.write_down()
        if self._store is not None and self.held.ready:
            self.more_is_safe()  # held behind something else, but nothing of its own had to be written
        for action in self.at_end:
            try:
                action()
            except Exception:
                self._services.defects.note("the end of a turn")
        if len(self.dirty) > self._patient:
            self._impatient_at = self._services.now()

    def pause(self, now: float) -> float:
        """For how many seconds no client has to be listened to: what they send would not be safe any sooner."""
        if self._store is None or not self.is_patient(now):
            return 0.0
        return self._store.ledger.until_force(now)

    def is_patient(self, now: float) -> bool:
        """Whether all turns of late were patient."""
        assert self._store is not None
        return now >= self._impatient_at + _IMPATIENT_FOR * self._store.commit_interval

    # What is safe

    def more_is_safe(self) -> None:
        """The log is safe further than before: what was held until then may leave."""
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
        """Let packets leave that are safe, as many as there is time for in one turn; whether there are more."""
        queues, now = self._queues, self._services.now
        until = now() + SLICE / 2  # what is shown now is handed out right behind

        def is_enough() -> bool:
            return len(self.dirty) + queues.awake > _SERVED_AT_ONCE or now() > until

        held.release(self.dirty, is_enough)
        return held.ready

    def _come_back(self) -> None:
        """There is more that is safe than could be seen to in this turn: have another one."""
        slices = self._services.slices
        if not slices.is_working(self):
            slices.later(self, lambda: None)
