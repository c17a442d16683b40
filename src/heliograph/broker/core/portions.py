"""Bytes of one client in portions: a single read may hold thousands of requests, and others wait while they are met."""

from collections.abc import Callable
from functools import partial
from typing import Protocol

from heliograph.broker.core.outlet import Outlet
from heliograph.broker.core.slices import SLICE, Slices

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
