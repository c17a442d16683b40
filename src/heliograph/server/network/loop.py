"""An asyncio event loop that serves the sockets of clients before asyncio itself gets a turn.

Asyncio's loop spends some ten microseconds on each turn, mostly on turning events into callbacks. With thousands of
devices that each send a packet now and then, a turn has only one or two packets to share that price. So the sockets of
clients are in an epoll set of their own, which is polled where asyncio would wait.

**What it owns.** Three sets of files, one within the other:

    epoll       clients' sockets, listening sockets, and `urgent`
    urgent      asyncio's selector, and the bell (an eventfd that other threads ring)
    asyncio     everything else: pipes, pages, signals

**A turn.** `select` is called by asyncio whenever it has nothing to run. It polls `epoll`, hands all events to `handle`
(the reactor, which reads from and writes to clients), and polls again. It returns to asyncio only if asyncio's own
files have events, if asyncio was given work meanwhile (`call_soon`, `call_at`: `wanted`), or if its time is up. So
while only clients are active, asyncio's machinery is not used at all.

**The bell.** Another thread with news for clients (the log, when something is safe) calls `ring`. `answer` is called in
the loop's thread before the events of clients in the same turn, once for any number of rings.

**Pauses.** `handle` may return a number of seconds for which nothing that clients send is urgent. The loop then polls
only `urgent` for that long, and finds more events of clients at once. Asyncio's own events and the bell end the pause.

**Invariants.** What `handle` and `answer` raise never leaves `select`: it would end the loop, and asyncio's events of
this turn would be lost. Events of files that nobody knows any more are left to the handler, which ignores them.
"""

import asyncio
import os
import select
import selectors
from collections.abc import Callable
from time import monotonic, thread_time
from typing import TYPE_CHECKING, Any, Protocol

HAS_EPOLL = hasattr(select, "epoll")
"""On systems other than Linux, asyncio watches the sockets of clients (`AsyncioFiles`)."""

if HAS_EPOLL or TYPE_CHECKING:
    from selectors import EpollSelector
else:
    EpollSelector = object

READABLE, WRITABLE = select.POLLIN, select.POLLOUT
"""The same numbers as those of epoll."""

Events = list[tuple[int, int]]

Handle = Callable[[Events], float]
"""Takes the events of a turn; returns for how many seconds no client has to be listened to, or 0."""

_SHORTEST_PAUSE = 0.001
"""Seconds. Waiting is done in whole milliseconds."""


class Watched(Protocol):
    """A set of files that are watched for events: `select.epoll` is one."""

    def register(self, fd: int, eventmask: int) -> None:
        """Watch this file for these events."""

    def modify(self, fd: int, eventmask: int) -> None:
        """Watch this file for other events."""

    def unregister(self, fd: int) -> None:
        """Stop watching this file."""


class ClientFiles(Protocol):
    """Where the files of clients are watched."""

    @property
    def epoll(self) -> Watched:
        """The set in which clients' sockets are registered."""

    def on_events(self, handle: "Handle") -> None:
        """Call `handle` with all events of each turn. It ignores events of files that it does not know."""

    def closing(self, fd: int) -> None:
        """The file is about to be closed."""


_EVENTS_PER_TURN = 1024

WORTH_A_LOOK = 0.002
"""Seconds. The watchdog looks at turns that take longer."""
_CPU_TIME_IS_FRESH = 0.005
"""Asking for the processor time is slow. A value of at most so many seconds before a turn is used for its beginning."""


class _ClientSelector(EpollSelector):
    """Asyncio's selector, with a second epoll set in front of it."""

    def __init__(self) -> None:
        super().__init__()
        self._urgent = select.epoll()
        """Polled even during a pause: asyncio's own files, and the bell."""
        self._urgent.register(self.fileno(), select.EPOLLIN)
        self._only_urgent = select.poll()
        self._only_urgent.register(self._urgent.fileno(), select.POLLIN)
        self.epoll = select.epoll()
        self.epoll.register(self._urgent.fileno(), select.EPOLLIN)
        self.handle: Handle = lambda _events: 0.0
        self._pause_until = 0.0
        """When the pause ends."""
        self.wanted = False
        """Asyncio was given work while clients were served."""
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
        """Start measuring a turn."""
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
        """Answer the bell if it was rung; returns whether asyncio has something to do."""
        own_turn = False
        for fd, _ in self._urgent.poll(0):
            if fd == self.bell:
                self.answer()
            else:
                own_turn = True
        return own_turn

    def _pause(self, now: float, most: float | None) -> None:
        """Poll no clients for a while, or until there is something urgent, which the next turn handles."""
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
        """Call `handle` with all events of each turn. It must ignore events of files that it does not know."""
        self._clients.handle = handle

    def closing(self, _fd: int) -> None:
        """Nothing to do: a file that is closed leaves the epoll set by itself."""

    def ring(self) -> None:
        """Have `answer` called between two turns of the clients. For any thread, until the loop is closed."""
        os.eventfd_write(self._clients.bell, 1)

    def on_ring(self, answer: Callable[[], None]) -> None:
        """Call `answer` after `ring`, once for any number of rings; clients are written to right after it."""
        self._clients.answer = answer

    def on_long_turn(self, look: Callable[[float, float, float], None]) -> None:
        """Call `look(began, ended, processor time)` after turns that were not short, beginning with this one."""
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
        """As `ClientLoop` does, but with one event at a time, and ignoring the pauses that `handle` asks for."""
        self._handle = handle

    def register(self, fd: int, eventmask: int) -> None:
        """Watch this file for these events."""
        self.modify(fd, eventmask)

    def modify(self, fd: int, eventmask: int) -> None:
        """Watch this file for other events."""
        self.unregister(fd)
        if eventmask & READABLE:
            self._loop.add_reader(fd, self._happened, fd, READABLE)
        if eventmask & WRITABLE:
            self._loop.add_writer(fd, self._happened, fd, WRITABLE)

    def unregister(self, fd: int) -> None:
        """Stop watching this file."""
        self._loop.remove_reader(fd)
        self._loop.remove_writer(fd)

    closing = unregister

    def _happened(self, fd: int, event: int) -> None:
        self._handle([(fd, event)])
