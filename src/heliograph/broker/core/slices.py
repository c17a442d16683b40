"""Cooperative scheduling: long work is done in slices, so that one client's request does not delay the others.

Theory of operation

1. A piece of work is a generator (`Steps`); every `yield` ends a short step. `begin` does the first slice at once,
   since nearly all requests are small. The rest is done slice by slice between the turns of the server, by `run`.
2. Work belongs to an owner, any object. An owner has one piece of work at a time; `begin` or `later` replaces an older
   one in the table, so callers check `is_working` or `drop` first. A connection that has work is not read from.
3. `run` goes round robin: each piece has its turn until the time of one slice, for all together, is used up.
4. A step that yields WAIT takes its work out of the row until `wake`. `drop` closes the generator, but not while it is
   running: then the next step does it.
5. If a step raises, only that work ends; the client that was served when the work began is blamed.
6. `Portions` cuts the bytes that clients send in the same way, before they are parsed.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from functools import partial
from typing import Protocol

from heliograph.broker.core.defects import Defects
from heliograph.broker.core.outlet import Outlet

SLICE = 0.003
"""Seconds for one slice, and for all slices between two turns."""

WAIT = True
"""Yielded by a step that cannot go on before `wake` is called."""

ENOUGH = False
"""Yielded by a step that produced much output: the slice ends here, whatever time it took."""

Steps = Generator[bool | None, None, None]


class _Work:
    """One piece of work that is not finished."""

    __slots__ = ("done", "dropped", "outlet", "owner", "running", "steps", "waiting")

    def __init__(self, owner: object, outlet: Outlet | None, steps: Steps, done: Callable[[], None]) -> None:
        self.owner = owner
        self.outlet = outlet
        """The client that is blamed for errors."""
        self.steps = steps
        self.done = done
        self.running = False
        self.waiting = False
        self.dropped = False


class Slices:
    """All unfinished work of a broker. `more` is called when there is new work for `run`."""

    def __init__(self, now: Callable[[], float], defects: Defects) -> None:
        self._now = now
        self._defects = defects
        self._work: dict[object, _Work] = {}
        self._row: deque[_Work] = deque()
        self.more: Callable[[], None] = lambda: None

    def begin(self, owner: object, steps: Steps, done: Callable[[], None]) -> bool:
        """Do the first slice. Returns whether that was all; otherwise `done` is called after the last slice."""
        work = self._work[owner] = _Work(owner, self._defects.serving, steps, done)
        try:
            is_done = self._slice(work, self._now() + SLICE)
        except BaseException:
            self._forget(work)
            raise
        if is_done:
            self._forget(work)
        else:
            self._line_up(work)
        return is_done

    def do_all(self, work: Iterable[Steps | None]) -> None:
        """Do this work in slices. It has no owner, and nothing is called at its end."""
        there = [steps for steps in work if steps is not None]
        if there:
            self.begin(object(), one_by_one(there), lambda: None)

    def later(self, owner: object, done: Callable[[], None]) -> None:
        """Call `done` in a later turn, for an owner that has used up its share of this one."""
        work = self._work[owner] = _Work(owner, self._defects.serving, _nothing(), done)
        self._line_up(work)

    @property
    def busy(self) -> bool:
        """Whether `run` has something to do."""
        return bool(self._row)

    def is_working(self, owner: object) -> bool:
        """Whether there is work of this owner."""
        return owner in self._work

    def run(self) -> Outlet | None:
        """Do work for the time of one slice. Returns the client of the last piece of work."""
        until = self._now() + SLICE
        outlet = None
        for _ in range(len(self._row)):
            work = self._row.popleft()
            # `drop` leaves the work in the row, where finding it would take a search.
            if work.dropped:
                continue
            outlet = self._defects.serving = work.outlet
            try:
                if self._slice(work, until):
                    self._forget(work)
                    if not work.dropped:
                        work.done()
                elif not work.waiting:
                    self._row.append(work)
            except Exception:
                self._forget(work)
                self._defects.note("work in slices", outlet)
            if self._now() >= until:
                break
        self._defects.serving = None
        return outlet

    def wake(self, owner: object) -> None:
        """Go on with the work of this owner, which had yielded WAIT."""
        work = self._work.get(owner)
        if work is not None and work.waiting:
            work.waiting = False
            self._line_up(work)

    def drop(self, owner: object) -> None:
        """Abandon the work of this owner."""
        work = self._work.pop(owner, None)
        if work is not None:
            # A running generator cannot be closed: it is dropping itself, and `_slice` closes it after the step.
            work.dropped = True
            if not work.running:
                work.steps.close()

    def _slice(self, work: _Work, until: float) -> bool:
        """Do steps until the time is up. Returns whether the work is finished."""
        work.running = True
        try:
            for waits in work.steps:
                if work.dropped:
                    work.steps.close()
                    return True
                if waits:
                    work.waiting = True
                    return False
                if waits is ENOUGH or self._now() >= until:
                    return False
        finally:
            work.running = False
        return True

    def _line_up(self, work: _Work) -> None:
        if not work.waiting and not work.dropped:
            self._row.append(work)
            self.more()

    def _forget(self, work: _Work) -> None:
        if self._work.get(work.owner) is work:
            del self._work[work.owner]


def _nothing() -> Steps:
    yield from ()


def one_by_one(work: Iterable[Steps]) -> Steps:
    """Several pieces of work as one, one after the other."""
    for steps in work:
        yield from steps


_LARGEST = 1 << 20


class Client(Protocol):
    """The connection whose bytes are handled."""

    @property
    def outlet(self) -> Outlet:
        """Its outlet, by which reading is stopped."""

    def take_portion(self, data: bytes) -> bool:
        """Handle these bytes. Returns whether to go on with more."""

    def have_taken(self) -> None:
        """Called at the end: there are no more bytes, or no more time in this turn."""


class Scheduler(Protocol):
    """The clock and the slices of the broker."""

    @property
    def now(self) -> Callable[[], float]:
        """The clock."""

    @property
    def slices(self) -> Slices:
        """Work that is left for later."""


class Portions:
    """Handles received bytes in portions, as many as a slice has time for. The rest waits for another turn.

    The size of a portion adapts to the time that it takes. Large portions are efficient: they contain longer runs of
    messages that are published together.
    """

    __slots__ = ("_scheduler", "_size", "_smallest", "waiting")

    def __init__(self, scheduler: Scheduler, smallest: int) -> None:
        self._scheduler = scheduler
        self._smallest = self._size = smallest
        """Bytes that never take long."""
        self.waiting: list[bytes] | None = None
        """Bytes that were received and must wait; None if nothing waits and new bytes are handled at once."""

    def take(self, data: bytes, client: Client) -> None:
        """Handle received bytes, or let them wait behind others."""
        if self._kept(data):
            client.outlet.stop_reading()  # something else had resumed reading
            return
        now = self._scheduler.now
        began = ended = now()
        at = 0
        while at < len(data):
            end, start = at + self._size, ended
            goes_on = client.take_portion(data[at:end])
            at, ended = end, now()
            self._adapt(ended - start, whole=end <= len(data))
            if not goes_on:
                break
            if self._kept(data[at:]):  # handling the portion has called `pause`
                break
            if ended - began > SLICE and at < len(data):
                self.waiting = [data[at:]]
                client.outlet.stop_reading()
                self._scheduler.slices.later(self, partial(self.resume, client))
                break
        client.have_taken()

    def _adapt(self, took: float, *, whole: bool) -> None:
        if took > SLICE:
            self._size = max(self._size // 2, self._smallest)
        elif took < SLICE / 2 and whole:
            self._size = min(2 * self._size, _LARGEST)

    def _kept(self, data: bytes) -> bool:
        """Append bytes to those that wait; False if nothing waits."""
        if self.waiting is None:
            return False
        self.waiting.append(data)
        return True

    def pause(self, client: Client) -> None:
        """Handle no more bytes until `resume`, because a request of the client is still in progress."""
        self.waiting = self.waiting or []
        client.outlet.stop_reading()

    def resume(self, client: Client) -> None:
        """Handle what was received meanwhile, and read again."""
        waiting, self.waiting = self.waiting or [], None
        client.outlet.go_on_reading()
        self.take(b"".join(waiting), client)

    def drop(self) -> None:
        """The client has disconnected: drop what waits."""
        self.waiting = None
        self._scheduler.slices.drop(self)
