"""An asyncio event loop that serves the sockets of clients before asyncio itself gets a turn.

Asyncio's loop spends some ten microseconds on each turn, mostly on turning events into callbacks. With thousands of
devices that each send a packet now and then, a turn has only one or two packets to share that price. So the sockets of
clients are in an epoll set of their own, and asyncio's selector is just one more file in it: while only clients have
something to say, their events are handled right where asyncio waits, and its own machinery is not woken. The same holds
for another thread that has news for clients: it rings a bell.
"""

import asyncio
import os
import select
import selectors
from collections.abc import Callable
from time import monotonic
from typing import Any

AVAILABLE = hasattr(select, "epoll")
"""Elsewhere than on Linux, plain sockets go through asyncio's transports as TLS does."""

Events = list[tuple[int, int]]

_EVENTS_PER_TURN = 1024


class _ClientSelector(selectors.EpollSelector):
    """Asyncio's selector, with a second epoll set in front of it."""

    def __init__(self) -> None:
        super().__init__()
        self.epoll = select.epoll()
        self.epoll.register(self.fileno(), select.EPOLLIN)
        self.handle: Callable[[Events], None] = lambda _events: None
        self.wanted = False
        """Somebody gave asyncio something to do while clients were being served."""
        # Only that it has been written to since the last look matters, so it is never read.
        self.bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self.epoll.register(self.bell, select.EPOLLIN | select.EPOLLET)
        self.answer: Callable[[], None] = lambda: None
        self.on_error: Callable[[Exception], None]
        """Told of what `handle` and `answer` raise."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Serve clients until asyncio has something to do, or the time is up."""
        until = None if timeout is None else monotonic() + timeout
        wait = timeout
        own, bell = self.fileno(), self.bell
        while True:
            self.wanted = False
            events = self.epoll.poll(wait, _EVENTS_PER_TURN)
            if events:
                own_turn = False
                try:
                    for fd, _ in events:
                        if fd == bell:
                            self.answer()
                        elif fd == own:
                            own_turn = True
                    self.handle(events)
                except Exception as error:
                    # Raised from here, it would end the loop; and asyncio's own events must not be lost.
                    own_turn = True
                    self.on_error(error)
                if own_turn:
                    return super().select(0)
            if until is not None:
                wait = max(0.0, until - monotonic())
            if self.wanted or wait == 0:
                return []

    def close(self) -> None:
        self.epoll.close()
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

    def on_events(self, handle: Callable[[Events], None]) -> None:
        """Call `handle` with all events of each turn. Events of files it does not know are none of its business."""
        self._clients.handle = handle

    def ring(self) -> None:
        """From any thread: have `answer` called between two turns of the clients. Before the loop is closed."""
        os.eventfd_write(self._clients.bell, 1)

    def on_ring(self, answer: Callable[[], None]) -> None:
        """Call this when somebody has rung, once however often that was; clients are written to right after it."""
        self._clients.answer = answer

    # Handling a client's packet may give asyncio work, which must not wait until clients fall silent.

    def call_soon(self, *args: Any, **options: Any) -> asyncio.Handle:  # type: ignore[override]
        self._clients.wanted = True
        return super().call_soon(*args, **options)

    def call_at(self, *args: Any, **options: Any) -> asyncio.TimerHandle:  # type: ignore[override]
        self._clients.wanted = True
        return super().call_at(*args, **options)
