"""An asyncio event loop that serves the sockets of clients before asyncio itself gets a turn.

Asyncio's loop spends some ten microseconds on each turn, mostly on turning events into callbacks. With thousands of
devices that each send a packet now and then, a turn has only one or two packets to share that price. So the sockets of
clients are in an epoll set of their own, and asyncio's selector is just one more file in it: while only clients have
something to say, their events are handled right where asyncio waits, and its own machinery is not woken. The same holds
for another thread that has news for clients: it rings a bell.

Whoever handles the events of a turn may say that nothing clients send within the next milliseconds is urgent. The loop
does not look for their events that long: then it finds more of them at once. Asyncio's own events and the bell are seen
to at once all the same.
"""

import asyncio
import os
import select
import selectors
from collections.abc import Callable
from time import monotonic, thread_time
from typing import TYPE_CHECKING, Any, Protocol

AVAILABLE = hasattr(select, "epoll")
"""Elsewhere than on Linux, clients' sockets are watched by asyncio (`AsyncioFiles`)."""

if AVAILABLE or TYPE_CHECKING:
    from selectors import EpollSelector
else:
    EpollSelector = object

READABLE, WRITABLE = select.POLLIN, select.POLLOUT
"""As epoll says it too."""

Events = list[tuple[int, int]]

Handle = Callable[[Events], float]
"""Takes the events of a turn; returns for how many seconds no client has to be listened to, or 0."""

_SHORTEST_PAUSE = 0.001
"""Seconds. Waiting is done in whole milliseconds."""


class Watched(Protocol):
    """A set of files of which one wants to know whether they can be read and written: `select.epoll` is one."""

    def register(self, fd: int, eventmask: int) -> None:
        """Watch this file for these events, too."""

    def modify(self, fd: int, eventmask: int) -> None:
        """Watch it for others."""

    def unregister(self, fd: int) -> None:
        """Watch it no more."""


class ClientFiles(Protocol):
    """Where the files of clients are watched."""

    @property
    def epoll(self) -> Watched:
        """The set in which clients' sockets are registered."""

    def on_events(self, handle: "Handle") -> None:
        """Call `handle` with all events of each turn. Events of files it does not know are none of its business."""

    def closing(self, fd: int) -> None:
        """The file is about to be closed."""


_EVENTS_PER_TURN = 1024

WORTH_A_LOOK = 0.002
"""Seconds from which on a turn is looked at."""
_CPU_TIME_IS_FRESH = 0.005
"""Asking for the processor time is slow. What was asked this many seconds before a turn will do for its beginning."""


class _ClientSelector(EpollSelector):
    """Asyncio's selector, with a second epoll set in front of it."""

    def __init__(self) -> None:
        super().__init__()
        self._urgent = select.epoll()
        """What is seen to even while no client is listened to: asyncio's own files, and the bell."""
        self._urgent.register(self.fileno(), select.EPOLLIN)
        self._only_urgent = select.poll()
        self._only_urgent.register(self._urgent.fileno(), select.POLLIN)
        self.epoll = select.epoll()
        self.epoll.register(self._urgent.fileno(), select.EPOLLIN)
        self.handle: Handle = lambda _events: 0.0
        self._pause_until = 0.0
        """When clients are to be listened to again."""
        self.wanted = False
        """Somebody gave asyncio something to do while clients were being served."""
        # Only that it has been written to since the last look matters, so it is never read.
        self.bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._urgent.register(self.bell, select.EPOLLIN | select.EPOLLET)
        self.answer: Callable[[], None] = lambda: None
        self.look: Callable[[float, float, float], None] = lambda _began, _ended, _cpu: None
        self._began = self._cpu_at = self._cpu = 0.0
        self.begin_turn()
        self.on_error: Callable[[Exception], None]
        """Told of what `handle` and `answer` raise."""

    def begin_turn(self) -> None:
        """A turn is measured from here."""
        self._began = self._cpu_at = monotonic()
        self._cpu = thread_time()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Serve clients until asyncio has something to do, or the time is up."""
        ended = monotonic()
        until = None if timeout is None else ended + timeout
        wait = timeout
        urgent = self._urgent.fileno()
        while True:
            self.wanted = False
            if ended - self._began > WORTH_A_LOOK:
                self.look(self._began, ended, thread_time() - self._cpu)
            if self._pause_until > ended and wait != 0:
                self._pause(ended, wait)
                wait = None if until is None else max(0.0, until - monotonic())
            events = self.epoll.poll(wait, _EVENTS_PER_TURN)
            self._began = began = monotonic()
            if began - self._cpu_at > _CPU_TIME_IS_FRESH:
                self._cpu_at, self._cpu = began, thread_time()
            if events:
                own_turn = False
                try:
                    for fd, _ in events:
                        if fd == urgent:
                            own_turn = self._see_to_urgent()
                            break
                    pause = self.handle(events)
                    if pause >= _SHORTEST_PAUSE:
                        self._pause_until = began + pause
                except Exception as error:
                    # Raised from here, it would end the loop; and asyncio's own events must not be lost.
                    own_turn = True
                    self.on_error(error)
                if own_turn:
                    return super().select(0)
            ended = monotonic()
            if until is not None:
                wait = max(0.0, until - ended)
            if self.wanted or wait == 0:
                return []

    def _see_to_urgent(self) -> bool:
        """Answer the bell if it was rung; whether asyncio has something to do."""
        own_turn = False
        for fd, _ in self._urgent.poll(0):
            if fd == self.bell:
                self.answer()
            else:
                own_turn = True
        return own_turn

    def _pause(self, now: float, most: float | None) -> None:
        """Listen to no client for a while, or until there is something urgent, which is left for the next turn."""
        seconds = self._pause_until - now
        self._pause_until = 0.0
        self._only_urgent.poll(int(1000 * (seconds if most is None else min(seconds, most))))

    def close(self) -> None:
        self.epoll.close()
        self._urgent.close()
        os.close(self.bell)
        super().close()


class ClientLoop(asyncio.SelectorEventLoop):
    """An event loop with an epoll set for clients."""

    def __init__(self) -> None:
        self._clients = _ClientSelector()
        super().__init__(self._clients)
        self._clients.on_error = self._failed

    def _failed(self, error: Exception) -> None:
        self.call_exception_handler({"message": "serving clients", "exception": error})

    @property
    def epoll(self) -> "select.epoll":
        """The set in which clients' sockets are registered."""
        return self._clients.epoll

    def on_events(self, handle: Handle) -> None:
        """Call `handle` with all events of each turn. Events of files it does not know are none of its business."""
        self._clients.handle = handle

    def closing(self, _fd: int) -> None:
        """Nothing is to be done: it leaves the set by itself."""

    def ring(self) -> None:
        """From any thread: have `answer` called between two turns of the clients. Before the loop is closed."""
        os.eventfd_write(self._clients.bell, 1)

    def on_ring(self, answer: Callable[[], None]) -> None:
        """Call this when somebody has rung, once however often that was; clients are written to right after it."""
        self._clients.answer = answer

    def on_long_turn(self, look: Callable[[float, float, float], None]) -> None:
        """Call `look(began, ended, processor time)` after turns that are worth a look, this one from now on."""
        self._clients.begin_turn()
        self._clients.look = look

    # Handling a client's packet may give asyncio work, which must not wait until clients fall silent.

    def call_soon(self, *args: Any, **options: Any) -> asyncio.Handle:  # type: ignore[override]
        self._clients.wanted = True
        return super().call_soon(*args, **options)

    def call_at(self, *args: Any, **options: Any) -> asyncio.TimerHandle:  # type: ignore[override]
        self._clients.wanted = True
        return super().call_at(*args, **options)


class AsyncioFiles:
    """Clients' files watched by asyncio, one callback for each event: for systems without epoll."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.epoll = self
        self._handle: Handle = lambda _events: 0.0

    def on_events(self, handle: Handle) -> None:
        """As `ClientLoop` does, but with one event at a time, and it goes on listening whatever `handle` says."""
        self._handle = handle

    def register(self, fd: int, eventmask: int) -> None:
        """Watch this file for these events, too."""
        self.modify(fd, eventmask)

    def modify(self, fd: int, eventmask: int) -> None:
        """Watch it for others."""
        self.unregister(fd)
        if eventmask & READABLE:
            self._loop.add_reader(fd, self._happened, fd, READABLE)
        if eventmask & WRITABLE:
            self._loop.add_writer(fd, self._happened, fd, WRITABLE)

    def unregister(self, fd: int) -> None:
        """Watch it no more."""
        self._loop.remove_reader(fd)
        self._loop.remove_writer(fd)

    closing = unregister

    def _happened(self, fd: int, event: int) -> None:
        self._handle([(fd, event)])
