"""Work in slices: what one client asks for may be large, and nobody else is to wait until it is done.

A piece of work is a generator whose every `yield` ends a short step. Its first slice is done at once: nearly everything
that clients ask for is small, and done then. The rest is done slice by slice, between the turns of the server. Work
belongs to an owner, who has one piece of it at a time and decides what of his own has to wait for it; a connection, for
example, is not read from meanwhile.
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
"""What a step yields if it cannot go on before `wake` is called."""

ENOUGH = False
"""What a step yields that has made much to write: the slice ends here, whatever time it took."""

Steps = Generator[bool | None, None, None]


class _Work:
    """One piece of work that is not done yet."""

    __slots__ = ("done", "dropped", "outlet", "owner", "running", "steps", "waiting")

    def __init__(self, owner: object, outlet: Outlet | None, steps: Steps, done: Callable[[], None]) -> None:
        self.owner = owner
        self.outlet = outlet
        """The client on whose account it is done."""
        self.steps = steps
        self.done = done
        self.running = False
        self.waiting = False
        self.dropped = False


class Slices:
    """All work of a broker that is under way. `more` is called when there is some that `run` has to be called for."""

    def __init__(self, now: Callable[[], float], defects: Defects) -> None:
        self._now = now
        self._defects = defects
        self._work: dict[object, _Work] = {}
        self._row: deque[_Work] = deque()
        self.more: Callable[[], None] = lambda: None

    def begin(self, owner: object, steps: Steps, done: Callable[[], None]) -> bool:
        """Do the first slice; whether that was all. Otherwise `done` is called at the end of the last one."""
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
        """Do this work piece by piece; it has no owner, and nobody waits for it."""
        there = [steps for steps in work if steps is not None]
        if there:
            self.begin(object(), one_by_one(there), lambda: None)

    def later(self, owner: object, done: Callable[[], None]) -> None:
        """Call `done` when it is this owner's turn again: he has had as much as he may have at once."""
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
        """Do what can be done in the time of one slice, by turns; for which client the last was."""
        until = self._now() + SLICE
        outlet = None
        for _ in range(len(self._row)):
            work = self._row.popleft()
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
        """What work of this owner waits for may have come."""
        work = self._work.get(owner)
        if work is not None and work.waiting:
            work.waiting = False
            self._line_up(work)

    def drop(self, owner: object) -> None:
        """Nobody wants this work to be done any more."""
        work = self._work.pop(owner, None)
        if work is not None:
            work.dropped = True
            if not work.running:
                work.steps.close()

    def _slice(self, work: _Work, until: float) -> bool:
        """Do steps until the time has come; whether there are no more of them."""
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
    """Several pieces of work as one."""
    for steps in work:
        yield from steps


_LARGEST = 1 << 20


class Client(Protocol):
    """Whose bytes they are."""

    @property
    def outlet(self) -> Outlet:
        """Where it can be told to stop sending."""

    def take_portion(self, data: bytes) -> bool:
        """Take these bytes; whether more of them are wanted."""

    def have_taken(self) -> None:
        """There is no more, or no more time in this turn."""


class Scheduler(Protocol):
    """Who has the clock, and work that is left for later: the broker."""

    @property
    def now(self) -> Callable[[], float]:
        """The clock."""

    @property
    def slices(self) -> Slices:
        """Work that is left for later."""


class Portions:
    """Takes as much as there is time for. The rest waits until others have had their turn.

    A portion grows while it takes little time: the larger it is, the longer are the runs of messages in it.
    """

    __slots__ = ("_scheduler", "_size", "_smallest", "waiting")

    def __init__(self, scheduler: Scheduler, smallest: int) -> None:
        self._scheduler = scheduler
        self._smallest = self._size = smallest
        """Bytes that certainly do not take long."""
        self.waiting: list[bytes] | None = None
        """What has come and has to wait until it is the client's turn again."""

    def take(self, data: bytes, client: Client) -> None:
        """Bytes have come."""
        if self._kept(data):
            client.outlet.stop_reading()  # whoever let it be read from did not know
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
            if self._kept(data[at:]):  # that was `pause`
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
        """Let these wait too, if something waits; whether it does."""
        if self.waiting is None:
            return False
        self.waiting.append(data)
        return True

    def pause(self, client: Client) -> None:
        """Take nothing more until `resume`: what the client asked for is being done."""
        self.waiting = self.waiting or []
        client.outlet.stop_reading()

    def resume(self, client: Client) -> None:
        """Take what has come meanwhile, and go on."""
        waiting, self.waiting = self.waiting or [], None
        client.outlet.go_on_reading()
        self.take(b"".join(waiting), client)

    def drop(self) -> None:
        """The client has gone."""
        self.waiting = None
        self._scheduler.slices.drop(self)
