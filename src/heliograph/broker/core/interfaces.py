"""What the broker and the process around it know of each other.

The process feeds and empties conversations, checks credentials, keeps a journal of events, and runs other processes
beside the broker. It implements all of these but `Conversation`, which the broker does.
"""

from collections.abc import Callable
from typing import Any, Protocol

from heliograph.broker.core.outlet import Outlet
from heliograph.mqtt import Reason


class Conversation(Protocol):
    """One client's connection: fed and emptied by the server."""

    heard: float
    """When bytes came last."""

    def describe(self) -> dict[str, str]:
        """Who the client is and what it has sent last, for people."""

    def receive(self, data: bytes) -> None:
        """Bytes have come from the client."""

    def pause(self) -> None:
        """The client does not read fast enough: what is for it has to wait from now on."""

    def resume(self) -> None:
        """The client can take more."""

    def end(self, reason: Reason, text: str) -> None:
        """End the connection from this side, and tell the client why as far as its protocol can."""

    def lost(self) -> None:
        """The network connection is gone."""


Verdict = Callable[[Reason, str, str | None], None]
"""Takes SUCCESS or the reason to refuse, what to tell the client, and the user that the client has proved to be."""


class Authenticator(Protocol):
    """The way in to the broker."""

    @property
    def anonymous(self) -> bool:
        """Whether a client needs no user name here."""

    @property
    def proven_user(self) -> str | None:
        """Who the client is, if the network connection has proved it."""

    def check(self, outlet: Outlet, user: str | None, password: bytes | None, verdict: Verdict) -> None:
        """Give the verdict on the client that this outlet leads to, now or later."""


class Journal(Protocol):
    """Told of each event as it happens."""

    def admitted(self, outlet: Outlet, client_id: str, **particulars: object) -> None:
        """A client has been let in; None stands for a particular that there is not."""

    def refused(self, outlet: Outlet, reason: str, text: str, **particulars: object) -> None:
        """A client was turned away; None stands for a particular that there is not."""

    def ended(self, client_id: str, why: str) -> None:
        """A client that had been admitted is gone."""

    def unreadable(self, client_id: str, why: str) -> None:
        """Messages that wait for a client cannot be read back from the log."""

    def failed(self, what: str, outlet: Outlet | None) -> None:
        """A defect has shown itself: called where the exception is handled, with the client that is cut off, if any."""


class NoJournal:
    """Keeps no record."""

    def admitted(self, outlet: Outlet, client_id: str, **particulars: object) -> None:
        pass

    def refused(self, outlet: Outlet, reason: str, text: str, **particulars: object) -> None:
        pass

    def ended(self, client_id: str, why: str) -> None:
        pass

    def unreadable(self, client_id: str, why: str) -> None:
        pass

    def failed(self, what: str, outlet: Outlet | None) -> None:
        raise  # noqa: PLE0704  (what is being handled: nobody else would hear of it)


class QueueManagers(Protocol):
    """The server as a process, and the queue managers that it runs beside itself."""

    def own(self) -> dict[str, Any]:
        """How the server itself is doing."""

    def list(self) -> list[dict[str, Any]]:
        """How each is doing, the server itself first."""

    def start_one(self, name: str) -> None:
        """Start a queue manager; Refused if that cannot be."""

    def stop_one(self, name: str) -> None:
        """Stop a queue manager; Refused if that cannot be."""


class Pipelines(Protocol):
    """The pipelines that the server runs beside itself."""

    def list(self) -> list[dict[str, Any]]:
        """How each is doing."""

    def start_one(self, name: str) -> None:
        """Start a pipeline; Refused if that cannot be."""

    def stop_one(self, name: str) -> None:
        """Stop a pipeline; Refused if that cannot be."""

    def remove_one(self, name: str, *, purge: bool) -> dict[str, Any]:
        """Forget a pipeline; what stays of it. Refused if that cannot be."""
