"""What the broker tells those who keep a record of comings and goings."""

from typing import TYPE_CHECKING, Protocol

from heliograph.mqtt.packets import Connect
from heliograph.mqtt.reasons import Reason

if TYPE_CHECKING:
    from heliograph.broker.connection import Connection


class Journal(Protocol):
    """Told of each event as it happens."""

    def admitted(self, connection: "Connection", connect: Connect) -> None:
        """A client has its session."""

    def refused(self, connection: "Connection", reason: Reason, text: str) -> None:
        """A client was turned away."""

    def ended(self, connection: "Connection", client_id: str, why: str) -> None:
        """A client that had been admitted is gone."""

    def unreadable(self, client_id: str, why: str) -> None:
        """Messages that wait for a client cannot be read back from the log."""


class NoJournal:
    """Keeps no record."""

    def admitted(self, connection: "Connection", connect: Connect) -> None:
        pass

    def refused(self, connection: "Connection", reason: Reason, text: str) -> None:
        pass

    def ended(self, connection: "Connection", client_id: str, why: str) -> None:
        pass

    def unreadable(self, client_id: str, why: str) -> None:
        pass
