"""What the core asks of whoever runs it: time, a network, and a place to run the user's code."""

from collections.abc import Callable
from typing import Protocol

from heliograph.client.core.servers import Server


class Timer(Protocol):
    """A call that will come unless it is cancelled."""

    def cancel(self) -> None: ...


class Driver(Protocol):
    """The outside of a `ConnectionCore`."""

    def now(self) -> float:
        """A clock that only goes forward, in seconds."""

    def later(self, delay: float, call: Callable[[], None]) -> Timer:
        """Call back in `delay` seconds."""

    def dial(self, server: Server) -> None:
        """Begin to connect; the answer is `ConnectionCore.connected` or `ConnectionCore.disconnected`."""

    def hang_up(self) -> None:
        """Write what is left, then drop the network connection or the attempt at one; no answer is wanted."""

    def wake(self) -> None:
        """There may be something to write: call `ConnectionCore.flush` before this turn of the loop ends."""

    def submit(self, call: Callable[[], object]) -> None:
        """Run a call in the core's thread; this may be called from any thread."""

    def tell(self, hook: Callable[..., object], *what: object) -> None:
        """Run one of the user's hooks, where it can do no harm to the core."""
