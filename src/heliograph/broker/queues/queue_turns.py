"""The work of queues in a turn: delivering to consumers, writing to the log, timers, and loading.

Theory of operation
1. A queue that may have messages to deliver is *awake*. Awake queues are served at the end of the turn (`end_turn`),
   and whenever more is safe; of very many queues, some in a later turn. A queue that is woken meanwhile is served in
   the same turn.
2. Writes go to the log after that, so that messages that were settled in the same turn are included.
3. All selective consumers share one slice of time per turn (`may_look`).
4. After a restart the messages in the log are not known. The first use of a queue loads those of all queues, in slices
   (`loading`). Meanwhile the log must not be compacted, as that moves messages.
"""

import gc
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial

from heliograph.broker.core.services import Services
from heliograph.broker.core.slices import SLICE, Steps
from heliograph.broker.core.timers import Timer
from heliograph.broker.errors import Refusal
from heliograph.broker.queues import refusal
from heliograph.broker.queues.entry import Entry
from heliograph.broker.queues.loading import Loading
from heliograph.broker.queues.queue import Queue
from heliograph.broker.queues.queue_contents import QueueContents
from heliograph.broker.queues.queue_storage import Memory
from heliograph.broker.queues.queue_writes import QueueWrites
from heliograph.broker.storage.store import Store
from heliograph.broker.storage.turn import Turn
from heliograph.errors import Problem

_HANDED_OUT_AT_ONCE = 500
"""Queues that are served before the time is looked at."""


class QueueTurns:
    """The part of `Queues` that works in turns."""

    def __init__(self, services: Services, turn: Turn, store: Store | None) -> None:
        self._services = services
        self._turn = turn
        self._store = store
        self._queues: dict[str, Queue] = {}
        self._awake: dict[QueueContents, None] = {}
        self._shown: list[tuple[Queue, list[Entry]]] = []
        self._look_until = 0.0
        """Until when selective consumers may look at messages in this turn; 0 if none has begun."""
        self.loading: Loading | None = None
        """The loading that is under way. The log must not be compacted meanwhile."""
        self.memory = Memory(services.memory.account("queues", "persistent messages"))
        self.writes = QueueWrites(store, turn.held) if store is not None else None
        """Where persistent messages go; None for a broker that keeps everything in memory."""

    # Delivering to consumers.

    def wake(self, queue: QueueContents) -> None:
        """Have this queue served at the end of the turn."""
        self._awake[queue] = None

    @property
    def awake(self) -> int:
        """The number of awake queues."""
        return len(self._awake)

    def hand_out(self) -> None:
        """Serve the awake queues. If there are very many, the rest is served in a later turn."""
        until = 0.0
        while self._awake:
            awake, self._awake = list(self._awake), {}
            if not until and len(awake) >= _HANDED_OUT_AT_ONCE:
                until = self._services.now() + SLICE
            given = self._hand_out_of(awake, until)
            if given < len(awake):
                self._awake = dict.fromkeys(awake[given:]) | self._awake
                self.do_later(self, lambda: None)  # at the end of that turn it goes on
                break
        if self._shown:
            shown, self._shown = self._shown, []
            for queue, entries in shown:
                queue.let_go(entries)

    def _hand_out_of(self, queues: list[QueueContents], until: float) -> int:
        """Serve these queues as long as there is time. Returns how many were served."""
        for number, queue in enumerate(queues, 1):
            try:
                queue.hand_out()
            except Exception:
                self.note_defect(f"messages of queue {queue.name} could not be handed out")
            if not number % _HANDED_OUT_AT_ONCE and self._services.now() > until:
                return number
        return len(queues)

    def note_shown(self, queue: Queue, entries: list[Entry]) -> None:
        """Note persistent messages that became visible: if no consumer takes them, their payloads may be released."""
        self._shown.append((queue, entries))

    def end_turn(self) -> None:
        """Serve the awake queues, and write what has gathered to the log. The broker calls it."""
        if self._awake or self._shown:
            self._look_until = 0.0
            self.hand_out()
        self._look_until = 0.0
        if self.writes is not None:
            if self.writes.ledger.halted:
                self.writes.forget_puts()
            else:
                self.writes.flush()

    # Loading.

    def load(self, queue: QueueContents) -> bool:
        """Load all queues that are not loaded. Returns whether this one is loaded now.

        The work is done in slices. Consumers of the queue are called when it has ended.
        """
        assert self.writes is not None
        assert queue.storage is not None
        if self.loading is not None:
            self.loading.wanted[queue] = None
            return False
        unknown = [one for one in self._queues.values() if one.storage is not None and not one.storage.loaded]
        loading = self.loading = Loading(self.writes.ledger, self.memory, unknown)
        loading.wanted[queue] = None
        self._services.slices.begin(loading, self._load(loading), partial(self._look_further, loading))
        return queue.storage.loaded

    def _load(self, loading: Loading) -> Steps:
        try:
            for step in loading.steps():
                gc.freeze()  # so that the garbage collector does not scan all these new entries again and again
                yield step
        except Problem as problem:
            for queue in loading.wanted:
                self.unreadable(queue, str(problem))
        finally:
            self.loading = None

    def _look_further(self, loading: Loading) -> None:
        for queue in loading.wanted:
            if queue.storage is not None and queue.storage.loaded:  # after an error it would be tried again for ever
                queue.look_further()

    def unreadable(self, queue: QueueContents, why: str) -> None:
        """Messages of a queue cannot be read back."""
        self._services.journal.unreadable(f"queue {queue.name}", why)

    # Time.

    def now(self) -> int:
        """Milliseconds since 1970."""
        return int(self._services.wall() * 1000)

    def set_timer(self, when: int, action: Callable[[], None]) -> Timer:
        """Do something at a time in milliseconds since 1970."""
        services = self._services
        return services.timers.at(services.now() + (when - self.now()) / 1000, lambda _: action())

    def may_look(self) -> bool:
        """Whether this turn has time left for selective consumers."""
        now = self._services.now()
        if not self._look_until:
            self._look_until = now + SLICE
        return now <= self._look_until

    def do_later(self, owner: object, action: Callable[[], None]) -> None:
        """Do this in another turn; only once for each owner."""
        slices = self._services.slices
        if not slices.is_working(owner):
            slices.later(owner, action)

    def do_in_slices(self, owner: object, steps: Steps) -> None:
        """Do this in slices."""
        self._services.slices.begin(owner, steps, lambda: None)

    # The log.

    def when_safe(self, action: Callable[[], None]) -> None:
        """Do this when the turn is safe."""
        assert self._store is not None
        self._turn.held.when_safe(action)

    def together(self) -> AbstractContextManager[None]:
        """A context whose records are one unit: after a crash all of them are there, or none."""
        assert self._store is not None
        return self._turn.together()

    @property
    def trouble(self) -> Refusal | None:
        """Why no persistent message can be taken at present."""
        store = self._store
        if store is None or not store.trouble:
            return None
        text = f"messages cannot be stored at present: {store.trouble}"
        return Refusal(refusal.FULL if store.disk_full else refusal.INTERNAL, text)

    def note_defect(self, what: str) -> None:
        """Count and log the exception that is being handled."""
        self._services.defects.note(what)
