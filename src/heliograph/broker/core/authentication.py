"""Who decides on a client's credentials, whatever protocol it speaks."""

from collections.abc import Callable
from typing import Protocol

from heliograph.broker.core.outlet import Outlet
from heliograph.mqtt import Reason

Verdict = Callable[[Reason, str, str | None], None]
"""Takes SUCCESS or the reason to refuse, what to tell the client, and the user that the client has proved to be."""


class Gate(Protocol):
    """The way in to the broker."""

    @property
    def anonymous(self) -> bool:
        """Whether a client needs no user name here."""

    @property
    def proven_user(self) -> str | None:
        """Who the client is, if the network connection has proved it."""

    def check(self, outlet: Outlet, user: str | None, password: bytes | None, verdict: Verdict) -> None:
        """Give the verdict on the client that this outlet leads to, now or later."""
