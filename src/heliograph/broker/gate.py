"""Who decides on a client's credentials, whatever protocol it speaks."""

from collections.abc import Callable
from typing import Protocol

from heliograph.mqtt.reasons import Reason

Verdict = Callable[[Reason, str], None]


class Gate(Protocol):
    """The way in to the broker."""

    @property
    def anonymous(self) -> bool:
        """Whether a client needs no user name here."""

    @property
    def proven_user(self) -> str | None:
        """Who the client is, if the network connection has proved it."""

    def check(self, user: str | None, password: bytes | None, verdict: Verdict) -> None:
        """Call `verdict` with SUCCESS or the reason to refuse, now or later."""
