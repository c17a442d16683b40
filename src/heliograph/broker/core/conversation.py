"""What the server knows of the broker's end of a connection, whatever the client speaks."""

from typing import Protocol

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
