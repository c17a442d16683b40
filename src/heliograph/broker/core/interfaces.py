"""The interfaces between the broker and the server process around it.

The server process moves bytes between sockets and conversations, checks credentials, logs events and runs other
processes. It implements all of these protocols but `Conversation`, which the broker implements.
"""

from collections.abc import Callable
from typing import Any, Protocol

from heliograph.broker.core.outlet import Outlet
from heliograph.mqtt import Reason


class Conversation(Protocol):
    """One client's connection, protocol side. The server calls it with received bytes and writes its outlet."""

    heard: float
    """When bytes were last received."""

    def describe(self) -> dict[str, str]:
        """Who the client is and what it sent last, for log messages."""

    def receive(self, data: bytes) -> None:
        """Handle bytes from the client."""

    def pause(self) -> None:
        """The client does not read fast enough: hold messages for it back from now on."""

    def resume(self) -> None:
        """The client can take more."""

    def end(self, reason: Reason, text: str) -> None:
        """End the connection from this side, and tell the client why as far as its protocol can."""

    def lost(self) -> None:
        """The network connection is gone."""


Verdict = Callable[[Reason, str, str | None], None]
"""Takes SUCCESS or the reason to refuse, what to tell the client, and the user that the client has proved to be."""


class Authenticator(Protocol):
    """Checks who may connect."""

    @property
    def anonymous(self) -> bool:
        """Whether a client needs no user name here."""

    @property
    def proven_user(self) -> str | None:
        """The user that the network connection has proved, for example by a client certificate."""

    def check(self, outlet: Outlet, user: str | None, password: bytes | None, verdict: Verdict) -> None:
        """Check credentials and call `verdict`, now or later."""


class Journal(Protocol):
    """Logs events as they happen."""

    def admitted(self, outlet: Outlet, client_id: str, **particulars: object) -> None:
        """A client was admitted. Particulars that are None are left out."""

    def refused(self, outlet: Outlet, reason: str, text: str, **particulars: object) -> None:
        """A client was refused. Particulars that are None are left out."""

    def ended(self, client_id: str, why: str) -> None:
        """The connection of a client that had been admitted has ended."""

    def unreadable(self, client_id: str, why: str) -> None:
        """The backlog of a client cannot be read back from the log."""

    def failed(self, what: str, outlet: Outlet | None) -> None:
        """An internal error: called while the exception is handled, with the client that is disconnected, if any."""


class NoJournal:
    """A journal that keeps no record. Internal errors are raised again."""

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
