"""What the broker tells those who keep a record of comings and goings."""

from typing import Protocol

from heliograph.broker.core.outlet import Outlet


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
